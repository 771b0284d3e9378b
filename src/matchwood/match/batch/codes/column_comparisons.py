"""Two columns compared: where `left op right` is true, false and undefined.

Columns of one plain type are compared all at once. That is exact where NumPy and Arrow order values
as the language does: integers, floats as the decimals that they spell, strings by code point, times
to the nanosecond. Whatever they do not hold exactly (decimals, large integers beside floats) is
compared value by value, as `evaluate` does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.arrow.reading import is_text
from matchwood.kernels.array_types import BoolArray, UInt8Array
from matchwood.language.values import Family, exact, holds
from matchwood.match.event.literal_kernels import FALSE_SEEN, TRUE_SEEN, UNDEFINED_SEEN

# From here on, and below its negative, an integer may differ from the double nearest to it.
_EXACT_FLOAT = 2**53

# Ticks per second of an Arrow timestamp.
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

# Seconds per day.
_DAY = 86_400

# 1970-01-01, in days of Python's calendar.
_EPOCH = date(1970, 1, 1).toordinal()

# The first second of the year 1, counted from 1970.
_FIRST = (date.min.toordinal() - _EPOCH) * _DAY

# The last second of the year 9999, counted from 1970.
_LAST = (date.max.toordinal() - _EPOCH + 1) * _DAY - 1

# How NumPy compares, and how Arrow does.
_NUMPY: dict[str, Callable[..., Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip
_ARROW: dict[str, Callable[..., Any]] = {
    "=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
    ">=": pc.greater_equal,
}  # fmt: skip


class TypedColumn(NamedTuple):
    """A column whose values are all of one family, and are compared exactly all at once."""

    family: Family | None  # None: no value of it can be compared
    there: BoolArray  # where there is a value that can be compared
    values: Any  # int64, float64 or bool; strings as an Arrow array; times in seconds
    rest: Any = None  # of times: the nanoseconds after the second


def typed_column(array: Any) -> TypedColumn | None:
    """The values of an Arrow array; None if they have to be compared one by one."""
    kind, types = array.type, pa.types
    there = np.asarray(array.is_valid())
    if types.is_integer(kind):
        numbers = _filled(array, 0)
        if numbers.dtype == np.uint64 and (numbers > np.iinfo(np.int64).max).any():
            return None
        return TypedColumn(Family.NUMBER, there, numbers.astype(np.int64))
    if types.is_floating(kind):
        numbers = _filled(array, 0).astype(np.float64)
        return TypedColumn(Family.NUMBER, there & ~np.isnan(numbers), numbers)
    if types.is_boolean(kind):
        return TypedColumn(Family.BOOLEAN, there, _filled(array, False))
    if types.is_dictionary(kind):
        array = array.dictionary.take(array.indices)
        kind, there = array.type, np.asarray(array.is_valid())
    if is_text(kind):
        return TypedColumn(Family.STRING, there, array.cast(pa.large_string()))
    if types.is_date(kind):
        seconds = _filled(array.cast(pa.int32()), 0).astype(np.int64) * _DAY
        return _times(there, seconds, np.zeros(len(seconds), np.int64))
    if types.is_timestamp(kind):
        per_second = _TICKS[kind.unit]
        seconds, ticks = np.divmod(_filled(array.cast(pa.int64()), 0), per_second)
        return _times(there, seconds, ticks * (_TICKS["ns"] // per_second))
    return None if types.is_decimal(kind) else TypedColumn(None, np.zeros(len(there), bool), None)


def _filled(array: Any, value: object) -> Any:
    return (array.fill_null(value) if array.null_count else array).to_numpy(zero_copy_only=False)


def _times(there: BoolArray, seconds: Any, nanoseconds: Any) -> TypedColumn:
    known = there & (seconds >= _FIRST) & (seconds <= _LAST)
    return TypedColumn(Family.TIME, known, seconds, nanoseconds)


def compare_columns(left: TypedColumn, op: str, right: TypedColumn) -> UInt8Array:
    """The state of `left op right` for each row."""
    states = np.full(len(left.there), UNDEFINED_SEEN, np.uint8)
    if left.family is None or left.family is not right.family:
        return states
    both = left.there & right.there
    if left.family is Family.STRING:
        answers = _ARROW[op](left.values, right.values)
        is_true = answers.fill_null(False).to_numpy(zero_copy_only=False)
    elif left.family is Family.TIME:
        is_true = _compare_times(left, op, right)
    else:
        is_true = _NUMPY[op](left.values, right.values)
        if left.values.dtype != right.values.dtype:
            _compare_large(left.values, op, right.values, both, is_true)
    states[both] = np.where(is_true[both], TRUE_SEEN, FALSE_SEEN)
    return states


def _compare_times(left: TypedColumn, op: str, right: TypedColumn) -> Any:
    same = left.values == right.values
    return np.where(same, _NUMPY[op](left.rest, right.rest), _NUMPY[op](left.values, right.values))


def _compare_large(left: Any, op: str, right: Any, both: BoolArray, is_true: Any) -> None:
    """Correct the comparisons of floats with integers that floats may not hold exactly."""
    whole = left if left.dtype == np.int64 else right
    large = both & ((whole >= _EXACT_FLOAT) | (whole <= -_EXACT_FLOAT))
    for row in np.flatnonzero(large).tolist():
        is_true[row] = holds(exact(left[row].item()), op, exact(right[row].item()))
