"""Arrow arrays to arrays of plain types, and to Python values.

A type that only encodes another one (dictionaries, runs, list views, extensions) becomes the other
one, chunk by chunk and at every depth, because Arrow's own kernels lose values of some of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array
from matchwood.language.errors import EventError

# Types, by number, that hold no others and encode none. Most columns have one of these, and a table
# may have thousands of columns.
_SIMPLE = frozenset(
    kind.id
    for kind in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(),
        pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
        pa.string(), pa.large_string(), pa.date32(), pa.timestamp("ns"),
    )
)  # fmt: skip

# Milliseconds of a day.
_DAY_MS = 86_400_000

# The range of days that a date32 holds.
_DAYS = np.iinfo(np.int32)


def is_list(kind: pa.DataType) -> bool:
    """Whether the values of an array of this type are lists, one after the other."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_any_list(kind: pa.DataType) -> bool:
    return is_list(kind) or _is(kind, "list_view") or _is(kind, "large_list_view")


def only_rows_tell(kind: pa.DataType) -> bool:
    """Whether values of a type can only be read row by row: maps, unions, lists of objects.

    Ask this before anything else is done with an array: Arrow's kernels may crash the process.
    """
    if kind.id in _SIMPLE:
        return False
    kind = _meant(kind)
    types = pa.types
    if types.is_struct(kind):
        return any(only_rows_tell(kind.field(index).type) for index in range(kind.num_fields))
    if _is_any_list(kind):
        return bool(types.is_nested(_meant(kind.value_type)))
    return bool(types.is_map(kind) or types.is_union(kind))


def _meant(kind: pa.DataType) -> pa.DataType:
    """The type that another one encodes."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's string types."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or _is(kind, "string_view"))


def _is(kind: pa.DataType, name: str) -> bool:
    """Whether a type is one with this name, which older versions of pyarrow may not have."""
    known = getattr(pa.types, f"is_{name}", None)
    return known is not None and bool(known(kind))


def one_array(column: Any) -> Any:
    """A column as one array; an empty array if it has no chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)  # which `combine_chunks` would copy
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # without chunks, or too large for one array
        array = pa.concat_arrays(array.chunks) if array.chunks else pa.array([], array.type)
    return array


# Plain types


def decoded(column: Any) -> Any:
    """The values of a column in one array of a plain type."""
    encodes = _encodes(column.type)
    if not encodes and not isinstance(column, pa.ChunkedArray):
        return column
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    try:
        return (
            _joined([_decode(chunk) for chunk in chunks], column) if encodes else one_array(column)
        )
    except pa.ArrowInvalid:  # dictionaries of strings with nulls, which Arrow cannot concatenate
        return _joined([_decode(chunk, True) for chunk in chunks], column)


def _joined(chunks: list[Any], column: Any) -> Any:
    if not chunks:
        return _decode(pa.array([], column.type))
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def takeable(column: Any) -> Any:
    """A column as one array that supports `take`."""
    kind = column.type
    if _is_view(kind) or pa.types.is_run_end_encoded(kind) or pa.types.is_dictionary(kind):
        array = decoded(column)
        return _decode(array) if _is_view(array.type) else array
    return one_array(column)


def _is_view(kind: pa.DataType) -> bool:
    return _is(kind, "string_view") or _is(kind, "binary_view")


def _encodes(kind: pa.DataType, texts: bool = False) -> bool:
    """Whether a type encodes another one, at any depth; views count if they are inside others.

    A dictionary of strings counts only with `texts`.
    """
    if kind.id in _SIMPLE:
        return False
    types = pa.types
    if types.is_dictionary(kind):
        return texts or not (
            types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
        )
    if (
        isinstance(kind, pa.BaseExtensionType)
        or types.is_run_end_encoded(kind)
        or types.is_date64(kind)
        or (_is_any_list(kind) and not is_list(kind))
    ):
        return True
    inner = []
    if types.is_struct(kind):
        inner = [kind.field(index).type for index in range(kind.num_fields)]
    elif is_list(kind):
        inner = [kind.value_type]
    return any(_encodes(child, texts) or _is_view(child) for child in inner)


def _decode(array: Any, texts: bool = False) -> Any:
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _decode(_stored(array), texts)
    if _is(kind, "string_view"):
        return array.cast(pa.large_string())
    if _is(kind, "binary_view"):
        return array.cast(pa.large_binary())
    if not _encodes(kind, texts):
        return array
    if types.is_dictionary(kind):
        return _decode(array.dictionary, texts).take(array.indices)
    if types.is_run_end_encoded(kind):
        return _decode(array.values, texts).take(pa.array(_runs(array)))
    if types.is_date64(kind):
        return _days(array)
    if types.is_struct(kind):
        fields = [kind.field(index).name for index in range(kind.num_fields)]
        children = [_decode(array.field(index), texts) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields, mask=pc.is_null(array))
    return _decode_lists(array, texts)


def _stored(array: Any) -> Any:
    """The values that an extension array stores; booleans that are stored as bytes are cast."""
    storage = array.storage
    return storage.cast(pa.bool_()) if array.type.extension_name == "arrow.bool8" else storage


def _runs(array: Any) -> NDArray[np.intp]:
    """The index of the run that each row belongs to."""
    rows = np.arange(array.offset, array.offset + len(array))
    return np.searchsorted(array.run_ends.to_numpy(), rows, "right")


def _days(array: Any) -> Any:
    """Dates in milliseconds as dates in days, without the time of day."""
    ticks = array.cast(pa.int64())
    ticks = (ticks.fill_null(0) if ticks.null_count else ticks).to_numpy(zero_copy_only=False)
    days = np.clip(ticks // _DAY_MS, _DAYS.min, _DAYS.max).astype(np.int32)
    return pa.array(days, mask=np.asarray(array.is_null())).cast(pa.date32())


def _decode_lists(array: Any, texts: bool) -> Any:
    if is_list(array.type):
        bounds, values = list_parts(array)
        inner = _decode(values, texts)
    else:
        bounds, indexes = _view_parts(array)
        inner = _decode(array.values, texts).take(pa.array(indexes))
    return pa.LargeListArray.from_arrays(pa.array(bounds), inner, mask=pc.is_null(array))


def _view_parts(array: Any) -> tuple[Int64Array, Int64Array]:
    """(bounds, indexes into its values) of an array of list views."""
    sizes = np.where(np.asarray(array.is_valid()), np.asarray(array.sizes), 0).astype(np.int64)
    bounds = np.r_[0, np.cumsum(sizes)]
    first = np.asarray(array.offsets)[: len(array)].astype(np.int64)
    return bounds, np.arange(bounds[-1]) + np.repeat(first - bounds[:-1], sizes)


def list_parts(array: Any) -> tuple[Int64Array, Any]:
    """(bounds, values) of an array of lists; a null may have values too."""
    kind = array.type
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
    """Raise an EventError if two columns have the same name, which a row cannot tell apart."""
    if len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise EventError("two columns have this name: rename one, or leave it out", twice)


def values_of(column: Any) -> list[Any]:
    """The values of a column as Python values.

    A time outside Python's range is a NumPy datetime. If a key of a map is repeated, the last one
    counts. A string that is not valid UTF-8 becomes a string that is not valid Unicode, which is
    refused when a rule needs it.
    """
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in values_of(chunk)]
    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return values_of(_stored(column))
    if types.is_struct(kind):
        return _objects(column)
    if types.is_map(kind):
        return _maps(column)
    if is_list(kind):
        bounds, elements = list_parts(column)
        return _cut(column, bounds, values_of(elements))
    if _is_any_list(kind):
        bounds, indexes = _view_parts(column)
        values = values_of(column.values)
        return _cut(column, bounds, [values[index] for index in indexes.tolist()])
    if types.is_union(kind):
        return _unions(column)
    if types.is_dictionary(kind):
        return _from_dictionary(column)
    if types.is_run_end_encoded(kind):
        runs = _runs(column)
        first = int(runs[0]) if len(runs) else 0
        values = values_of(
            column.values.slice(first, int(runs[-1]) + 1 - first if len(runs) else 0)
        )
        return [values[run - first] for run in runs.tolist()]
    if is_text(kind):
        return _texts(column)
    if types.is_temporal(kind) or types.is_interval(kind):
        return _times(column)
    return list(column.to_pylist())


def _from_dictionary(array: Any) -> list[Any]:
    """The values of a dictionary array; of a large dictionary, only those that are used."""
    indexes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    dictionary = array.dictionary
    kind = dictionary.type
    takes = not pa.types.is_nested(kind) and not _is_view(kind) and _meant(kind) == kind
    if takes and len(dictionary) > len(array):
        used, indexes = np.unique(indexes, return_inverse=True)
        missing = int(len(used) > 0 and used[0] < 0)
        values = [*[None] * missing, *values_of(dictionary.take(pa.array(used[missing:])))]
    else:
        values = [*values_of(dictionary), None]
    return [values[index] for index in indexes.tolist()]


def _cut(array: Any, bounds: Any, values: list[Any]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    ends = bounds.tolist()
    cuts = zip(valid, ends[:-1], ends[1:], strict=True)
    return [values[low:high] if is_valid else None for is_valid, low, high in cuts]


def _objects(array: Any) -> list[Any]:
    names = [array.type.field(index).name for index in range(array.type.num_fields)]
    check_names(names)
    if not names:
        return [{} if is_valid else None for is_valid in array.is_valid().to_pylist()]
    children = [values_of(array.field(index)) for index in range(len(names))]
    rows = zip(array.is_valid().to_pylist(), *children, strict=True)
    return [dict(zip(names, row, strict=True)) if is_valid else None for is_valid, *row in rows]


def _maps(array: Any) -> list[Any]:
    bounds, keys = list_parts(array)
    first = array.offsets[0].as_py()
    items = values_of(array.items.slice(first, len(keys)))
    pairs = list(zip(values_of(keys), items, strict=True))
    try:
        return [
            None if entries is None else dict(entries) for entries in _cut(array, bounds, pairs)
        ]
    except TypeError:
        raise EventError("the keys of a map are strings, found objects or lists") from None


def _unions(array: Any) -> list[Any]:
    children = [values_of(array.field(index)) for index in range(array.type.num_fields)]
    child_of = {code: index for index, code in enumerate(array.type.type_codes)}
    _, type_codes, *offsets = array.buffers()[: 3 if array.type.mode == "dense" else 2]
    codes = _buffer(type_codes, np.int8, array)  # those of pyarrow ignore that an array is a slice
    rows = _buffer(offsets[0], np.int32, array) if offsets else range(len(array))
    return [children[child_of[code]][row] for code, row in zip(codes, rows, strict=True)]


def _buffer(buffer: Any, kind: Any, array: Any) -> list[int]:
    count = array.offset + len(array)
    numbers = (
        np.frombuffer(buffer, kind, count)[array.offset :] if len(array) else np.empty(0, kind)
    )
    values: list[int] = numbers.tolist()
    return values


def _texts(array: Any) -> list[Any]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        values = array.cast(pa.large_binary()).to_pylist()
        return [
            None if value is None else value.decode("utf-8", "surrogateescape") for value in values
        ]


def _times(array: Any) -> list[Any]:
    """Times and durations; an interval becomes bytes, which are of no family."""
    if pa.types.is_date64(array.type):
        array = _days(array)
    if pa.types.is_interval(array.type):
        return [None if value is None else str(value).encode() for value in array.to_pylist()]
    try:
        return list(array.to_pylist())
    except Exception:  # outside Python's range, too fine, or in an unknown zone
        return _of_numpy(array)


def _of_numpy(array: Any) -> list[Any]:
    kind = array.type
    if pa.types.is_date32(kind):
        made, ticks = np.dtype("M8[D]"), array.cast(pa.int32())
    else:
        letter = "M" if pa.types.is_timestamp(kind) else "m"
        wide = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        made, ticks = np.dtype(f"{letter}8[{kind.unit}]"), array.cast(wide)
    return [None if tick is None else np.int64(tick).astype(made) for tick in ticks.to_pylist()]
