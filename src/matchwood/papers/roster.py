"""Ids of rules and their numbers, which are small and used again: what kernels know rules by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.papers.protocol import Id


class Roster:
    """The rules of one algorithm by id and by number.

    >>> roster = Roster(["a", "b"])
    >>> roster.remove("a"), roster.add("c"), len(roster), roster.named(np.array([0, 1]))
    (0, 0, 2, ['c', 'b'])
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._ids: list[Any] = list(ids)
        self._number = {rule_id: number for number, rule_id in enumerate(self._ids)}
        self._free: list[int] = []
        # Integers as such: making some anew is quicker than to fetch objects from all over memory.
        self._integers: NDArray[np.int64] | None = None
        if all(_small(rule_id) for rule_id in self._ids):
            self._integers = np.array(self._ids, np.int64)

    def __len__(self) -> int:
        return len(self._number)

    @property
    def room(self) -> int:
        """Numbers are below it."""
        return len(self._ids)

    def add(self, rule_id: Id) -> int:
        """The number of a new rule."""
        if rule_id in self._number:
            raise ValueError(f"rule {rule_id!r} is there already: remove it first")
        if self._free:
            number = self._free.pop()
            self._ids[number] = rule_id
        else:
            number = len(self._ids)
            self._ids.append(rule_id)
        self._number[rule_id] = number
        if self._integers is not None and _small(rule_id):
            self._integers = roomy(self._integers, number + 1)
            self._integers[number] = rule_id
        else:
            self._integers = None
        return number

    def remove(self, rule_id: Id) -> int:
        """The number that the rule had; a KeyError where there is none."""
        number = self._number.pop(rule_id)
        self._ids[number] = None
        self._free.append(number)
        return number

    def named(self, numbers: NDArray[np.int32]) -> list[Id]:
        """The ids behind numbers."""
        if self._integers is not None:
            found: list[Id] = self._integers[numbers].tolist()
            return found
        ids = self._ids
        return [ids[number] for number in numbers.tolist()]


def _small(rule_id: Id) -> bool:
    return type(rule_id) is int and -(2**63) <= rule_id < 2**63


def roomy(array: NDArray[Any], needed: int, fill: int = 0) -> NDArray[Any]:
    """The array, or a copy with half as much room again, if it has less than needed."""
    if needed <= len(array):
        return array
    larger = np.full((max(needed, len(array) * 3 // 2 + 16), *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger
