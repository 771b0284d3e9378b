"""Comparisons of two values, with JavaScript's conversions between types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from matchwood.imports.connectives import FALSE, all_of, any_of
from matchwood.imports.differences import (
    LARGE_NUMBERS,
    MISSING_STRINGS,
    NUMBER_STRINGS,
    RARE_CHARACTERS,
    ROUNDED_SUMS,
)
from matchwood.imports.imported import Inexpressible
from matchwood.imports.json_logic.spelled_numbers import number_in, spelled
from matchwood.imports.json_logic.values import (
    AttributeValue,
    FixedValue,
    LogicReading,
    SumValue,
    Value,
    ValueCase,
    pairs,
    side_of,
)
from matchwood.language.builder import Attr
from matchwood.language.tree import Comparison, Constant, Node, compared
from matchwood.language.tree.predicates import FLIPPED
from matchwood.language.values import holds

NEEDS_TYPES = (
    "{} converts strings, booleans and numbers to each other as an event has them; with 'typed', "
    "attributes are taken to have the type that they are compared with"
)

# The first code point that JavaScript, which compares strings by units of 16 bits, may order
# otherwise than by code point.
_SURROGATES = 0xD800


class ValueComparison:
    """How two expressions are compared: by which operator, and with which conversions.

    `=` is `==`, or `===` if `strict`. With types, an attribute has the type of what it is compared
    with, so that nothing is converted but a missing attribute.
    """

    def __init__(self, op: str, strict: bool, reading: LogicReading, place: str) -> None:
        self.op = op
        self.strict = strict
        self.reading = reading
        self.typed = reading.typed
        self.place = place

    def rule(self, left: Sequence[ValueCase], right: Sequence[ValueCase]) -> Node:
        """Where the comparison is true."""
        return any_of(
            all_of([when, self._values(a, b)]) for when, a, b in pairs(left, right, self.place)
        )

    def _values(self, left: Value, right: Value) -> Node:
        if isinstance(left, FixedValue) and isinstance(right, FixedValue):
            return Constant(self.fixed(left.value, right.value))
        if isinstance(left, FixedValue):
            flipped = ValueComparison(FLIPPED[self.op], self.strict, self.reading, self.place)
            return flipped._values(right, left)
        if isinstance(left, AttributeValue) and isinstance(right, FixedValue):
            return self._with_fixed(left.subject, right.value)
        if isinstance(right, FixedValue):
            return self._sum_with_fixed(left, right.value)
        sums = isinstance(left, SumValue) or isinstance(right, SumValue)
        if not (self.typed or self.strict or sums):
            raise Inexpressible(NEEDS_TYPES.format("a comparison of two attributes"), self.place)
        first, second = side_of(left, self.place), side_of(right, self.place)
        self._note_two(sums, first == second)
        return compared(first, self.op, second)

    def _note_two(self, sums: bool, same: bool) -> None:
        """Two attributes or sums are compared."""
        differs = self.reading.differs
        differs.add(ROUNDED_SUMS if sums else LARGE_NUMBERS)
        if same and not sums:  # JavaScript finds a list equal to itself
            self.reading.note_single()
        if self.op != "=" and not sums:
            differs.add(RARE_CHARACTERS)

    def _sum_with_fixed(self, left: Value, value: Any) -> Node:
        if self.op == "=" and (value is None or (self.strict and not _is_number(value))):
            return FALSE
        number = as_number(value)
        if number is None:
            return FALSE
        self.reading.differs.add(ROUNDED_SUMS)
        return compared(side_of(left, self.place), self.op, number)

    def _with_fixed(self, subject: Attr, value: Any) -> Node:
        """Where an attribute that is not null compares so with a literal."""
        if self.op == "=" and value is None:
            return FALSE
        if isinstance(value, float):  # NaN
            return FALSE
        self.reading.note_single()
        if isinstance(value, str):
            return self._with_text(subject, value)
        number = as_number(value)
        assert number is not None
        self.reading.note_number(number)
        if self.strict or (self.typed and value is not None):
            return Comparison(subject.name, self.op, value)
        if self.typed:
            self.reading.differs.add(MISSING_STRINGS)
            return Comparison(subject.name, self.op, number)
        return any_of([*self._with_number(subject, number), self._spelled(subject, number)])

    def _with_text(self, subject: Attr, text: str) -> Node:
        if self.op != "=" and any(ord(character) >= _SURROGATES for character in text):
            raise Inexpressible("JavaScript orders such characters by units of 16 bits", self.place)
        of_texts = Comparison(subject.name, self.op, text)
        number = number_in(text)
        if self.strict or self.typed or number is None:
            return of_texts
        if not number.is_finite():
            raise Inexpressible("a comparison with infinity", self.place)
        self.reading.note_number(number)
        if self.op != "=":
            return any_of([of_texts, *self._with_number(subject, number)])
        return subject.isin(text, number, *_booleans("=", number))

    def _with_number(self, subject: Attr, number: int | Decimal) -> list[Node]:
        """Where a number or a boolean compares so with a number."""
        booleans = _booleans(self.op, number)
        if self.op == "=":
            return [subject.isin(number, *booleans) if booleans else subject.eq(number)]
        of_numbers = Comparison(subject.name, self.op, number)
        if not booleans:
            return [of_numbers]
        one = subject.isin(*booleans) if len(booleans) > 1 else subject.eq(booleans[0])
        return [of_numbers, one]

    def _spelled(self, subject: Attr, number: int | Decimal) -> Node:
        self.reading.differs.add(NUMBER_STRINGS)
        return subject.rlike(spelled(self.op, number, self.place))

    def fixed(self, left: Any, right: Any) -> bool:
        """The comparison of two literals."""
        if self.op == "=":
            return strictly_equal(left, right) if self.strict else _loosely_equal(left, right)
        if isinstance(left, str) and isinstance(right, str):
            return holds(left.encode("utf-16-be"), self.op, right.encode("utf-16-be"))
        a, b = as_number(left), as_number(right)
        return a is not None and b is not None and holds(a, self.op, b)


def _booleans(op: str, number: int | Decimal) -> list[bool]:
    """The booleans that compare so with a number, as 0 and 1."""
    return [value for value in (True, False) if holds(int(value), op, number)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def as_number(value: Any) -> int | Decimal | None:
    """The number that JavaScript makes of a literal; None for NaN."""
    if isinstance(value, str):
        return number_in(value)
    if isinstance(value, float):
        return None if math.isnan(value) else Decimal(repr(value))
    return 0 if value is None else int(value) if isinstance(value, bool) else value


def strictly_equal(left: Any, right: Any) -> bool:
    """`===` of two literals."""
    if _is_number(left) and _is_number(right):
        return as_number(left) is not None and bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _loosely_equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    a, b = as_number(left), as_number(right)
    return a is not None and a == b
