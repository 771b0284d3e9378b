"""The sharded layout: a task goes through the shards of the rules and opens one at a time.

Meanwhile the events of the partition are kept in memory and, beyond a budget, on the executor's
disk.
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

from matchwood.match.batch.grouping import grouped
from matchwood.match.search.arrow_matches import best
from matchwood.spark.events.event_attributes import JSON
from matchwood.spark.events.event_batches import ReadEvents, gathered, kept_columns, read_events
from matchwood.spark.kernel_shipping import use_shipped
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.open_rules import (
    RULE_ID,
    Opened,
    joined,
    open_segments,
    slices_of_matches,
)
from matchwood.spark.match.plan import ROWS, Plan, Slice
from matchwood.spark.match.text_matching import readable_texts, slices_of_texts

# Bytes that a spool holds before it writes to disk.
SPOOL_MEMORY = 128 << 20
# A table takes about this many times its bytes once its events are Python dicts.
_DICT = 8
# A table of columns, or of JSON texts, is counted this many times: the events, and those to keep.
_TABLE = 2


class Spool:
    """A list that can be iterated many times and goes to disk when it grows."""

    def __init__(self, memory: int = SPOOL_MEMORY) -> None:
        self._memory = memory
        self._held: list[Any] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._written = 0

    def put(self, item: Any, size: int) -> None:
        """Append an item that takes about `size` bytes."""
        if self._file is None and self._bytes + size <= self._memory:
            self._held.append(item)
            self._bytes += size
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="matchwood-")  # noqa: SIM115 – closed below
        self._file.seek(0, 2)
        pickle.dump(item, self._file, pickle.HIGHEST_PROTOCOL)
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


class ShardMatches(NamedTuple):
    """What one shard found for a slice of events: the ids and priorities of each event."""

    bounds: NDArray[np.int64]  # those of event i are from bounds[i] to bounds[i + 1]
    ids: Any
    priority: NDArray[np.float64]  # empty if no rule of the shard has a priority


def match_sharded(plan: Plan, batches: Iterator[Any]) -> Iterator[Any]:
    """The matches of a partition; the same rows as if all shards were open."""
    writer = MatchWriter(plan)
    use_shipped(plan.kernels)  # texts are scanned before rules are opened
    with ExitStack() as stack:
        events = Spool()
        stack.callback(events.close)
        for table in gathered(batches):
            read = _read(plan, table)
            kept = kept_columns(table, plan.reading)
            yield from writer.rejected(kept, read.rejected)
            if read.rows is not None:
                kept = [column.take(pa.array(read.rows)) for column in kept]
            size = table.nbytes * (_DICT if isinstance(read.events, list) else _TABLE)
            events.put((read.events, kept), size)
        if plan.output == ROWS and plan.limit is None:
            for name in plan.names:
                yield from _rows(plan, writer, open_segments([name], plan), events)
            return
        spools = []
        for name in plan.names:
            spools.append(Spool(SPOOL_MEMORY // len(plan.names)))
            stack.callback(spools[-1].close)
            _gather(plan, open_segments([name], plan), events, spools[-1])
        yield from _merged(plan, writer, events, spools)


def _read(plan: Plan, table: Any) -> ReadEvents:
    """The events of a table that can be read; JSON texts stay texts."""
    if plan.reading.form != JSON:
        return read_events(table, plan.reading)
    return ReadEvents(*readable_texts(table, plan.reading))


def _slices(plan: Plan, rules: Opened, events: Any) -> Iterator[Slice]:
    """The matches of one shard, slice by slice; the slices are the same for all shards."""
    of = slices_of_texts if isinstance(events, pa.Array) else slices_of_matches
    return of(plan, rules, events)


def _rows(plan: Plan, writer: MatchWriter, rules: Opened, events: Spool) -> Iterator[Any]:
    """The matches of one shard, each a row of its own."""
    for table, kept in events:
        for low, count, pairs in joined(_slices(plan, rules, table)):
            part = [column.slice(low, count) for column in kept]
            yield from writer.matches(part, count, pairs, rules.ids)


def _gather(plan: Plan, rules: Opened, events: Spool, into: Spool) -> None:
    """Keep what one shard finds until all shards have been asked."""
    for table, _ in events:
        for _, count, pairs in _slices(plan, rules, table):
            bounds, rule_indexes = grouped(list(pairs), count)
            ids = rules.ids.take(pa.array(rule_indexes))
            priority = np.empty(0) if rules.priority is None else rules.priority[rule_indexes]
            into.put(
                ShardMatches(bounds, ids, priority), ids.nbytes + priority.nbytes + bounds.nbytes
            )


def _merged(plan: Plan, writer: MatchWriter, events: Spool, spools: list[Spool]) -> Iterator[Any]:
    """Slice by slice, what all shards found."""
    answers: Iterator[tuple[ShardMatches, ...]] = zip(*spools, strict=True)
    for table, kept in events:
        total = table.num_rows if isinstance(table, pa.Table) else len(table)
        low = 0
        while low < total:
            shards = next(answers, None) if spools else (_nothing(plan, total),)
            if shards is None:
                raise RuntimeError(f"the shards answered {low:,} of {total:,} events and ended")
            count = len(shards[0].bounds) - 1
            part = [column.slice(low, count) for column in kept]
            ids = pa.concat_arrays([shard.ids for shard in shards])
            numbers = [np.repeat(np.arange(count), np.diff(shard.bounds)) for shard in shards]
            event_numbers = np.concatenate(numbers).astype(np.int32)
            pairs = event_numbers, np.arange(len(event_numbers), dtype=np.int32)
            if plan.limit is not None:
                pairs = best([pairs], _priorities(shards), plan.limit)
            yield from writer.matches(part, count, iter([pairs]), ids)
            low += count


def _nothing(plan: Plan, events: int) -> ShardMatches:
    """The answer for some events where there are no shards at all."""
    kind = pa.string() if plan.id_type == "string" else pa.int64()
    if plan.rule_columns:
        from matchwood.match.search.rule_facts import FACTS

        fields = [(RULE_ID, kind), *((name, FACTS[name]) for name in plan.rule_columns)]
        kind = pa.struct(fields)
    return ShardMatches(np.zeros(events + 1, np.int64), pa.array([], kind), np.empty(0))


def _priorities(shards: tuple[ShardMatches, ...]) -> NDArray[np.float64]:
    return np.concatenate(
        [shard.priority if len(shard.priority) else np.zeros(len(shard.ids)) for shard in shards]
    )
