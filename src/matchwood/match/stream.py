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
from matchwood.match.columns import attributes_of_table
from matchwood.match.parts import Part, Pending, Snapshot
from matchwood.match.sweep import EVENTS

Ints = NDArray[np.int32]
Truth = Callable[[Pending, Event], bool]
_ROWS = 64 * EVENTS  # rows whose columns are coded together


class Slice(NamedTuple):
    """Some events: how to code them for a part, how to read one, and what they are called."""

    part_codes: Callable[[Part], Any]
    row: Callable[[int], Event]
    keys: Any  # an Arrow array
    events: int


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
    truth: Truth,
) -> Any:
    """All pairs, as one table."""
    ids = _ids(snapshot)
    pieces = list(_pieces(snapshot, ids, events, key, tags, limit, threads, truth))
    kind = pieces[0].schema if pieces else _schema(pa.int64(), ids)
    return pa.Table.from_batches(pieces, kind)


def match_slices(
    snapshot: Snapshot,
    events: Any,
    key: str | None,
    tags: Iterable[str] | None,
    limit: int | None,
    threads: int,
    truth: Truth,
) -> Iterator[Any]:
    """All pairs, slice by slice."""
    return _pieces(snapshot, _ids(snapshot), events, key, tags, limit, threads, truth)


def _ids(snapshot: Snapshot) -> Ids:
    base: list[int] = []
    arrays = []
    size = 0
    for part in snapshot.parts:
        base.append(size)
        size += len(part.details)
        arrays.append(pa.array(part.details.ids))
    if snapshot.pending:
        arrays.append(pa.array([p.details.id for p in snapshot.pending]))
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
    truth: Truth,
) -> Iterator[Any]:
    if limit is not None and limit < 0:
        raise ValueError(f"limit is 0 or more, found {limit}")
    wanted = None if tags is None else frozenset([tags] if isinstance(tags, str) else tags)

    def work(piece: Slice) -> Iterator[Any]:
        pairs = _pairs(snapshot, ids, piece, wanted, truth)
        if limit is not None:
            pairs = iter([_best(list(pairs), snapshot, ids, limit)])
        for numbers, rules in pairs:
            if len(numbers):
                event = piece.keys.take(pa.array(numbers))
                rule_id = pa.DictionaryArray.from_arrays(pa.array(rules), ids.values)
                yield pa.record_batch([event, rule_id], schema=_schema(piece.keys.type, ids))

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
    snapshot: Snapshot, ids: Ids, piece: Slice, wanted: frozenset[str] | None, truth: Truth
) -> Iterator[tuple[Ints, Ints]]:
    """(event, place of the rule in the dictionary) of all matches of a slice."""
    for part, base in zip(snapshot.parts, ids.base, strict=True):
        codes = piece.part_codes(part)
        for numbers, ordinals in part.batch.pairs(codes, part.keep(wanted), piece.row):
            yield numbers, ordinals + np.int32(base) if base else ordinals
    for place, pending in enumerate(snapshot.pending):
        if wanted is None or wanted & pending.details.tags:
            found = [n for n in range(piece.events) if truth(pending, piece.row(n))]
            yield np.array(found, np.int32), np.full(len(found), ids.pending + place, np.int32)


def _best(
    pairs: list[tuple[Ints, Ints]], snapshot: Snapshot, ids: Ids, limit: int
) -> tuple[Ints, Ints]:
    """The `limit` matches of highest priority of each event."""
    events = np.concatenate([np.empty(0, np.int32), *(numbers for numbers, _ in pairs)])
    rules = np.concatenate([np.empty(0, np.int32), *(places for _, places in pairs)])
    priority = np.zeros(len(ids.values))
    for part, base in zip(snapshot.parts, ids.base, strict=True):
        if part.details.priority is not None:
            priority[base : base + len(part.details)] = part.details.priority
    for place, pending in enumerate(snapshot.pending):
        priority[ids.pending + place] = pending.details.priority
    order = np.lexsort((-priority[rules], events))
    events, rules = events[order], rules[order]
    first = np.searchsorted(events, events)  # where the event of each pair begins
    kept = np.arange(len(events)) - first < limit
    return events[kept], rules[kept]


# Events however they are given


def table_of(data: Any) -> Any:
    """An Arrow table of tabular data."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    return pa.table(data)


def _is_tabular(events: Any) -> bool:
    if isinstance(events, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return True
    return hasattr(events, "__arrow_c_stream__") or (
        type(events).__module__.partition(".")[0] == "pandas" and hasattr(events, "columns")
    )


def _slices(events: Any, key: str | None) -> Iterator[Slice]:
    if isinstance(events, Mapping):
        raise TypeError("match_batch takes many events; for one event there is match")
    if _is_tabular(events):
        yield from _table_slices(events, key)
    else:
        yield from _row_slices(iter(events), key)


def _tables(events: Any) -> Iterator[Any]:
    """Tables of bounded size."""
    if isinstance(events, pa.RecordBatchReader):
        for batch in events:
            yield from _tables(pa.Table.from_batches([batch]))
        return
    table = table_of(events)
    for low in range(0, table.num_rows, _ROWS):
        yield table.slice(low, _ROWS)


def _table_slices(events: Any, key: str | None) -> Iterator[Slice]:
    done = 0
    for table in _tables(events):
        if key is not None and key not in table.column_names:
            raise KeyError(f"the events have no column {key!r} to name them by")
        attributes = attributes_of_table(table)
        if attributes is None:
            rows = table.to_pylist(maps_as_pydicts="strict")
            for piece in _row_slices(iter(rows), key):
                if key is None:
                    numbers = pa.array(np.arange(done, done + piece.events))
                    piece = piece._replace(keys=numbers)
                done += piece.events
                yield piece
            continue
        coded: dict[int, Columns] = {}
        for low in range(0, table.num_rows, EVENTS):
            high = min(low + EVENTS, table.num_rows)
            keys: Any = pa.array(np.arange(done + low, done + high))
            if key is not None:
                keys = table[key].slice(low, high - low).combine_chunks()
            yield _column_slice(table, attributes, coded, low, high, keys)
        done += table.num_rows


def _column_slice(
    table: Any,
    attributes: dict[str, Any],
    coded: dict[int, Columns],
    low: int,
    high: int,
    keys: Any,
) -> Slice:
    def part_codes(part: Part) -> Any:
        columns = coded.get(part.number)
        if columns is None:
            columns = coded[part.number] = Columns(attributes, part.matcher)
        return columns.codes(low, high)

    def row(number: int) -> Event:
        return Event(table.slice(low + number, 1).to_pylist(maps_as_pydicts="strict")[0])

    return Slice(part_codes, row, keys, high - low)


def _row_slices(events: Iterator[Any], key: str | None) -> Iterator[Slice]:
    done = 0
    while rows := list(islice(events, EVENTS)):
        if key is None:
            keys = pa.array(np.arange(done, done + len(rows)))
        else:
            keys = pa.array([row[key] for row in rows])
        read: list[Event | None] = [None] * len(rows)
        yield Slice(_coder(rows, read), _reader(rows, read), keys, len(rows))
        done += len(rows)


def _coder(rows: list[Any], read: list[Event | None]) -> Callable[[Part], Any]:
    def part_codes(part: Part) -> Any:
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
