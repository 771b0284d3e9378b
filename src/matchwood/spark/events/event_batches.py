"""Events from Arrow batches, on the executors: attributes are kept as columns if possible.

Rows that cannot be read are listed with the reason, and the other rows are matched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.arrow.making import plain_array
from matchwood.arrow.reading import is_list, rows_of, values_of
from matchwood.language.aliases import Aliases
from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.language.values import is_text
from matchwood.match.batch.codes.column_codes import attributes_of_table
from matchwood.match.json.json_text import event_of
from matchwood.schema import Schema
from matchwood.spark.events.event_attributes import COLUMNS, MAP, Reading

# Why an event that is null is rejected.
NULL_EVENT = "the event is null"
# Batches are joined until they have this many events.
GATHERED_EVENTS = 16_384
# Types of JSON values that need no check.
_PLAIN = {str, int, float, bool, type(None)}
# JSON objects become columns if they have on average at least one in this many of the attributes.
_SPARSE = 4
# Characters of the longest JSON text whose values are not checked one by one.
_LONGEST_PLAIN = 100_000


class ReadEvents(NamedTuple):
    """The events of a batch that can be read, and the rows that cannot, with the reason."""

    events: Any  # a table, or a list of dicts
    rows: NDArray[np.int64] | None  # their row numbers in the batch; None for all rows
    rejected: list[tuple[int, str]]


def read_events(table: Any, reading: Reading) -> ReadEvents:
    """The events of a table, as a `Reading` describes them."""
    read = _read(table, reading)
    return read if reading.schema is None else _enforced(read, reading.schema, reading.aliases)


def _read(table: Any, reading: Reading) -> ReadEvents:
    if reading.form == COLUMNS:
        return _columns(table.select(list(reading.attributes)))
    events = one_array(table.column(0))
    if reading.form == MAP:
        return _maps(events, reading.wanted)
    return _texts(values_of(events), reading.wanted)


def _enforced(read: ReadEvents, schema: Schema, aliases: Aliases | None) -> ReadEvents:
    """Reject the events that break the schema too, with everything that they break."""
    rows = read.events if isinstance(read.events, list) else _rows(read.events)
    reasons = [_broken(row, schema, aliases) for row in rows]
    if not any(reasons):
        return read
    good = np.array([index for index, reason in enumerate(reasons) if not reason], np.int64)
    numbers = np.arange(len(rows)) if read.rows is None else read.rows
    broken = [(number, why) for number, why in zip(numbers.tolist(), reasons, strict=True) if why]
    if isinstance(read.events, list):
        events: Any = [rows[index] for index in good.tolist()]
    else:
        events = read.events.take(pa.array(good))
    return ReadEvents(events, numbers[good], sorted([*read.rejected, *broken]))


def _broken(row: Any, schema: Schema, aliases: Aliases | None) -> str:
    """What a row breaks of a schema; '' if it breaks nothing."""
    if isinstance(row, EventError):
        return str(row)
    try:
        return "; ".join(map(str, schema.check_event(Event(row, aliases))))
    except EventError as error:
        return str(error)


def _columns(table: Any) -> ReadEvents:
    if not table.num_columns:
        return ReadEvents([{}] * table.num_rows, None, [])
    twice = len(set(table.column_names)) < table.num_columns
    if not twice and _sound(table) and attributes_of_table(table.slice(0, 0)) is not None:
        return ReadEvents(table, None, [])
    return checked(_rows(table))


def _sound(array: Any) -> bool:
    """Whether the data is valid for its types: Spark accepts any bytes as a string."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _rows(table: Any) -> list[Any]:
    """Rows as Python values; a row that cannot be converted is replaced by its error."""
    try:
        return rows_of(table)
    except EventError:
        return [_row(table.slice(number, 1)) for number in range(table.num_rows)]


def _row(table: Any) -> Any:
    try:
        return rows_of(table)[0]
    except EventError as error:
        return error


def checked(rows: Sequence[Any], plain: Sequence[bool] | None = None) -> ReadEvents:
    """The rows that can be read, and those that cannot; plain rows need no check."""
    good, numbers, rejected = [], [], []
    for number, row in enumerate(rows):
        problem = None if plain is not None and plain[number] else _problem(row)
        if problem is None:
            good.append(row)
            numbers.append(number)
        else:
            rejected.append((number, problem))
    return ReadEvents(good, np.array(numbers, np.int64) if rejected else None, rejected)


def _problem(row: Any) -> str | None:
    """Why a row is not an event, with all its attributes read; None if it is one."""
    if isinstance(row, EventError):
        return str(row)
    if row is None:
        return NULL_EVENT
    try:
        event = Event(row)
        for name in event.raw:
            event[name]
    except EventError as error:
        return str(error)
    return None


# Maps


def _maps(maps: Any, wanted: Sequence[str] | None) -> ReadEvents:
    value = maps.type.item_type
    if is_list(value):
        value = value.value_type
    if pa.types.is_nested(value) or not _sound(maps):
        return checked(values_of(maps))
    if not maps.null_count:
        return ReadEvents(_map_table(maps, wanted), None, [])
    rows = np.flatnonzero(np.asarray(maps.is_valid()))
    rejected = [(row, NULL_EVENT) for row in np.flatnonzero(np.asarray(maps.is_null())).tolist()]
    table = _map_table(maps.take(pa.array(rows)), wanted)
    return ReadEvents(table, rows, rejected)


def _map_table(maps: Any, wanted: Sequence[str] | None) -> Any:
    """A table with one column per attribute."""
    offsets = np.asarray(maps.offsets).astype(np.int64)
    low, high = int(offsets[0]), int(offsets[-1])
    keys, items = maps.keys[low:high], maps.items[low:high]
    names = pc.unique(keys) if wanted is None else pa.array(wanted, keys.type)
    codes = pc.index_in(keys, names).fill_null(-1).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(maps)), np.diff(offsets))
    columns = {}
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for number, name in enumerate(names.to_pylist()):
        entries = order[bounds[number] : bounds[number + 1]]
        if len(entries):
            entry_of_row = np.full(len(maps), -1)
            entry_of_row[rows[entries]] = entries
            columns[name] = items.take(pa.array(entry_of_row, mask=entry_of_row < 0))
    return pa.table(columns) if columns else [{}] * len(maps)


# JSON texts


def _texts(texts: Sequence[str | bytes | None], wanted: Sequence[str] | None) -> ReadEvents:
    rows = [_parsed(text) for text in texts]
    plain = [_is_plain(row, text) for row, text in zip(rows, texts, strict=True)]
    read = ReadEvents(rows, None, []) if all(plain) else checked(rows, plain)
    return read._replace(events=_table(read.events, wanted))


def _parsed(text: str | bytes | None) -> Any:
    """The object of a JSON text, or an EventError that says why there is none."""
    if text is None:
        return EventError(NULL_EVENT)
    if isinstance(text, bytes):
        try:
            return event_of(text)
        except EventError as error:
            return error
    if not is_text(text):
        return EventError("the text is not valid UTF-8")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return EventError(f"not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return EventError(f"not JSON that can be read: {error}")
    if type(value) is not dict:
        return EventError(f"an event is an object, found {type(value).__name__}")
    return value


def _is_plain(row: Any, text: str | bytes | None) -> bool:
    """Whether a row needs no check: it has only scalars and lists of them, without escapes."""
    if (
        type(row) is not dict
        or not isinstance(text, str)
        or len(text) > _LONGEST_PLAIN
        or "\\u" in text
    ):
        return False
    for value in row.values():
        kind = type(value)
        if kind not in _PLAIN and (kind is not list or not _PLAIN.issuperset(map(type, value))):
            return False
    return True


def _prefixes(name: str) -> list[str]:
    """The keys that may hold an attribute: for a.b these are a and a.b."""
    return [name[:end] for end, letter in enumerate(name) if letter == "."] + [name]


def _table(rows: list[dict[str, Any]], wanted: Sequence[str] | None) -> Any:
    """The attributes that rules mention as columns, or the rows if columns cannot hold them."""
    if wanted is None or not rows:
        return rows
    names = {part for name in wanted for part in _prefixes(name)}
    if len(names) * len(rows) > _SPARSE * sum(map(len, rows)):
        return rows
    columns = {}
    for name in sorted(names):
        array = plain_array([row.get(name) for row in rows])
        if array is None:
            return rows
        if array.null_count < len(array):
            columns[name] = array
    table = pa.table(columns)
    return table if columns and attributes_of_table(table.slice(0, 0)) is not None else rows


def gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """Join batches into tables of enough events to be swept together."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= GATHERED_EVENTS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def kept_columns(table: Any, reading: Reading) -> list[Any]:
    """The columns to keep, each as one array."""
    if reading.form == COLUMNS:
        chosen = [table.column(name) for name in reading.keep]
    else:
        chosen = [table.column(1 + number) for number in range(len(reading.keep))]
    return [one_array(column) for column in chosen]


def one_array(column: Any) -> Any:
    """A column as one array."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.chunks else pa.array([], array.type)
    return array
