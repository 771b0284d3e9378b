"""Events however they are given, cut into slices that are encoded for one part after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.kernels.masks import EVENTS
from matchwood.language.aliases import Aliases
from matchwood.language.events import Event
from matchwood.match.batch.codes.batch_codes import codes_of_rows
from matchwood.match.batch.codes.column_codes import misspelt
from matchwood.match.batch.codes.event_tables import Table, is_table, key_array, table_of, tables_of
from matchwood.match.batch.codes.mixed_columns import MixedColumn, attributes_of_events
from matchwood.match.batch.codes.table_codes import ColumnCodes
from matchwood.match.parts.operator_rules import OperatorRules
from matchwood.match.parts.part import Part
from matchwood.match.search.table_events import TableRows

# Rows whose columns are encoded together.
_ROWS_AT_ONCE = 64 * EVENTS

# What events are encoded for.
Encodable = Part | OperatorRules


class EventSlice(NamedTuple):
    """Some events: how to encode them for a part, how to read one, and their keys."""

    part_codes: Callable[[Encodable], Any]
    row: Callable[[int], Event]
    keys: Any  # an Arrow array
    events: int


def admitted(events: Any, key: str | None, admit: Callable[[Mapping[str, object]], object]) -> Any:
    """The events, each of which `admit` has seen without its key; it raises to refuse one."""
    if is_table(events):
        table = table_of(events)
        for low in range(0, table.num_rows, _ROWS_AT_ONCE):
            for row in table.slice(low, _ROWS_AT_ONCE).without(key).rows():
                admit(row)
        return table
    if isinstance(events, Mapping):
        return events  # `slices_of` refuses it, as it is one event
    return _each_admitted(events, key, admit)


def _each_admitted(
    events: Iterable[Mapping[str, object]],
    key: str | None,
    admit: Callable[[Mapping[str, object]], object],
) -> Iterator[Mapping[str, object]]:
    for event in events:
        admit({name: value for name, value in event.items() if name != key})
        yield event


def slices_of(events: Any, key: str | None, aliases: Aliases | None) -> Iterator[EventSlice]:
    """The events of a table, a stream of tables or an iterable of mappings, in slices."""
    if isinstance(events, Mapping):
        raise TypeError("match_batch takes many events; for one event there is match")
    if is_table(events):
        yield from _table_slices(events, key, aliases)
    else:
        yield from _row_slices(iter(events), key, aliases)


def _bounded(events: Any) -> Iterator[Table]:
    """Tables of at most `_ROWS_AT_ONCE` rows."""
    for table in tables_of(events):
        if table.num_rows <= _ROWS_AT_ONCE:
            yield table
            continue
        for low in range(0, table.num_rows, _ROWS_AT_ONCE):
            yield table.slice(low, _ROWS_AT_ONCE)


def _table_slices(events: Any, key: str | None, aliases: Aliases | None) -> Iterator[EventSlice]:
    done = 0
    for table in _bounded(events):
        if key is not None and key not in table.columns:
            raise KeyError(f"the events have no column {key!r} to use as their key")
        attributes = attributes_of_events(table)
        rows = table.rows() if attributes is None else []
        coded = _EncodedParts()
        for low in range(0, max(1, table.num_rows), EVENTS):
            high = min(low + EVENTS, table.num_rows)
            keys: Any = pa.array(np.arange(done + low, done + high))
            if key is not None:
                keys = table.slice(low, high - low).keys(key)
            if attributes is None:
                yield row_slice(rows[low:high], keys, aliases)
            else:
                row = TableRows(table, low, high, aliases).event
                yield _column_slice(table, attributes, coded, low, high, keys, done, row)
        done += table.num_rows


def _column_slice(
    table: Table,
    attributes: dict[str, Any],
    coded: _EncodedParts,
    low: int,
    high: int,
    keys: Any,
    done: int,
    row: Callable[[int], Event],
) -> EventSlice:
    def part_codes(part: Encodable) -> Any:
        columns = coded.columns(attributes, part, done)
        if columns is None:
            return codes_of_rows(table.slice(low, high - low).rows(), part.matcher)[0]
        return columns.codes(low, high, row)

    return EventSlice(part_codes, row, keys, high - low)


class _EncodedParts:
    """The columns of a table, encoded once for each part, however many threads match its slices."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns: dict[int, ColumnCodes | None] = {}

    def columns(self, attributes: dict[str, Any], part: Encodable, done: int) -> ColumnCodes | None:
        """The columns encoded for a part; other threads wait until they are."""
        with self._lock:
            if part.number not in self._columns:
                self._columns[part.number] = _columns(attributes, part, done)
            return self._columns[part.number]


def _columns(attributes: dict[str, Any], part: Encodable, done: int) -> ColumnCodes | None:
    """The columns encoded for a part; None if only rows tell which strings there are."""
    try:
        return ColumnCodes(attributes, part.matcher)
    except UnicodeDecodeError:
        named = {
            name: column
            for name, column in attributes.items()
            if part.matcher.asks_for(name) and not isinstance(column, MixedColumn)
        }
        error = misspelt(named, done)
    if error is not None:
        raise error
    return None


def _row_slices(
    events: Iterator[Any], key: str | None, aliases: Aliases | None
) -> Iterator[EventSlice]:
    done = 0
    while rows := list(islice(events, EVENTS)):
        if key is None:
            keys = pa.array(np.arange(done, done + len(rows)))
        else:
            keys = key_array([row[key] for row in rows], key)
        yield row_slice(rows, keys, aliases)
        done += len(rows)


def row_slice(rows: list[Any], keys: Any, aliases: Aliases | None = None) -> EventSlice:
    """Events that are mappings, as one slice."""
    read: list[Event | None] = [None] * len(rows)
    return EventSlice(_coder(rows, read), _reader(rows, read, aliases), keys, len(rows))


def _coder(rows: list[Any], read: list[Event | None]) -> Callable[[Encodable], Any]:
    def part_codes(part: Encodable) -> Any:
        known = [seen or row for seen, row in zip(read, rows, strict=True)]
        codes, seen = codes_of_rows(known, part.matcher)
        read[:] = [new or old for new, old in zip(seen, read, strict=True)]
        return codes

    return part_codes


def _reader(
    rows: list[Any], read: list[Event | None], aliases: Aliases | None
) -> Callable[[int], Event]:
    def row(number: int) -> Event:
        seen = read[number]
        if seen is None:
            seen = read[number] = Event(rows[number], aliases)
        return seen

    return row
