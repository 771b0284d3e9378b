"""What an expression may have as its value, and in which case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from matchwood.imports.connectives import FALSE, TRUE, all_of, any_of, not_true
from matchwood.imports.differences import FIRST_ROUNDED, LARGE_NUMBERS, LISTS, ROUNDED_SUMS
from matchwood.imports.imported import Inexpressible
from matchwood.language.builder import Attr
from matchwood.language.tree import Constant, Node, compared
from matchwood.language.tree.arithmetic import Attribute, Side, join

# Pairs of cases that are compared.
MAX_CASES = 64


@dataclass(frozen=True)
class LogicReading:
    """How an expression is read, and for which kinds of events its rule then differs."""

    typed: bool = False  # whether an attribute has the type of what it is compared with
    differs: set[str] = field(default_factory=set)

    def note_single(self) -> None:
        """A single value is asked for, and JavaScript makes text of a list or an object."""
        if not self.typed:
            self.differs.add(LISTS)

    def note_number(self, number: Any) -> None:
        """JavaScript rounds an integer of an event, perhaps to a number of the rule."""
        if not isinstance(number, str | bool | None) and abs(number) >= FIRST_ROUNDED:
            self.differs.add(LARGE_NUMBERS)


@dataclass(frozen=True)
class FixedValue:
    """null, a boolean, a number or a string; a NaN is a float."""

    value: bool | int | float | Decimal | str | None


@dataclass(frozen=True)
class AttributeValue:
    """The value of an attribute that is there; what is asked of a missing one is not true."""

    subject: Attr


@dataclass(frozen=True)
class SumValue:
    """A sum of attributes, which all are numbers."""

    side: Side


Value = FixedValue | AttributeValue | SumValue


@dataclass(frozen=True)
class ValueCase:
    """What an expression is where a rule is true."""

    when: Node
    value: Value


def boolean_cases(truth: Node) -> list[ValueCase]:
    """The cases of an expression that is true or false."""
    cases = [ValueCase(truth, FixedValue(True)), ValueCase(not_true(truth), FixedValue(False))]
    return [case for case in cases if case.when != FALSE]


def pairs(
    left: Sequence[ValueCase], right: Sequence[ValueCase], place: str
) -> Iterator[tuple[Node, Value, Value]]:
    """Each pair of cases: when both hold, and the two values."""
    if len(left) * len(right) > MAX_CASES:
        raise Inexpressible(f"more than {MAX_CASES} cases", place)
    for a in left:
        for b in right:
            when = all_of([a.when, b.when])
            if when != FALSE:
                yield when, a.value, b.value


def is_list(subject: Attr) -> Node:
    """Whether an attribute is a list: of a list, no predicate is undefined."""
    return all_of([subject.eq("").is_not_unknown(), subject.eq(0).is_not_unknown()])


def is_single(subject: Attr) -> Node:
    """Whether an attribute that passes a predicate is no list."""
    return any_of([subject.eq("").is_unknown(), subject.eq(0).is_unknown()])


def truthy(cases: Sequence[ValueCase], reading: LogicReading) -> Node:
    """Where an expression is true, or what JavaScript takes for true."""
    return any_of(all_of([case.when, _truthy(case.value, reading)]) for case in cases)


def falsy(case: ValueCase, reading: LogicReading) -> Node:
    """Where a case holds and its value is not truthy."""
    there = case.value.subject.is_not_null() if isinstance(case.value, AttributeValue) else TRUE
    return all_of([case.when, there, not_true(_truthy(case.value, reading))])


def _truthy(value: Value, reading: LogicReading) -> Node:
    match value:
        case FixedValue(value=fixed):
            return Constant(is_truthy(fixed))
        case SumValue(side=side):
            reading.differs.add(ROUNDED_SUMS)
            return any_of([compared(side, "<", 0), compared(side, ">", 0)])
        case AttributeValue(subject=subject):
            # An empty list is not truthy, and any other is, whatever is in it.
            empty = subject.isin(False, 0, "")
            if reading.typed:
                reading.differs.add(LISTS)
            else:
                empty = all_of([empty, is_single(subject)])
            return all_of([subject.any(True), not_true(empty)])
    raise AssertionError(value)


def is_truthy(value: Any) -> bool:
    """The truthiness of a literal, which may be a list or an object."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return bool(value) or isinstance(value, dict)


def side_of(value: Value, place: str) -> Side:
    """A value as an operand of a comparison or a sum."""
    match value:
        case AttributeValue(subject=subject):
            return Attribute(subject.name)
        case SumValue(side=side):
            return side
        case FixedValue(value=int() | Decimal() as number) if not isinstance(number, bool):
            return number
    raise Inexpressible("a sum is made of numbers and attributes", place)


def sum_of(left: Value, op: str, right: Value, place: str) -> Value:
    """The sum, difference, product or quotient; of two numbers, as floats of 64 bits."""
    first, second = side_of(left, place), side_of(right, place)
    if isinstance(left, FixedValue) and isinstance(right, FixedValue):
        return FixedValue(_computed(float(str(first)), op, float(str(second))))
    return SumValue(join(first, op, second))


def _computed(left: float, op: str, right: float) -> Decimal | float:
    result = {"+": left + right, "-": left - right, "*": left * right}.get(op)
    if result is None:
        result = left / right
    return Decimal(repr(result)) if math.isfinite(result) else math.nan
