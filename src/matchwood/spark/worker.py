"""What runs on executors: events in Arrow batches against segments that are mapped once.

Nothing here knows the driver: a plan names shipped files, and says how to read and what to write.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.schema import Schema
from matchwood.spark.attributes import COLUMNS, Reading

ROWS, ARRAY = "rows", "array"
REPLICATED, SHARDED = "replicated", "sharded"
GATHERED = 16_384  # events: batches are put together until they are as many
JOINED = 1 << 16  # matches: slices are put together until they have as many
AHEAD = 2  # batches that wait for Spark to take them
OPENED = 2  # rule sets that a process keeps open: while versions change, the old and the new

Ints = NDArray[np.int32]
Pairs = tuple[Ints, Ints]
Slice = tuple[int, int, Iterator[Pairs]]  # where it begins, how many events it has, their matches


class Plan(NamedTuple):
    """What goes along with the tasks: names and numbers, nothing large."""

    names: tuple[str, ...]  # of segment files
    id_type: str
    reading: Reading
    output: str
    layout: str
    rejects: bool  # whether rows that cannot be read are written, with the reason
    tags: tuple[str, ...] | None
    limit: int | None
    schema: Schema | None
    operators: str | None = None  # the path of a module


class Opened(NamedTuple):
    """Segments ready to be asked, and the ids and priorities of their rules by place."""

    snapshot: Any
    ids: Any
    priority: NDArray[np.float64] | None
    decider: Any


_opened: dict[tuple[str, ...], Opened] = {}
_lock = threading.Lock()


def opened(plan: Plan) -> Opened:
    """The segments of these files, mapped once a process; the rule set used longest ago goes."""
    with _lock:
        key = (*plan.names, plan.operators or "")
        found = _opened.pop(key, None)
        if found is None:
            while len(_opened) >= OPENED:
                del _opened[next(iter(_opened))]
            found = open_segments(plan.names, plan)
        _opened[key] = found
        return found


def open_segments(names: Iterable[str], plan: Plan) -> Opened:
    """Map shipped files; the driver has compared their hashes, so they are trusted."""
    from pyspark import SparkFiles

    from matchwood.match.parts import Snapshot
    from matchwood.match.stored import load
    from matchwood.match.stream import ids_of, priorities_of
    from matchwood.operators.deciding import Decider
    from matchwood.operators.places import available

    operators = available(plan.operators)
    context: Any = (operators, plan.schema)
    parts = [part for name in names for part in load(SparkFiles.get(name), context, False)]
    numbered = tuple(part.numbered(number) for number, part in enumerate(parts, 1))
    snapshot = Snapshot(numbered, ())
    ids = ids_of(snapshot)
    some = any(part.details.priority is not None for part in parts)
    values = ids.values.cast(pa.string() if plan.id_type == "string" else pa.int64())
    priority = priorities_of(snapshot, ids) if some else None
    return Opened(snapshot, values, priority, Decider(operators, plan.schema))


def matching(plan: Plan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of a task: batches of events in, batches of matches out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from matchwood.spark.output import Writer
        from matchwood.spark.sharded import match_sharded

        if plan.layout == SHARDED:
            return ahead(match_sharded(plan, batches))
        return ahead(match_replicated(plan, batches, Writer(plan)))

    return run


def ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Make batches in a thread while Spark takes those before: it reads one, then works on it,
    and a worker that waited for that would rest half of the time."""
    held: queue.Queue[Any] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def put(item: Any) -> None:
        while not stopped.is_set():
            try:
                return held.put(item, timeout=0.2)
            except queue.Full:
                continue

    def make() -> None:
        try:
            for batch in batches:
                put(batch)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=make, daemon=True).start()
    try:
        while (item := held.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()


def match_replicated(plan: Plan, batches: Iterator[Any], writer: Any) -> Iterator[Any]:
    """All segments are open; a table of events after the other."""
    from matchwood.spark.reading import read_events

    rules = None
    for table in gathered(batches):
        rules = rules or opened(plan)
        read = read_events(table, plan.reading)
        kept = kept_columns(table, plan.reading)
        yield from writer.rejected(kept, read.rejected)
        kept = kept if read.rows is None else [column.take(pa.array(read.rows)) for column in kept]
        for low, events, pairs in joined(found(plan, rules, read.events)):
            part = [column.slice(low, events) for column in kept]
            yield from writer.matches(part, events, pairs, rules.ids)


def found(plan: Plan, rules: Opened, events: Any) -> Iterator[Slice]:
    """The matches of a table of events, slice by slice."""
    from matchwood.match.stream import slices_of_pairs

    low = 0
    slices = slices_of_pairs(rules.snapshot, events, plan.tags, plan.limit, rules.decider)
    for events_there, pairs in slices:
        if events_there:
            yield low, events_there, pairs
        low += events_there


def joined(slices: Iterator[Slice]) -> Iterator[Slice]:
    """Slices put together until they have matches for a batch: small ones cost by their number."""
    held: list[Pairs] = []
    rows = begin = end = 0
    for low, events, pairs in slices:
        begin = begin if held else low
        end = low + events
        later = ((numbers + np.int32(low - begin), places) for numbers, places in pairs)
        held.append((np.empty(0, np.int32),) * 2)  # a slice without matches is held as well
        for some in later:
            held.append(some)
            rows += len(some[0])
            if rows >= JOINED:
                break
        if rows >= JOINED:
            yield begin, end - begin, chain([_one_piece(held)], later)
            held, rows = [], 0
    if held:
        yield begin, end - begin, iter([_one_piece(held)])


def _one_piece(pairs: list[Pairs]) -> Pairs:
    numbers, places = zip(*pairs, strict=True)
    return np.concatenate(numbers), np.concatenate(places)


def gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """Tables of enough events to be swept together, whatever the size of batches."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= GATHERED:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def kept_columns(table: Any, reading: Reading) -> list[Any]:
    """The columns to keep, each as one array."""
    if reading.form == COLUMNS:
        chosen = [table.column(name) for name in reading.keep]
    else:
        chosen = [table.column(1 + place) for place in range(len(reading.keep))]
    return [_one(column) for column in chosen]


def _one(column: Any) -> Any:
    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.chunks else pa.array([], found.type)
    return found


def rejecting(reading: Reading) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A task that only tells which events cannot be read."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from matchwood.spark.reading import read_events

        for table in gathered(batches):
            read = read_events(table, reading)
            if read.rejected:
                rows = pa.array([row for row, _ in read.rejected])
                reasons = pa.array([reason for _, reason in read.rejected], pa.string())
                kept = [column.take(rows) for column in kept_columns(table, reading)]
                names = [*reading.keep, "reason"]
                yield pa.RecordBatch.from_arrays([*kept, reasons], names)

    return run
