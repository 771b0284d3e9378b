"""The sharded layout: a task loops over the shards of the rules and holds one at a time.

Its events are kept meanwhile, in memory and, beyond a budget, on the executor's disk.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.match.grouping import grouped
from matchwood.match.stream import best
from matchwood.spark.output import Writer
from matchwood.spark.reading import read_events
from matchwood.spark.worker import (
    ROWS,
    Opened,
    Plan,
    found,
    gathered,
    joined,
    kept_columns,
    open_segments,
)

MEMORY = 128 << 20  # bytes that a spool holds before it writes to disk
_DICT = 8  # a table of texts takes so many times its bytes as Python's dicts


class Spool:
    """Things in the order in which they were put, to be gone over again and again."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory
        self._held: list[Any] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._written = 0

    def put(self, thing: Any, size: int) -> None:
        if self._file is None and self._bytes + size <= self._memory:
            self._held.append(thing)
            self._bytes += size
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="matchwood-")  # noqa: SIM115 – closed below
        self._file.seek(0, 2)
        pickle.dump(thing, self._file, pickle.HIGHEST_PROTOCOL)
        self._written += 1

    def __iter__(self) -> Iterator[Any]:
        yield from self._held
        if self._file is not None:
            self._file.seek(0)
            for _ in range(self._written):
                yield pickle.load(self._file)

    def close(self) -> None:
        self._held = []
        if self._file is not None:
            self._file.close()


class Some(NamedTuple):
    """What one shard found for a slice of events: by event, ids and priorities."""

    bounds: NDArray[np.int64]
    ids: Any
    priority: NDArray[np.float64]  # empty: none has one


def match_sharded(plan: Plan, batches: Iterator[Any]) -> Iterator[Any]:
    """The matches of a partition; the same rows as if all shards were open."""
    writer = Writer(plan)
    with ExitStack() as stack:
        events = Spool()
        stack.callback(events.close)
        for table in gathered(batches):
            read = read_events(table, plan.reading)
            kept = kept_columns(table, plan.reading)
            yield from writer.rejected(kept, read.rejected)
            if read.rows is not None:
                kept = [column.take(pa.array(read.rows)) for column in kept]
            size = table.nbytes * (_DICT if isinstance(read.events, list) else 2)
            events.put((read.events, kept), size)
        if plan.output == ROWS and plan.limit is None:
            for name in plan.names:
                yield from _rows(plan, writer, open_segments([name], plan), events)
            return
        spools = []
        for name in plan.names:
            spools.append(Spool(MEMORY // len(plan.names)))
            stack.callback(spools[-1].close)
            _gather(plan, open_segments([name], plan), events, spools[-1])
        yield from _merged(plan, writer, events, spools)


def _rows(plan: Plan, writer: Writer, rules: Opened, events: Spool) -> Iterator[Any]:
    """Each shard's matches are rows of their own."""
    for table, kept in events:
        for low, count, pairs in joined(found(plan, rules, table)):
            part = [column.slice(low, count) for column in kept]
            yield from writer.matches(part, count, pairs, rules.ids)


def _gather(plan: Plan, rules: Opened, events: Spool, into: Spool) -> None:
    """What one shard finds, kept until all have been asked."""
    for table, _ in events:
        for _, count, pairs in found(plan, rules, table):
            bounds, places = grouped(list(pairs), count)
            ids = rules.ids.take(pa.array(places))
            priority = np.empty(0) if rules.priority is None else rules.priority[places]
            into.put(Some(bounds, ids, priority), ids.nbytes + priority.nbytes + bounds.nbytes)


def _merged(plan: Plan, writer: Writer, events: Spool, spools: list[Spool]) -> Iterator[Any]:
    """Slice by slice, what all shards found."""
    answers = zip(*spools, strict=True)
    for table, kept in events:
        total = len(table) if isinstance(table, list) else table.num_rows
        low = 0
        while low < total:
            shards: tuple[Some, ...] = next(answers) if spools else (_nothing(plan, total),)
            count = len(shards[0].bounds) - 1
            part = [column.slice(low, count) for column in kept]
            ids = pa.concat_arrays([some.ids for some in shards])
            numbers = [np.repeat(np.arange(count), np.diff(some.bounds)) for some in shards]
            events_ = np.concatenate(numbers).astype(np.int32)
            pairs = events_, np.arange(len(events_), dtype=np.int32)
            if plan.limit is not None:
                pairs = best([pairs], _priorities(shards), plan.limit)
            yield from writer.matches(part, count, iter([pairs]), ids)
            low += count


def _nothing(plan: Plan, events: int) -> Some:
    """Of no shards at all."""
    kind = pa.string() if plan.id_type == "string" else pa.int64()
    return Some(np.zeros(events + 1, np.int64), pa.array([], kind), np.empty(0))


def _priorities(shards: tuple[Some, ...]) -> NDArray[np.float64]:
    return np.concatenate(
        [some.priority if len(some.priority) else np.zeros(len(some.ids)) for some in shards]
    )
