"""Slots: the attributes of rules, each with the constants that they are compared with.

Every attribute is a *slot* with one axis of codes. Code 0 is a missing value, and code 1 a value of
no family that rules compare. Then the families follow: in each, counted from its first code,
constant i of n has code 2i + 1, and everything strictly between constants i - 1 and i has code 2i.
So every ordered predicate is an interval of small integers, or a few of them, and its negation is
the rest of its family. An attribute that is compared with times or networks has a second slot,
because a string is then also read as a time or as an address (it cannot be both).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.records import OTHER
from matchwood.language.tree.calls import Address, address
from matchwood.language.values import Family, Literal, read_time

# The order of families in a main slot.
AXIS = (Family.NUMBER, Family.STRING, Family.BOOLEAN)

# The order of families in a second slot.
SECOND_AXIS = (Family.TIME, Family.STRING)


@dataclass
class Slot:
    """One axis of codes: the families in order, each with its sorted constants.

    A second slot (`time`) has times, and addresses as strings: see `reading`.
    """

    attribute: str
    time: bool
    constants: dict[Family, list[Literal]] = field(default_factory=dict)
    first: dict[Family, int] = field(default_factory=dict)  # the first code of each family
    codes: int = 2

    def seal(self) -> None:
        """Fix the codes, once all constants are known."""
        self.codes = 2
        for family in SECOND_AXIS if self.time else AXIS:
            if family in self.constants:
                self.first[family] = self.codes
                self.codes += 2 * len(self.constants[family]) + 1

    def code(self, family: Family | None, value: Literal | None) -> int:
        """The code of a value that is present."""
        if family is None or family not in self.first:
            return OTHER
        constants = self.constants[family]
        place = bisect_left(constants, value)  # type: ignore[type-var]
        exact = place < len(constants) and constants[place] == value
        return self.first[family] + 2 * place + exact

    def family_codes(self, family: Family) -> tuple[int, int]:
        first = self.first[family]
        return first, first + 2 * len(self.constants[family])


def address_key(ip: Address) -> str:
    """An address as a string that sorts by version, then by number."""
    return f"{ip.version}{int(ip):0{ip.max_prefixlen // 4}x}"


def reading(family: Family | None, value: Literal | None) -> tuple[Family, Literal] | None:
    """What a second slot sees of a value: a time, the key of an address, or None.

    >>> reading(Family.STRING, "10.0.0.1")
    (<Family.STRING: 'string'>, '40a000001')
    >>> reading(Family.STRING, "1970-01-01")
    (<Family.TIME: 'time'>, Time(ns=0))
    """
    if family is Family.TIME and value is not None:
        return family, value
    if family is not Family.STRING:
        return None
    text = str(value)
    moment = read_time(text)
    if moment is not None:
        return Family.TIME, moment
    parsed = address(text)
    return None if parsed is None else (Family.STRING, address_key(parsed))


_FAMILIES = (Family.NUMBER, Family.STRING, Family.BOOLEAN, Family.TIME)


def pack_axis(slot: int, family: Family) -> int:
    """A slot and one of its families in one number: | slot | family: 2 bits |."""
    return 4 * slot + _FAMILIES.index(family)


def axis_without_family(slot: int) -> int:
    """The axis of an atom that compares no values: a slot alone, as a number below zero."""
    return -1 - slot


def has_family(axis: int) -> bool:
    return axis >= 0


def axis_slot(axis: int) -> int:
    return axis >> 2 if has_family(axis) else -1 - axis


def axis_slots(axes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The slot of each of several axes."""
    return np.where(axes < 0, -1 - axes, axes >> 2)


def axis_family(axis: int) -> Family:
    return _FAMILIES[axis & 3]
