"""Values and literals: the four families, exact numbers, times to the nanosecond.

A literal of a rule has one canonical form, so that equal literals are equal objects: a number is
an int, or a Decimal if it has a fraction; a time is a `Time`.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from matchwood.language.errors import RuleError

# Digits of a number in a rule.
MAX_DIGITS = 400

# The largest absolute exponent of a number in a rule.
MAX_EXPONENT = 400

# Integers below this are spelled without an exponent.
_PLAIN_INTEGER = 10**40

# 1970-01-01, in days of Python's calendar.
_EPOCH_DAY = date(1970, 1, 1).toordinal()

# Nanoseconds per second.
_SECOND = 1_000_000_000

# Nanoseconds per day.
_DAY = 86_400 * _SECOND

# The first moment of the year 1, in nanoseconds since 1970.
_FIRST_NS = (date.min.toordinal() - _EPOCH_DAY) * _DAY

# The last moment of the year 9999, in nanoseconds since 1970.
_LAST_NS = (date.max.toordinal() - _EPOCH_DAY + 1) * _DAY - 1


class Family(StrEnum):
    """Which values can be compared with each other: nothing is converted between families."""

    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    TIME = "time"


@dataclass(frozen=True, order=True, slots=True)
class Time:
    """A moment, in nanoseconds since 1970-01-01T00:00:00Z; a date is its midnight."""

    ns: int

    def __str__(self) -> str:
        day, rest = divmod(self.ns, _DAY)
        text = date.fromordinal(day + _EPOCH_DAY).isoformat()
        if rest == 0:
            return text
        seconds, fraction = divmod(rest, _SECOND)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        dot = f".{fraction:09}".rstrip("0") if fraction else ""
        return f"{text}T{clock}{dot}Z"


# A literal of a rule, in its canonical form.
Literal = int | Decimal | str | bool | Time


class Value(NamedTuple):
    """A single value of an event; `family` is None if no predicate can compare it."""

    family: Family | None
    value: Literal | None


# A value that is missing, null or NaN.
NULL = Value(None, None)

# A value that is there but of no family: an object, bytes or a duration.
OPAQUE = Value(None, False)


def family_of(literal: Literal) -> Family:
    """The family of a literal."""
    if isinstance(literal, bool):
        return Family.BOOLEAN
    if isinstance(literal, str):
        return Family.STRING
    if isinstance(literal, Time):
        return Family.TIME
    return Family.NUMBER


def holds(left: Any, op: str, right: Any) -> bool:
    """A comparison of two values of one family."""
    if op == "=":
        return bool(left == right)
    if op == "!=":
        return bool(left != right)
    if op == "<":
        return bool(left < right)
    if op == "<=":
        return bool(left <= right)
    return bool(left > right) if op == ">" else bool(left >= right)


def same_family(literals: tuple[Literal, ...], where: str) -> Family:
    """The one family of the literals of an `in` or `between`; a RuleError if there are several."""
    first = family_of(literals[0])
    for literal in literals:
        if family_of(literal) is not first:
            raise RuleError(
                f"the literals of one '{where}' are of one family, "
                f"found a {first} and a {family_of(literal)}"
            )
    return first


def is_text(value: str) -> bool:
    """Whether a string is valid Unicode, without half of a surrogate pair."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


# Numbers


def exact(value: int | float | Decimal) -> int | Decimal:
    """The exact decimal of a number; for a float, the shortest that reads back as the float."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    number = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    if not number.is_finite():
        return number
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    last = len(digits)
    while last and digits[last - 1] == 0:
        last -= 1
    if last == 0:
        return 0
    exponent += len(digits) - last
    if 0 <= exponent <= 2 * MAX_EXPONENT:
        return int(number)
    return number if last == len(digits) else Decimal((sign, digits[:last], exponent))


def read_number(text: str) -> int | Decimal:
    """The number that a literal without a sign spells; a RuleError if it is over the limits."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) - ("." in mantissa) > MAX_DIGITS:
        raise RuleError(f"a number has at most {MAX_DIGITS} digits")
    if exponent and (len(exponent) > 12 or abs(int(exponent)) > MAX_EXPONENT):
        raise RuleError(f"the exponent of a number lies within ±{MAX_EXPONENT}")
    if not exponent and "." not in mantissa:
        return int(mantissa)
    return exact(Decimal(text))


def negative(number: int | Decimal) -> int | Decimal:
    """`-number` with all its digits; Decimal's own minus rounds to the precision of the context."""
    return -number if isinstance(number, int) else number.copy_negate()


def spell_number(number: int | Decimal) -> str:
    """The canonical text of a number, which `read_number` reads; a RuleError over the limits."""
    if isinstance(number, int) and -_PLAIN_INTEGER < number < _PLAIN_INTEGER:
        return str(number)
    sign, digits, exponent = Decimal(number).as_tuple()
    assert isinstance(exponent, int)
    kept = "".join(map(str, digits))
    if isinstance(number, int):
        stripped = kept.rstrip("0")
        kept, exponent = stripped, exponent + len(kept) - len(stripped)
    minus = "-" if sign else ""
    plain = _shift(kept, exponent)
    if len(plain) <= 40:
        return minus + plain
    spelled_exponent = max(-MAX_EXPONENT, min(MAX_EXPONENT, exponent))
    if abs(exponent - spelled_exponent) + len(kept) > 2 * MAX_DIGITS:
        raise RuleError(f"the exponent of a number lies within ±{MAX_EXPONENT}")
    spelled = _shift(kept, exponent - spelled_exponent)
    if len(spelled) - ("." in spelled) > MAX_DIGITS:
        raise RuleError(f"a number has at most {MAX_DIGITS} digits")
    return f"{minus}{spelled}e{spelled_exponent}" if spelled_exponent else minus + spelled


def _shift(digits: str, exponent: int) -> str:
    """Digits times a power of ten, written out."""
    if abs(exponent) > 2 * MAX_EXPONENT:
        return digits + "?" * 41  # longer than any plain spelling that is used
    if exponent >= 0:
        return digits + "0" * exponent
    padded = digits.rjust(1 - exponent, "0")
    return f"{padded[:exponent]}.{padded[exponent:]}"


# Times

_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


def read_time(text: str) -> Time | None:
    """The moment that ISO 8601 text names; None if it is not such text.

    The text is `YYYY-MM-DD`, alone or followed by `T` or a space and `HH:MM`. Seconds, a fraction
    of up to nine digits, and a zone (`Z`, `+01`, `+0100`, `+01:00`) are optional; without a zone,
    the time is UTC.

    >>> str(read_time("2026-01-31 10:00+01"))
    '2026-01-31T09:00:00Z'
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    if hour is None:
        return Time(days * _DAY)
    h, m, s = int(hour), int(minute), int(second or 0)
    if h > 23 or m > 59 or s > 59:
        return None
    offset = 0
    if zone and zone not in "Zz":
        zone_h, zone_m = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
        if zone_h > 23 or zone_m > 59:
            return None
        offset = (zone_h * 60 + zone_m) * (-1 if zone[0] == "-" else 1)
    seconds = (h * 60 + m - offset) * 60 + s
    return in_range(days * _DAY + seconds * _SECOND + int((fraction or "0").ljust(9, "0")))


def time_of(value: date) -> Time | None:
    """The moment of a date or datetime; None outside the years 1 to 9999 in UTC, and for NaT."""
    if value != value:
        return None
    try:
        days = (value.toordinal() - _EPOCH_DAY) * _DAY
    except (NotImplementedError, ValueError):  # a pandas Timestamp beyond Python's years
        return None
    if not isinstance(value, datetime):
        return Time(days)
    offset = value.utcoffset()
    clock = ((value.hour * 60 + value.minute) * 60 + value.second) * _SECOND
    clock += value.microsecond * 1000 + int(getattr(value, "nanosecond", 0))
    if offset is not None:
        clock -= (offset.days * 86_400 + offset.seconds) * _SECOND + offset.microseconds * 1000
    return in_range(days + clock)


def in_range(ns: int) -> Time | None:
    """The moment at some nanoseconds since 1970; None outside the years 1 to 9999."""
    return Time(ns) if _FIRST_NS <= ns <= _LAST_NS else None


# From Python


def literal(value: object) -> Literal:
    """The canonical literal of a Python value; a RuleError if it cannot be a literal."""
    if type(value) is int and -_PLAIN_INTEGER < value < _PLAIN_INTEGER:
        return value
    value = plain(value)
    if isinstance(value, bool | Time):
        return value
    if isinstance(value, str):
        if not is_text(value):
            raise RuleError("a string is not valid Unicode: it holds half of a surrogate pair")
        return str(value)
    if isinstance(value, int | float | Decimal):
        number = exact(value)
        if isinstance(number, Decimal) and not number.is_finite():
            raise RuleError(f"a literal is finite, found {value}")
        spell_number(number)
        return number
    if isinstance(value, date):
        time = time_of(value)
        if time is not None:
            return time
        raise RuleError(f"a time lies in the years 1 to 9999 (UTC), found {value}")
    if value is None:
        raise RuleError("null can only follow 'is': write 'is null'")
    raise RuleError(
        f"a literal is a number, string, boolean, date or timestamp, found {type(value).__name__}"
    )


def read(value: object) -> Value:
    """A single value of an event as predicates see it."""
    if isinstance(value, str):
        return Value(Family.STRING, value)
    value = plain(value)
    if isinstance(value, bool):
        return Value(Family.BOOLEAN, value)
    if isinstance(value, int):
        return Value(Family.NUMBER, value)
    if isinstance(value, float | Decimal):
        nan = math.isnan(value) if isinstance(value, float) else value.is_nan()
        return NULL if nan else Value(Family.NUMBER, exact(value))
    if isinstance(value, Time):
        return Value(Family.TIME, value)
    if isinstance(value, date):
        time = time_of(value)
        if time is None:
            return NULL if value != value else OPAQUE
        return Value(Family.TIME, time)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return NULL
    return Value(Family.STRING, value) if isinstance(value, str) else OPAQUE


def plain(value: object) -> object:
    """The Python value of a NumPy scalar; any other value as it is."""
    if (
        type(value).__module__ != "numpy"
        or not hasattr(value, "dtype")
        or hasattr(value, "__len__")
    ):
        return value
    scalar: Any = value
    kind = scalar.dtype.kind
    if kind in "mM" and scalar != scalar:
        return None
    if kind == "M":
        time = _of_datetime64(scalar)
        return value if time is None else time
    if kind == "f":
        return float(scalar)
    return scalar.item() if kind in "biuU" else value


def listed(value: object) -> object:
    """A NumPy array as a list, or as its one value if it has no dimensions.

    Any other value stays as it is.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray):
        return value
    array: Any = value
    if isinstance(array, numpy.ma.MaskedArray):
        return [None if item is numpy.ma.masked else item for item in numpy.ma.atleast_1d(array)]
    if array.ndim == 0:
        return array[()]
    return array.tolist() if array.dtype.kind in "biufO" and array.ndim == 1 else list(array)


# Nanoseconds per unit of a NumPy datetime.
_NS = {"W": 7 * _DAY, "D": _DAY, "h": 3600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND}
_NS |= {"ms": 1_000_000, "us": 1000, "ns": 1}

# Units of a NumPy datetime per nanosecond.
_PER_NS = {"ps": 10**3, "fs": 10**6, "as": 10**9}


def _of_datetime64(scalar: Any) -> Time | None:
    """The moment of a NumPy datetime, computed in integers, as NumPy's own casts wrap around."""
    import numpy

    unit, step = numpy.datetime_data(scalar.dtype)
    count = int(scalar.astype("int64")) * step
    if unit in ("Y", "M"):
        year, month = divmod(count if unit == "M" else count * 12, 12)
        if not 1 <= year + 1970 <= 9999:
            return None
        return time_of(date(year + 1970, month + 1, 1))
    return in_range(count * _NS[unit] if unit in _NS else count // _PER_NS[unit])
