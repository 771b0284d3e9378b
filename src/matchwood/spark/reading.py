"""Events out of Arrow batches, on the executors: attributes as columns, where that is possible.

What cannot be read is said row by row, and the rest goes on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.arrow.making import plain_array
from matchwood.arrow.reading import is_list, rows_of, values_of
from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.language.values import is_text
from matchwood.match.columns import attributes_of_table
from matchwood.schema import Schema
from matchwood.spark.attributes import COLUMNS, MAP, Reading

NULL = "the event is null"
_PLAIN = {str, int, float, bool, type(None)}
_SPARSE = 4  # columns are worth it where an event has at least one in so many of them


class Read(NamedTuple):
    """The events of a batch that can be read, and the rows that cannot, with the reason."""

    events: Any  # a table, or a list of dicts
    rows: NDArray[np.int64] | None  # which rows of the batch they are; None: all
    rejected: list[tuple[int, str]]


def read_events(table: Any, reading: Reading) -> Read:
    """The events of a table as `Reading` says."""
    read = _read(table, reading)
    return read if reading.schema is None else _held_to(read, reading.schema)


def _read(table: Any, reading: Reading) -> Read:
    if reading.form == COLUMNS:
        return _columns(table.select(list(reading.attributes)))
    held = table.column(0).combine_chunks()
    if isinstance(held, pa.ChunkedArray):
        held = pa.concat_arrays(held.chunks) if held.chunks else pa.array([], held.type)
    if reading.form == MAP:
        return _maps(held, reading.wanted)
    return _texts(values_of(held), reading.wanted)


def _held_to(read: Read, schema: Schema) -> Read:
    """Those that break the schema are rejected as well, with all that they break."""
    rows = read.events if isinstance(read.events, list) else _rows(read.events)
    reasons = [_broken(row, schema) for row in rows]
    if not any(reasons):
        return read
    good = np.array([place for place, reason in enumerate(reasons) if not reason], np.int64)
    numbers = np.arange(len(rows)) if read.rows is None else read.rows
    broken = [(number, why) for number, why in zip(numbers.tolist(), reasons, strict=True) if why]
    if isinstance(read.events, list):
        events: Any = [rows[place] for place in good.tolist()]
    else:
        events = read.events.take(pa.array(good))
    return Read(events, numbers[good], sorted([*read.rejected, *broken]))


def _broken(row: Any, schema: Schema) -> str:
    """What of a schema a row breaks; '' where it does not."""
    if isinstance(row, EventError):
        return str(row)
    try:
        return "; ".join(map(str, schema.check_event(row)))
    except EventError as error:
        return str(error)


def _columns(table: Any) -> Read:
    if not table.num_columns:
        return Read([{}] * table.num_rows, None, [])
    twice = len(set(table.column_names)) < table.num_columns
    if not twice and _sound(table) and attributes_of_table(table.slice(0, 0)) is not None:
        return Read(table, None, [])
    return checked(_rows(table))


def _sound(held: Any) -> bool:
    """Whether data is what its types say: Spark lets any bytes be a string."""
    try:
        held.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _rows(table: Any) -> list[Any]:
    """Rows as Python values; in the place of one that cannot be had, its error."""
    try:
        return rows_of(table)
    except EventError:
        return [_row(table.slice(place, 1)) for place in range(table.num_rows)]


def _row(table: Any) -> Any:
    try:
        return rows_of(table)[0]
    except EventError as error:
        return error


def checked(rows: Sequence[Any], plain: Sequence[bool] | None = None) -> Read:
    """Rows as they are, but those that cannot be read; plain ones are known to be good."""
    good, numbers, rejected = [], [], []
    for number, row in enumerate(rows):
        problem = None if plain is not None and plain[number] else _problem(row)
        if problem is None:
            good.append(row)
            numbers.append(number)
        else:
            rejected.append((number, problem))
    return Read(good, np.array(numbers, np.int64) if rejected else None, rejected)


def _problem(row: Any) -> str | None:
    """Why a row is no event, from end to end; None where it is one."""
    if isinstance(row, EventError):
        return str(row)
    if row is None:
        return NULL
    try:
        seen = Event(row)
        for name in seen.raw:
            seen[name]
    except EventError as error:
        return str(error)
    return None


# Maps


def _maps(held: Any, wanted: Sequence[str] | None) -> Read:
    value = held.type.item_type
    if is_list(value):
        value = value.value_type
    if pa.types.is_nested(value) or not _sound(held):
        return checked(values_of(held))
    if not held.null_count:
        return Read(_map_table(held, wanted), None, [])
    rows = np.flatnonzero(np.asarray(held.is_valid()))
    rejected = [(row, NULL) for row in np.flatnonzero(np.asarray(held.is_null())).tolist()]
    table = _map_table(held.take(pa.array(rows)), wanted)
    return Read(table, rows, rejected)


def _map_table(held: Any, wanted: Sequence[str] | None) -> Any:
    """A column a name: for each row, which entry has it."""
    offsets = np.asarray(held.offsets).astype(np.int64)
    low, high = int(offsets[0]), int(offsets[-1])
    keys, items = held.keys[low:high], held.items[low:high]
    names = pc.unique(keys) if wanted is None else pa.array(wanted, keys.type)
    codes = pc.index_in(keys, names).fill_null(-1).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(held)), np.diff(offsets))
    columns = {}
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for number, name in enumerate(names.to_pylist()):
        entries = order[bounds[number] : bounds[number + 1]]
        if len(entries):
            place = np.full(len(held), -1)
            place[rows[entries]] = entries
            columns[name] = items.take(pa.array(place, mask=place < 0))
    return pa.table(columns) if columns else [{}] * len(held)


# JSON texts


def _texts(texts: Sequence[str | None], wanted: Sequence[str] | None) -> Read:
    rows = [_parsed(text) for text in texts]
    plain = [_is_plain(row, text) for row, text in zip(rows, texts, strict=True)]
    read = Read(rows, None, []) if all(plain) else checked(rows, plain)
    return read._replace(events=_table(read.events, wanted))


def _parsed(text: str | None) -> Any:
    """The object of a JSON text, or why there is none."""
    if text is None:
        return EventError(NULL)
    if not is_text(text):
        return EventError("the text is not valid UTF-8")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        return EventError(f"not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return EventError(f"not JSON that can be read: {error}")
    if type(found) is not dict:
        return EventError(f"an event is an object, found {type(found).__name__}")
    return found


def _is_plain(row: Any, text: str | None) -> bool:
    """Whether nothing in a row can be wrong: single values and lists of them, no escapes."""
    if type(row) is not dict or text is None or len(text) > 100_000 or "\\u" in text:
        return False
    for value in row.values():
        kind = type(value)
        if kind not in _PLAIN and (kind is not list or not _PLAIN.issuperset(map(type, value))):
            return False
    return True


def _prefixes(name: str) -> list[str]:
    """The keys that may hold an attribute: of a.b, a and a.b."""
    return [name[:end] for end, letter in enumerate(name) if letter == "."] + [name]


def _table(rows: list[dict[str, Any]], wanted: Sequence[str] | None) -> Any:
    """The rows as columns of what rules mention; as they are where columns cannot hold them."""
    if wanted is None or not rows:
        return rows
    names = {part for name in wanted for part in _prefixes(name)}
    if len(names) * len(rows) > _SPARSE * sum(map(len, rows)):
        return rows
    columns = {}
    for name in sorted(names):
        held = plain_array([row.get(name) for row in rows])
        if held is None:
            return rows
        if held.null_count < len(held):
            columns[name] = held
    table = pa.table(columns)
    return table if columns and attributes_of_table(table.slice(0, 0)) is not None else rows
