"""Python values to Arrow arrays of one type, without guesses.

Arrow's own inference turns True beside 0.5 into 1, noon beside a date into midnight, and drops the
nanoseconds of a timestamp. Here values of several types are a `Mixed` error, and the caller handles
them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.language.values import Time

# The largest integer up to which a float holds every integer exactly.
_EXACT_FLOAT = 2**53

# Python types with one Arrow type.
_FIXED = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    date: pa.date32(),
    bytes: pa.binary(),
}
_LISTS = (list, tuple, np.ndarray)

# Types that `plain_array` takes.
PLAIN = frozenset((*_FIXED, datetime, Decimal, *_LISTS))

# Types of missing values in pandas.
_NULLS = ("NAType", "NaTType")

# Units of time that Arrow has.
_TICKS = ("s", "ms", "us", "ns")


class Mixed(TypeError):
    """No Arrow array holds all of these values without changing them."""


def plain_array(values: Sequence[object]) -> Any | None:
    """An Arrow array for which rules give the same results as for the values; None if none does.

    Integers among floats become floats if floats hold them exactly: rules see no difference.
    """
    try:
        array = _array(values, PLAIN, joined=True)
    except Mixed:
        return None
    return array if isinstance(array, pa.Array) else None


def array_of(values: Sequence[object], joined: bool = False) -> Any:
    """An Arrow array of values of one type; `Mixed` if there are several, or Arrow has none.

    With `joined`, integers and floats may be mixed if floats hold the integers exactly.
    """
    return _array(values, None, joined)


def _array(values: Sequence[object], allowed: frozenset[type] | None, joined: bool) -> Any:
    kinds = set(map(type, values))
    missing = {kind for kind in kinds if kind.__name__ in _NULLS}
    if missing:
        values = [None if type(value) in missing else value for value in values]
    kinds -= {NoneType, *missing}
    if float in kinds and len(kinds) == 2:
        values, kinds = _without_floats(values, kinds, joined)
    if not kinds:
        return pa.nulls(len(values))
    if kinds <= set(_LISTS):
        return _lists(values, allowed, joined)
    if len(kinds) > 1:
        raise Mixed(f"its values are of several types: {_named(kinds)}")
    [kind] = kinds
    if allowed is not None and kind not in allowed:
        raise Mixed(f"its values are of the type {kind.__name__}")
    try:
        return _of_kind(values, kind)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError) as error:
        raise Mixed(f"its values do not fit an Arrow column: {error}") from error


def _without_floats(
    values: Sequence[object], kinds: set[type], joined: bool
) -> tuple[Sequence[object], set[type]]:
    """The values with NaN beside another type as null, or with integers as floats."""
    if joined and int in kinds:
        whole = (value for value in values if type(value) is int)
        if all(-_EXACT_FLOAT <= value <= _EXACT_FLOAT for value in whole):
            return values, {float}
    if all(value != value for value in values if type(value) is float):
        return [None if type(value) is float else value for value in values], kinds - {float}
    return values, kinds


def _named(kinds: set[type]) -> str:
    return ", ".join(sorted(kind.__name__ for kind in kinds))


def _of_kind(values: Sequence[object], kind: type) -> Any:
    """An array of values of exactly one type, and None."""
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return pa.array(values, fixed)
    if kind is datetime:
        return _moments(values)
    if kind is Time:
        ticks = [None if value is None else value.ns for value in values]  # type: ignore[attr-defined]
        return pa.array(ticks, pa.timestamp("ns", "UTC"))
    if issubclass(kind, np.generic):
        return _scalars(values, kind)
    if kind.__module__.partition(".")[0] == "pandas":
        return _of_pandas(values)
    if issubclass(kind, Mapping):
        return _objects(values)
    if issubclass(kind, set | frozenset):
        return _array([None if v is None else list(v) for v in values], None, False)  # type: ignore[call-overload]
    return pa.array(values)


def _moments(values: Sequence[object]) -> Any:
    zones = {value.tzinfo for value in values if isinstance(value, datetime)}
    if len(zones) == 1:
        return pa.array(values)
    if None in zones:
        raise Mixed("its times are with and without a zone")
    return pa.array(values, pa.timestamp("us", "UTC"))


def _scalars(values: Sequence[object], kind: type) -> Any:
    """An array of NumPy scalars of one type; times may be of several units."""
    if not issubclass(kind, np.datetime64 | np.timedelta64):
        plain = [None if value is None else value.item() for value in values]  # type: ignore[attr-defined]
        if any(isinstance(value, np.generic) for value in plain):
            raise Mixed(f"its values are of the type {kind.__name__}")
        return _array(plain, None, False)
    letter = "M" if issubclass(kind, np.datetime64) else "m"
    units = {np.datetime_data(v.dtype)[0] for v in values if v is not None}  # type: ignore[attr-defined]
    if len(units) > 1 or not units <= {*_TICKS, "D", "h", "m"}:
        raise Mixed(f"its times are of the units {', '.join(sorted(units))}")
    [unit] = units
    times = np.array([kind("NaT") if value is None else value for value in values])
    return pa.array(times if unit in _TICKS else times.astype(f"{letter}8[s]"))


def _of_pandas(values: Sequence[object]) -> Any:
    import pandas

    series = pandas.Series(list(values))
    if series.dtype == object:
        raise Mixed("its times are of several zones")
    return pa.array(series, from_pandas=True)


# Nested


def _lists(values: Sequence[object], allowed: frozenset[type] | None, joined: bool) -> Any:
    lists = [None if value is None else items_of(value) for value in values]
    inner = _array(list(chain.from_iterable(v for v in lists if v is not None)), allowed, joined)
    if not isinstance(inner, pa.Array) or (allowed is not None and pa.types.is_nested(inner.type)):
        raise Mixed("it holds lists of lists")
    sizes = [0 if value is None else len(value) for value in lists]
    offsets = pa.array(np.r_[0, np.cumsum(sizes)].astype(np.int32))
    mask = pa.array([value is None for value in lists], pa.bool_())
    return pa.ListArray.from_arrays(offsets, inner, mask=mask)


def items_of(value: Any) -> Sequence[object]:
    """The values of a list or a NumPy array, as Python values."""
    if not isinstance(value, np.ndarray):
        items: Sequence[object] = value
        return items
    if value.ndim != 1:
        raise Mixed("it holds arrays of several dimensions")
    return value.tolist() if value.dtype.kind in "biufO" else list(value)


def _objects(values: Sequence[Any]) -> Any:
    names = dict.fromkeys(chain.from_iterable(value for value in values if value is not None))
    if not all(isinstance(name, str) for name in names):
        raise Mixed("its objects have names that are not strings")
    columns = [
        _array([None if value is None else value.get(name) for value in values], None, False)
        for name in names
    ]
    mask = pa.array([value is None for value in values], pa.bool_())
    if not names:
        return pa.array([None if value is None else {} for value in values], pa.struct([]))
    return pa.StructArray.from_arrays(columns, list(names), mask=mask)


def by_types(values: Sequence[Sequence[object]]) -> list[list[int]]:
    """The indexes of rows, in groups of rows whose values have the same types."""
    groups: dict[tuple[type, ...], list[int]] = {}
    for index, row in enumerate(values):
        groups.setdefault(tuple(map(type, row)), []).append(index)
    return list(groups.values())


def column_or(values: Sequence[object], otherwise: Callable[[str], Exception]) -> Any:
    """An array of values of one type; else raise the error that `otherwise` makes of the reason."""
    try:
        return array_of(values, joined=True)
    except Mixed as error:
        raise otherwise(str(error)) from error
