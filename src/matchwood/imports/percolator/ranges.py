"""What lies between two bounds: one value must satisfy both, also where a list has several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from matchwood.imports.connectives import FALSE, all_of, any_of
from matchwood.imports.percolator.date_math import (
    DEFAULT_FORMATS,
    EPOCHS,
    ISO,
    DateError,
    milliseconds,
    zone_of,
)
from matchwood.language.tree import IT, Between, Comparison, Elements, IsNull, Lowered, Node
from matchwood.language.values import Literal, Time, in_range

INTEGERS = {"byte": 7, "short": 15, "integer": 31, "long": 63, "unsigned_long": 64}
FRACTIONS = {"double": 15, "float": 6, "half_float": 3, "scaled_float": 15}  # digits that are kept

_NS = 1_000_000  # nanoseconds in a millisecond


class RangeError(ValueError):
    """Bounds that cannot be said exactly."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of a range as they are written; None for one that is missing."""

    low: object
    high: object
    with_low: bool
    with_high: bool
    formats: tuple[str, ...] | None = None
    zone: str | None = None

    @staticmethod
    def of(form: Mapping[str, object]) -> Bounds:
        known = {"gte", "gt", "lte", "lt", "from", "to", "include_lower", "include_upper"}
        known |= {"format", "time_zone", "boost", "_name", "relation"}
        for name in form:
            if name not in known:
                raise RangeError(f"{name!r} is no part of a range")
        if form.get("relation", "intersects").__str__().lower() != "intersects":
            raise RangeError("a relation between ranges")
        low = form.get("gte", form.get("gt", form.get("from")))
        high = form.get("lte", form.get("lt", form.get("to")))
        if ("gte" in form and "gt" in form) or ("lte" in form and "lt" in form):
            raise RangeError("two bounds on one side")
        formats = form.get("format")
        zone = form.get("time_zone")
        return Bounds(
            low,
            high,
            "gt" not in form and form.get("include_lower", True) is not False,
            "lt" not in form and form.get("include_upper", True) is not False,
            tuple(str(formats).split("||")) if formats is not None else None,
            str(zone) if zone is not None else None,
        )


def between(
    subject: str, low: Literal | None, high: Literal | None, with_low: bool, with_high: bool
) -> Node:
    """The values from one bound to the other."""
    if low is None and high is None:
        return present(subject)
    if low is None or high is None:
        op = ">" if high is None else "<"
        closed = with_low if high is None else with_high
        return Comparison(subject, f"{op}=" if closed else op, high if low is None else low)
    if low > high or (low == high and not (with_low and with_high)):  # type: ignore[operator]
        return FALSE
    if low == high:
        return Comparison(subject, "=", low)
    if with_low and with_high:
        return Between(subject, low, high)
    return of_one(
        subject,
        lambda it: all_of(
            (
                Comparison(it, ">=" if with_low else ">", low),
                Comparison(it, "<=" if with_high else "<", high),
            )
        ),
    )


def of_one(subject: str, rule: Callable[[str], Node]) -> Node:
    """The rule of one and the same value of a field, also if it has several."""
    base = subject.base if isinstance(subject, Lowered) else subject
    if base == IT:
        return rule(subject)
    return Elements("any", base, rule(Lowered(IT) if isinstance(subject, Lowered) else IT))


def present(subject: str) -> Node:
    """Whether a field has a value; a list without values has none."""
    return of_one(subject, lambda it: IsNull(it, True))


# Numbers


def integer_range(subject: str, kind: str, bounds: Bounds) -> Node:
    """Integers: a bound with a fraction is the next integer inside the range."""
    low = high = None
    if bounds.low is not None:
        number = number_of(bounds.low)
        low = math.ceil(number)
        low += low == number and not bounds.with_low
    if bounds.high is not None:
        number = number_of(bounds.high)
        high = math.floor(number)
        high -= high == number and not bounds.with_high
    largest = 2 ** INTEGERS[kind] - 1
    smallest = 0 if kind == "unsigned_long" else -largest - 1
    if (low is not None and low > largest) or (high is not None and high < smallest):
        return FALSE
    return between(subject, low, high, True, True)


def fraction_range(subject: str, kind: str, factor: object, bounds: Bounds) -> Node:
    low, high = (
        None if bound is None else fraction(kind, factor, bound)
        for bound in (bounds.low, bounds.high)
    )
    return between(subject, low, high, bounds.with_low, bounds.with_high)


def number_of(value: object) -> Decimal:
    if isinstance(value, str | int | float | Decimal) and not isinstance(value, bool):
        try:
            number = Decimal(str(value))
        except ArithmeticError:
            raise RangeError(f"{value!r} is no number") from None
        if number.is_finite() and -400 < number.adjusted() < 400:
            return number
    raise RangeError(f"{value!r} is no number")


def fraction(kind: str, factor: object, value: object) -> Literal:
    """A number as a field with fractions keeps it; a RangeError if it would be rounded."""
    number = number_of(value)
    if kind == "scaled_float":
        scaled = number * Decimal(str(factor))
        if scaled != scaled.to_integral_value():
            raise RangeError(f"{value} is rounded by the scaling factor {factor}")
    if len(number.normalize().as_tuple().digits) > FRACTIONS[kind]:
        raise RangeError(f"{value} has more digits than a {kind} keeps")
    return int(number) if number == int(number) else number


# Dates


@dataclass(frozen=True)
class Calendar:
    """How dates are written: in a field, in its queries, and what the present is."""

    formats: tuple[str, ...]
    now: datetime | None

    @staticmethod
    def of(setting: object, now: datetime | None) -> Calendar:
        formats = tuple(str(setting).split("||")) if setting else DEFAULT_FORMATS
        for name in formats:
            if name not in ISO and name not in EPOCHS:
                raise RangeError(f"dates in the format {name!r} are not read by rules")
        return Calendar(formats, now)

    def range(self, subject: str, bounds: Bounds) -> Node:
        formats = bounds.formats or self.formats
        first, last = self.first(bounds, formats), self.last(bounds, formats)
        found = []
        if first is None and last is None:
            return present(subject)
        if any(name in ISO for name in self.formats):
            low = None if first is None else _time(first * _NS)
            high = None if last is None else _time(last * _NS + _NS - 1)
            if high is None and first is None and last is not None:
                return FALSE
            found.append(between(subject, low, high, True, True))
        for name, factor in EPOCHS.items():
            if name in self.formats:
                start = None if first is None else -(-first // factor)
                end = None if last is None else last // factor
                found.append(between(subject, start, end, True, True))
        return any_of(found)

    def first(self, bounds: Bounds, formats: Sequence[str]) -> int | None:
        """The first millisecond of a range."""
        if bounds.low is None:
            return None
        return self.read(bounds.low, not bounds.with_low, bounds, formats) + (not bounds.with_low)

    def last(self, bounds: Bounds, formats: Sequence[str]) -> int | None:
        if bounds.high is None:
            return None
        return self.read(bounds.high, bounds.with_high, bounds, formats) - (not bounds.with_high)

    def read(self, value: object, up: bool, bounds: Bounds, formats: Sequence[str]) -> int:
        try:
            zone = zone_of(bounds.zone) if bounds.zone else UTC
            return milliseconds(value, up, formats, zone, self.now)
        except DateError as error:
            raise RangeError(str(error)) from None


def _time(ns: int) -> Time:
    time = in_range(ns)
    if time is None:
        raise RangeError("a date beyond the years 1 to 9999")
    return time
