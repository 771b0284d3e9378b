"""Arrow arrays to arrays of plain types, and to Python values.

A type that only encodes another one (dictionaries, runs, views of lists, extensions) becomes that
one, chunk by chunk and at every depth: Arrow's own kernels lose values of some of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.language.errors import EventError

_DAY_MS = 86_400_000
_DAYS = np.iinfo(np.int32)


def is_list(kind: pa.DataType) -> bool:
    """Whether an array of the type holds lists one after the other."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or _is(kind, "string_view"))


def _is(kind: pa.DataType, name: str) -> bool:
    """Whether a type is one that older versions of pyarrow do not have."""
    known = getattr(pa.types, f"is_{name}", None)
    return known is not None and bool(known(kind))


def one_array(column: Any) -> Any:
    """A column as one array: of no chunks, an empty one."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):  # of no chunks, or too large for one array
        found = pa.concat_arrays(found.chunks) if found.chunks else pa.array([], found.type)
    return found


# Plain types


def decoded(column: Any) -> Any:
    """The same values in one array, of a plain type."""
    if not _encodes(column.type):
        return one_array(column)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    plain = [_decode(chunk) for chunk in chunks or [pa.array([], column.type)]]
    return plain[0] if len(plain) == 1 else pa.concat_arrays(plain)


def takeable(array: Any) -> Any:
    """An array of which rows can be taken, with the same values."""
    if _is(array.type, "string_view") or _is(array.type, "binary_view"):
        return _decode(array)
    return _decode(array) if pa.types.is_run_end_encoded(array.type) else array


def _encodes(kind: pa.DataType) -> bool:
    """Whether a type encodes another one, at any depth."""
    types = pa.types
    if types.is_dictionary(kind):
        return not (types.is_string(kind.value_type) or types.is_large_string(kind.value_type))
    if (
        isinstance(kind, pa.BaseExtensionType)
        or types.is_run_end_encoded(kind)
        or types.is_date64(kind)
        or _is(kind, "list_view")
        or _is(kind, "large_list_view")
    ):
        return True
    if types.is_struct(kind):
        return any(_encodes(kind.field(place).type) for place in range(kind.num_fields))
    return is_list(kind) and _encodes(kind.value_type)


def _decode(array: Any) -> Any:
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        plain = _decode(array.storage)
        return plain.cast(pa.bool_()) if kind.extension_name == "arrow.bool8" else plain
    if _is(kind, "string_view"):
        return array.cast(pa.large_string())
    if _is(kind, "binary_view"):
        return array.cast(pa.large_binary())
    if not _encodes(kind):
        return array
    if types.is_dictionary(kind):
        return _decode(array.dictionary).take(array.indices)
    if types.is_run_end_encoded(kind):
        ends = array.run_ends.to_numpy()
        rows = np.arange(array.offset, array.offset + len(array))
        return _decode(array.values).take(pa.array(np.searchsorted(ends, rows, "right")))
    if types.is_date64(kind):
        return _days(array)
    if types.is_struct(kind):
        fields = [kind.field(place).name for place in range(kind.num_fields)]
        children = [_decode(array.field(place)) for place in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields, mask=pc.is_null(array))
    return _decode_lists(array)


def _days(array: Any) -> Any:
    """The dates of milliseconds: whatever they have beyond a midnight is none of a date's."""
    ticks = array.cast(pa.int64())
    ticks = (ticks.fill_null(0) if ticks.null_count else ticks).to_numpy(zero_copy_only=False)
    days = np.clip(ticks // _DAY_MS, _DAYS.min, _DAYS.max).astype(np.int32)
    return pa.array(days, mask=np.asarray(array.is_null())).cast(pa.date32())


def _decode_lists(array: Any) -> Any:
    bounds, values = list_parts(array)
    offsets = pa.array(bounds)
    return pa.LargeListArray.from_arrays(offsets, _decode(values), mask=pc.is_null(array))


def list_parts(array: Any) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Any]:
    """(bounds, values) of an array of lists of any type: the values of a null may be there."""
    kind = array.type
    if _is(kind, "list_view") or _is(kind, "large_list_view"):
        sizes = np.where(np.asarray(array.is_valid()), np.asarray(array.sizes), 0)
        return np.r_[0, np.cumsum(sizes)].astype(np.int64), array.flatten()
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        return np.arange(len(array) + 1, dtype=np.int64) * size, values
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.keys if pa.types.is_map(kind) else array.values
    return offsets - offsets[0], values.slice(offsets[0], offsets[-1] - offsets[0])


# Python values


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The events of a table as Python values."""
    names = table.column_names
    check_names(names)
    if not names:
        return [{} for _ in range(table.num_rows)]
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def check_names(names: list[str]) -> None:
    """An EventError where two columns have one name: no row could tell them apart."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise EventError("two columns have this name: rename one, or leave it out", twice)


def values_of(column: Any) -> list[Any]:
    """The values of a column as Python has them.

    A time beyond Python's is a NumPy datetime. Of a repeated key of a map the last counts. A
    string that is not valid UTF-8 becomes one that is not valid Unicode, which is refused when a
    rule asks for it.
    """
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in values_of(chunk)]
    array = _decode(column) if _encodes(column.type) else column
    kind, types = array.type, pa.types
    if types.is_struct(kind):
        return _objects(array)
    if types.is_map(kind):
        return _maps(array)
    if is_list(kind):
        bounds, values = list_parts(array)
        return _cut(array, bounds, values_of(values))
    if types.is_union(kind):
        return _unions(array)
    if types.is_dictionary(kind):
        values = [*values_of(array.dictionary), None]
        return [values[place] for place in array.indices.cast(pa.int64()).fill_null(-1).to_pylist()]
    if is_text(kind):
        return _texts(array)
    if types.is_temporal(kind) or types.is_interval(kind):
        return _times(array)
    return list(array.to_pylist())


def _cut(array: Any, bounds: Any, values: list[Any]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    ends = bounds.tolist()
    cuts = zip(valid, ends[:-1], ends[1:], strict=True)
    return [values[low:high] if there else None for there, low, high in cuts]


def _objects(array: Any) -> list[Any]:
    names = [array.type.field(place).name for place in range(array.type.num_fields)]
    check_names(names)
    if not names:
        return [{} if there else None for there in array.is_valid().to_pylist()]
    children = [values_of(array.field(place)) for place in range(len(names))]
    rows = zip(array.is_valid().to_pylist(), *children, strict=True)
    return [dict(zip(names, row, strict=True)) if there else None for there, *row in rows]


def _maps(array: Any) -> list[Any]:
    bounds, keys = list_parts(array)
    first = array.offsets[0].as_py()
    items = values_of(array.items.slice(first, len(keys)))
    pairs = list(zip(values_of(keys), items, strict=True))
    try:
        return [None if some is None else dict(some) for some in _cut(array, bounds, pairs)]
    except TypeError:
        raise EventError("the keys of a map are strings, found objects or lists") from None


def _unions(array: Any) -> list[Any]:
    children = [values_of(array.field(place)) for place in range(array.type.num_fields)]
    place_of = {code: place for place, code in enumerate(array.type.type_codes)}
    dense = array.type.mode == "dense"
    rows = array.offsets.to_pylist() if dense else range(len(array))
    codes = array.type_codes.to_pylist()
    return [children[place_of[code]][row] for code, row in zip(codes, rows, strict=True)]


def _texts(array: Any) -> list[Any]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        held = array.cast(pa.large_binary()).to_pylist()
        return [None if some is None else some.decode("utf-8", "surrogateescape") for some in held]


def _times(array: Any) -> list[Any]:
    """Times and durations; an interval is bytes, as it is of no family."""
    if pa.types.is_interval(array.type):
        return [None if value is None else str(value).encode() for value in array.to_pylist()]
    try:
        return list(array.to_pylist())
    except Exception:  # beyond Python's range, finer than its steps, or of a zone it has not
        return _of_numpy(array)


def _of_numpy(array: Any) -> list[Any]:
    kind = array.type
    if pa.types.is_date32(kind):
        letter, unit, ticks = "M", "D", array.cast(pa.int32())
    else:
        letter = "M" if pa.types.is_timestamp(kind) else "m"
        wide = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        unit, ticks = kind.unit, array.cast(wide)
    scalar = np.datetime64 if letter == "M" else np.timedelta64
    return [None if tick is None else scalar(tick, unit) for tick in ticks.to_pylist()]
