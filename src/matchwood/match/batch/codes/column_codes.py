"""Columns of Arrow data to codes: each distinct value is looked up once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.arrow.reading import (
    check_names,
    decoded,
    is_list,
    is_text,
    list_parts,
    only_rows_tell,
    values_of,
)
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.records import MISSING, NO_MOMENT, OTHER
from matchwood.language.errors import EventError
from matchwood.language.subjects import lower_case
from matchwood.language.values import Family, Time, Value, in_range, read
from matchwood.language.values import is_text as sound
from matchwood.match.batch.codes.address_codes import NOT_READ, address_codes
from matchwood.match.batch.codes.card_columns import (
    ColumnOfCodes,
    LookedUpCodes,
    Moments,
    as_array,
    moment_table,
)
from matchwood.match.batch.codes.number_columns import NumberColumns, is_number
from matchwood.match.event.encode import Coder

# Nanoseconds per unit of an Arrow timestamp.
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

# Nanoseconds per day.
_DAY = 86_400 * 1_000_000_000

# The last moment that 64 bits hold.
_LAST_MOMENT = (1 << 63) - 1


class EncodedColumn(NamedTuple):
    """The codes of a column: of single values, or of lists (bounds into the codes)."""

    main: ColumnOfCodes
    time: ColumnOfCodes | None
    bounds: NDArray[np.int64] | None = None
    there: NDArray[np.bool_] | None = None  # of lists: whether the row has one
    distinct: list[str] | None = None  # of strings: the distinct values
    which: Int32Array | None = None  # of strings: the distinct value of each row, -1 for none


def attributes_of(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Every attribute of a table as a column of a plain type; None if rows must be read.

    That is so for lists of objects, maps, unions, and where a row may spell an attribute two ways.
    """
    if any(only_rows_tell(column.type) for column in columns.values()):
        return None
    attributes: dict[str, Any] = {}
    todo = list(columns.items())
    while todo:
        name, column = todo.pop()
        column = decoded(column)
        if name in attributes:
            return None
        attributes[name] = column
        kind = column.type
        if pa.types.is_struct(kind):
            todo.extend(
                (f"{name}.{kind.field(i).name}", child) for i, child in enumerate(column.flatten())
            )
    return attributes


def attributes_of_table(table: pa.Table) -> dict[str, Any] | None:
    """`attributes_of` the columns of an Arrow table."""
    check_names(table.column_names)
    return attributes_of(dict(zip(table.column_names, table.columns, strict=True)))


def misspelt(attributes: Mapping[str, Any], first: int) -> EventError | None:
    """The error for columns in which some row has a string that is not UTF-8.

    `first` is the number of their first row. None if no row refers to such a string.
    """
    for name, column in attributes.items():
        for row, value in enumerate(values_of(column)):
            texts = value if isinstance(value, list) else [value]
            if any(isinstance(text, str) and not sound(text) for text in texts):
                return EventError(f"row {first + row}: a string is not valid UTF-8", name)
    return None


def code_column(column: Any, coder: Coder, strings: bool) -> EncodedColumn:
    """The codes of an attribute's column; with `strings` also its distinct values, for patterns."""
    if is_list(column.type):
        return _code_lists(column, coder)
    return _code_values(column, coder, strings)


def _code_lists(column: Any, coder: Coder) -> EncodedColumn:
    offsets, values = list_parts(column)
    inner = _code_values(values, coder, False)
    codes = as_array(inner.main)
    main = np.where(codes == MISSING, OTHER, codes).astype(np.int32)
    time = None if inner.time is None else as_array(inner.time)
    is_valid = np.asarray(column.is_valid())
    return EncodedColumn(main, time, offsets, is_valid)


class DistinctElements(NamedTuple):
    """The elements of a column of lists, each distinct one once."""

    distinct: list[Value]
    which: NDArray[np.int64]  # the distinct value of each element, -1 for null
    bounds: NDArray[np.int64]  # of each row's elements in `which`
    rows: Int32Array  # the row itself, -1 where it has no list


def distinct_elements(column: Any) -> DistinctElements | None:
    """The elements of a column of lists; None if rows must be read one by one."""
    bounds, values = list_parts(column)
    types = pa.types
    kind = values.type.value_type if types.is_dictionary(values.type) else values.type
    if not (is_text(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        return None
    if not types.is_dictionary(values.type):
        values = pc.dictionary_encode(values)
    indices = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    rows = np.arange(len(column), dtype=np.int32)
    rows[~np.asarray(column.is_valid())] = -1
    return DistinctElements(
        [read(value) for value in values.dictionary.to_pylist()], indices, bounds, rows
    )


def _code_values(column: Any, coder: Coder, strings: bool) -> EncodedColumn:
    if coder.lowers:
        column = lower_column(column)
    kind = column.type
    types = pa.types
    if types.is_null(kind):
        return _constant(column, coder, MISSING)
    if is_number(kind):
        return _code_numbers(column, coder)
    if types.is_dictionary(kind) or is_text(kind):
        return _code_dictionary(column, coder, strings)
    if types.is_boolean(kind) or types.is_decimal(kind):
        return _code_dictionary(column, coder, False)
    if types.is_date(kind) or types.is_timestamp(kind):
        return _code_times(column, coder)
    return _constant(column, coder, OTHER)


def lower_column(column: Any) -> Any:
    """A column in lower case: each distinct string once, and anything else without a family."""
    kind, types = column.type, pa.types
    if types.is_null(kind):
        return column
    if types.is_dictionary(kind) or is_text(kind):
        if not types.is_dictionary(kind):
            column = pc.dictionary_encode(column)
        texts = column.dictionary.to_pylist()
        lower = [None if text is None else lower_case(text) for text in texts]
        return pa.DictionaryArray.from_arrays(column.indices, pa.array(lower, pa.large_string()))
    there = np.asarray(column.is_valid())
    if types.is_floating(kind):
        there &= ~np.asarray(pc.is_nan(column).fill_null(False))
    return pa.array(np.zeros(len(column), "m8[s]"), mask=~there)  # durations have no family


def _constant(column: Any, coder: Coder, code: int) -> EncodedColumn:
    codes = np.full(len(column), code, np.int32)
    codes[~np.asarray(column.is_valid())] = MISSING
    return EncodedColumn(codes, np.zeros(len(column), np.int32) if coder.time_slot >= 0 else None)


def _code_numbers(column: Any, coder: Coder) -> EncodedColumn:
    codes = np.empty((1, len(column)), np.int32)
    NumberColumns([(column, coder)]).write(0, len(column), codes)
    return EncodedColumn(
        codes[0], np.zeros(len(column), np.int32) if coder.time_slot >= 0 else None
    )


def _code_dictionary(column: Any, coder: Coder, strings: bool) -> EncodedColumn:
    """The codes of a column, of which each distinct value is looked up once."""
    if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    dictionary = column.dictionary
    indices = column.indices.cast(pa.int64())  # they may be unsigned
    value_of_row = indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    values = dictionary.to_pylist()
    if is_text(dictionary.type):
        return _code_texts(dictionary, values, value_of_row, coder, strings)
    seen = [read(value) for value in values]
    main = np.array([_main(coder, value) for value in seen] + [MISSING], np.int32)
    time = None
    if coder.time_slot >= 0:
        codes = [coder.time_code(value.family, value.value) for value in seen] + [MISSING]
        time = LookedUpCodes(np.array(codes, np.int32), value_of_row)
    return EncodedColumn(LookedUpCodes(main, value_of_row), time)


def _code_texts(
    dictionary: Any,
    values: list[str | None],
    value_of_row: Int32Array,
    coder: Coder,
    strings: bool,
) -> EncodedColumn:
    """The codes of strings, which Arrow knows to be valid."""
    null = [value is None for value in values]
    texts = [value or "" for value in values]
    exact = coder.exact.get(Family.STRING)
    if exact is None:
        codes = [OTHER] * len(texts)
    else:
        first, constants = coder.first[Family.STRING], coder.sorted[Family.STRING]
        find = exact.get
        codes = [find(text) or first + 2 * bisect_left(constants, text) for text in texts]
    gone = np.array([*null, True])
    main = np.array([*codes, MISSING], np.int32)
    main[gone] = MISSING
    time = None
    if coder.time_slot >= 0:
        seconds = np.append(_second_codes(dictionary, texts, coder), MISSING)
        seconds[gone] = MISSING
        time = LookedUpCodes(seconds.astype(np.int32), value_of_row)
    looked_up = LookedUpCodes(main, value_of_row)
    if not strings:
        return EncodedColumn(looked_up, time)
    return EncodedColumn(
        looked_up,
        time,
        None,
        None,
        texts,
        np.where(gone[value_of_row], -1, value_of_row).astype(np.int32),
    )


def _second_codes(dictionary: Any, texts: list[str], coder: Coder) -> NDArray[np.int64]:
    """The codes of strings that are read as times or as network addresses."""
    assert coder.time is not None
    codes = address_codes(dictionary, coder.time)
    for place in np.flatnonzero(codes == NOT_READ).tolist():
        codes[place] = coder.time_code(Family.STRING, texts[place])
    return codes


def _main(coder: Coder, value: Value) -> int:
    return MISSING if value == (None, None) else coder.code(value.family, value.value)


def _code_times(column: Any, coder: Coder) -> EncodedColumn:
    main = as_array(_constant(column, coder, OTHER).main)
    if coder.time_slot < 0:
        return EncodedColumn(main, None)
    kind = column.type
    if pa.types.is_timestamp(kind):
        scale = _UNITS[kind.unit]
        ticks = column.cast(pa.int64())
    else:
        scale, ticks = _DAY, column.cast(pa.int32())
    filled = (ticks.fill_null(0) if ticks.null_count else ticks).to_numpy(zero_copy_only=False)
    if len(filled) and -_LAST_MOMENT <= scale * int(filled.min()) <= scale * int(filled.max()) <= (
        _LAST_MOMENT
    ):
        moments = filled.astype(np.int64) * scale
        moments[~np.asarray(column.is_valid())] = NO_MOMENT
        return EncodedColumn(main, Moments(moments, moment_table(coder)))
    distinct, value_of_row = np.unique(filled, return_inverse=True)
    assert coder.time is not None
    codes = []
    for tick in distinct.tolist():
        moment: Time | None = in_range(tick * scale)
        codes.append(MISSING if moment is None else coder.time_code(Family.TIME, moment))
    time = np.array(codes, np.int32)[value_of_row]
    time[~np.asarray(column.is_valid())] = MISSING
    return EncodedColumn(main, time.astype(np.int32))
