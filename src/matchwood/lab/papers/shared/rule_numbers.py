"""The ids of rules, and the small numbers by which kernels know them; numbers are reused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.lab.papers.shared.protocol import Id


class RuleNumbers:
    """The rules of one algorithm by id and by number.

    >>> roster = RuleNumbers(["a", "b"])
    >>> roster.remove("a"), roster.add("c"), len(roster), roster.named(np.array([0, 1]))
    (0, 0, 2, ['c', 'b'])
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._ids: list[Any] = list(ids)
        self._number = {rule_id: number for number, rule_id in enumerate(self._ids)}
        self._free: list[int] = []
        # Integer ids in an array: making new objects is faster than fetching old ones from memory.
        self._integers: NDArray[np.int64] | None = None
        if all(_small(rule_id) for rule_id in self._ids):
            self._integers = np.array(self._ids, np.int64)

    def __len__(self) -> int:
        return len(self._number)

    @property
    def room(self) -> int:
        """All numbers are below this one."""
        return len(self._ids)

    def add(self, rule_id: Id) -> int:
        """Add a rule; returns its number."""
        if rule_id in self._number:
            raise ValueError(f"rule {rule_id!r} exists already: remove it first")
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
        """Remove a rule; returns the number it had. A KeyError if there is no such rule."""
        number = self._number.pop(rule_id)
        self._ids[number] = None
        self._free.append(number)
        return number

    def named(self, numbers: NDArray[np.int32]) -> list[Id]:
        """The ids of numbers."""
        if self._integers is not None:
            named_ids: list[Id] = self._integers[numbers].tolist()
            return named_ids
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
