"""Tables and streams of events against a snapshot: pairs of event and rule id, as Arrow data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.language.events import Event
from matchwood.match.batch import Columns, codes_of_rows
from matchwood.match.columns import attributes_of, misspelt
from matchwood.match.finding import Coded, Slice, find_many
from matchwood.match.masks import EVENTS
from matchwood.match.parts import Snapshot
from matchwood.match.tables import Table, is_table, key_array, table_of, tables_of
from matchwood.operators.deciding import Decider

Ints = NDArray[np.int32]
_ROWS = 64 * EVENTS  # rows whose columns are coded together
_READ = 32  # rows that are read together, where one of them is asked for


class Ids(NamedTuple):
    """The dictionary of rule ids of a snapshot, and where each part's begin in it."""

    values: Any
    base: list[int]
    pending: int


def match_table(
    snapshot: Snapshot,
    events: Any,
    key: str | None,
    tags: Iterable[str] | None,
    limit: int | None,
    threads: int,
    decider: Decider,
) -> Any:
    """All pairs, as one table."""
    ids = ids_of(snapshot)
    pieces = list(_pieces(snapshot, ids, events, key, tags, limit, threads, decider))
    if not pieces:
        return pa.Table.from_batches([], _schema(pa.int64(), ids))
    pieces = [piece for piece in pieces if piece.num_rows] or pieces[:1]
    if all(piece.schema == pieces[0].schema for piece in pieces):
        return pa.Table.from_batches(pieces)
    tables = [pa.Table.from_batches([piece]) for piece in pieces]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise TypeError(f"the values of {key!r} are of several types: {error}") from error


def match_slices(
    snapshot: Snapshot,
    events: Any,
    key: str | None,
    tags: Iterable[str] | None,
    limit: int | None,
    threads: int,
    decider: Decider,
) -> Iterator[Any]:
    """All pairs, slice by slice."""
    pieces = _pieces(snapshot, ids_of(snapshot), events, key, tags, limit, threads, decider)
    return (piece for piece in pieces if piece.num_rows)


def slices_of_pairs(
    snapshot: Snapshot,
    events: Any,
    tags: Iterable[str] | None,
    limit: int | None,
    decider: Decider,
) -> Iterator[tuple[int, Iterator[tuple[Ints, Ints]]]]:
    """Slice by slice: how many events it has, and (event, place in `ids_of`) of its matches.

    What Arrow data is made of, for who makes it otherwise. With a limit the pairs are in the
    order of events, and of each the highest priority first.
    """
    ids = ids_of(snapshot)
    wanted = None if tags is None else frozenset([tags] if isinstance(tags, str) else tags)
    priority = None if limit is None else priorities_of(snapshot, ids)
    for piece in _slices(events, None):
        pairs = _pairs(snapshot, ids, piece, wanted, decider)
        if limit is not None and priority is not None:
            pairs = iter([best(list(pairs), priority, limit)])
        yield piece.events, pairs


def ids_of(snapshot: Snapshot) -> Ids:
    """The ids of all rules of a snapshot, part by part."""
    base: list[int] = []
    arrays = []
    size = 0
    for part in snapshot.parts:
        base.append(size)
        size += len(part.details)
        arrays.append(part.details.arrow_ids)
    if snapshot.pending:
        arrays.append(pa.array([p.details.id for p in snapshot.pending]))
    if len(arrays) == 1:
        return Ids(arrays[0], base, size)
    values = pa.concat_arrays(arrays) if arrays else pa.array([], pa.string())
    return Ids(values, base, size)


def _schema(key: Any, ids: Ids) -> Any:
    return pa.schema([("event", key), ("rule_id", pa.dictionary(pa.int32(), ids.values.type))])


def _pieces(
    snapshot: Snapshot,
    ids: Ids,
    events: Any,
    key: str | None,
    tags: Iterable[str] | None,
    limit: int | None,
    threads: int,
    decider: Decider,
) -> Iterator[Any]:
    if limit is not None and limit < 0:
        raise ValueError(f"limit is 0 or more, found {limit}")
    wanted = None if tags is None else frozenset([tags] if isinstance(tags, str) else tags)

    def work(piece: Slice) -> Iterator[Any]:
        pairs = _pairs(snapshot, ids, piece, wanted, decider)
        if limit is not None:
            pairs = iter([best(list(pairs), priorities_of(snapshot, ids), limit)])
        schema = _schema(piece.keys.type, ids)
        empty = True
        for numbers, rules in pairs:
            if len(numbers):
                event = piece.keys.take(pa.array(numbers))
                rule_id = pa.DictionaryArray.from_arrays(pa.array(rules), ids.values)
                yield pa.record_batch([event, rule_id], schema=schema)
                empty = False
        if empty:  # so that the type of the keys is known where nothing matches
            yield pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)

    slices = _slices(events, key)
    if threads <= 1:
        for piece in slices:
            yield from work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(list, work(piece)) for piece in islice(slices, 2 * threads)]
        while waiting:
            done = waiting.pop(0)
            yield from done.result()
            waiting.extend(pool.submit(list, work(piece)) for piece in islice(slices, 1))


def _pairs(
    snapshot: Snapshot, ids: Ids, piece: Slice, wanted: frozenset[str] | None, decider: Decider
) -> Iterator[tuple[Ints, Ints]]:
    """(event, place of the rule in the dictionary) of all matches of a slice."""
    if piece.events:
        yield from find_many(snapshot, ids.base, ids.pending, piece, wanted, decider)


def priorities_of(snapshot: Snapshot, ids: Ids) -> NDArray[np.float64]:
    """The priority of each rule of `ids_of`."""
    priority = np.zeros(len(ids.values))
    for part, base in zip(snapshot.parts, ids.base, strict=True):
        if part.details.priority is not None:
            priority[base : base + len(part.details)] = part.details.priority
    for place, pending in enumerate(snapshot.pending):
        priority[ids.pending + place] = pending.details.priority
    return priority


def best(
    pairs: list[tuple[Ints, Ints]], priority: NDArray[np.float64], limit: int
) -> tuple[Ints, Ints]:
    """The `limit` matches of highest priority of each event."""
    events = np.concatenate([np.empty(0, np.int32), *(numbers for numbers, _ in pairs)])
    rules = np.concatenate([np.empty(0, np.int32), *(places for _, places in pairs)])
    order = np.lexsort((-priority[rules], events))
    events, rules = events[order], rules[order]
    first = np.searchsorted(events, events)  # where the event of each pair begins
    kept = np.arange(len(events)) - first < limit
    return events[kept], rules[kept]


# Events however they are given


def admitted(events: Any, key: str | None, admit: Callable[[Mapping[str, object]], object]) -> Any:
    """The events, each shown without its key to `admit`, which raises to refuse it."""
    if is_table(events):
        table = table_of(events)
        for low in range(0, table.num_rows, _ROWS):
            for row in table.slice(low, _ROWS).without(key).rows():
                admit(row)
        return table
    if isinstance(events, Mapping):
        return events  # refused later, as one event
    return _each_admitted(events, key, admit)


def _each_admitted(
    events: Iterable[Mapping[str, object]],
    key: str | None,
    admit: Callable[[Mapping[str, object]], object],
) -> Iterator[Mapping[str, object]]:
    for event in events:
        admit({name: value for name, value in event.items() if name != key})
        yield event


def _slices(events: Any, key: str | None) -> Iterator[Slice]:
    if isinstance(events, Mapping):
        raise TypeError("match_batch takes many events; for one event there is match")
    if is_table(events):
        yield from _table_slices(events, key)
    else:
        yield from _row_slices(iter(events), key)


def _bounded(events: Any) -> Iterator[Table]:
    """Tables of bounded size."""
    for table in tables_of(events):
        for low in range(0, max(1, table.num_rows), _ROWS):
            yield table.slice(low, _ROWS)


def _table_slices(events: Any, key: str | None) -> Iterator[Slice]:
    done = 0
    for table in _bounded(events):
        if key is not None and key not in table.columns:
            raise KeyError(f"the events have no column {key!r} to name them by")
        held = table.held()
        attributes = None if held is None else attributes_of(held)
        rows = table.rows() if attributes is None else []
        coded: dict[int, Columns | None] = {}
        for low in range(0, max(1, table.num_rows), EVENTS):
            high = min(low + EVENTS, table.num_rows)
            keys: Any = pa.array(np.arange(done + low, done + high))
            if key is not None:
                keys = table.slice(low, high - low).keys(key)
            if attributes is None:
                yield _row_slice(rows[low:high], keys)
            else:
                yield _column_slice(table, attributes, coded, low, high, keys, done)
        done += table.num_rows


def _column_slice(
    table: Table,
    attributes: dict[str, Any],
    coded: dict[int, Columns | None],
    low: int,
    high: int,
    keys: Any,
    done: int,
) -> Slice:
    def part_codes(part: Coded) -> Any:
        if part.number not in coded:
            coded[part.number] = _columns(attributes, part, done)
        columns = coded[part.number]
        if columns is None:
            return codes_of_rows(table.slice(low, high - low).rows(), part.matcher)[0]
        return columns.codes(low, high)

    read: dict[int, list[dict[str, Any]]] = {}

    def row(number: int) -> Event:
        block, place = divmod(number, _READ)
        if block not in read:
            read[block] = table.slice(low + block * _READ, min(_READ, high - low)).rows()
        return Event(read[block][place])

    return Slice(part_codes, row, keys, high - low)


def _columns(attributes: dict[str, Any], part: Coded, done: int) -> Columns | None:
    """The columns coded for a part; None where only rows tell which strings are there."""
    try:
        return Columns(attributes, part.matcher)
    except UnicodeDecodeError:
        named = {n: column for n, column in attributes.items() if n in part.matcher.coders}
        error = misspelt(named, done)
    if error is not None:
        raise error
    return None


def _row_slices(events: Iterator[Any], key: str | None) -> Iterator[Slice]:
    done = 0
    while rows := list(islice(events, EVENTS)):
        if key is None:
            keys = pa.array(np.arange(done, done + len(rows)))
        else:
            keys = key_array([row[key] for row in rows], key)
        yield _row_slice(rows, keys)
        done += len(rows)


def _row_slice(rows: list[Any], keys: Any) -> Slice:
    read: list[Event | None] = [None] * len(rows)
    return Slice(_coder(rows, read), _reader(rows, read), keys, len(rows))


def _coder(rows: list[Any], read: list[Event | None]) -> Callable[[Coded], Any]:
    def part_codes(part: Coded) -> Any:
        known = [seen or row for seen, row in zip(read, rows, strict=True)]
        codes, seen = codes_of_rows(known, part.matcher)
        read[:] = [new or old for new, old in zip(seen, read, strict=True)]
        return codes

    return part_codes


def _reader(rows: list[Any], read: list[Event | None]) -> Callable[[int], Event]:
    def row(number: int) -> Event:
        seen = read[number]
        if seen is None:
            seen = read[number] = Event(rows[number])
        return seen

    return row
