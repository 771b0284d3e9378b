"""`profile`: how often events have each attribute, and values of it, in one pass."""

from __future__ import annotations

import heapq
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from matchwood.index.statistics import Statistics
from matchwood.spark.attributes import Reading, prepare

SAMPLE = 10_000  # events whose values are kept
_MERGERS = 4  # tasks that merge what all others found, before the driver does
_SCHEMA = "partial binary"


@dataclass
class Partial:
    """What some of the events tell: exact counts, and an even sample."""

    events: int = 0
    present: Counter[str] = field(default_factory=Counter)
    sample: list[tuple[float, int, Any]] = field(default_factory=list)  # a heap: key, number

    def merge(self, other: Partial, size: int) -> None:
        self.events += other.events
        self.present.update(other.present)
        for one in other.sample:
            self.offer(one, size)

    def offer(self, one: tuple[float, int, Any], size: int) -> None:
        """Keep the events with the highest keys: an even sample, however partials are merged."""
        if len(self.sample) < size:
            heapq.heappush(self.sample, one)
        elif one[:2] > self.sample[0][:2]:
            heapq.heapreplace(self.sample, one)


def profile(
    events: DataFrame, attributes: str | None = None, *, sample: int = SAMPLE
) -> Statistics:
    """Statistics of events, for `compile_rules(…, statistics=…)`.

    Presence is counted exactly, values are those of an even sample of events. `attributes` is as
    in `match_events`. It changes how fast matching is, never what matches.
    """
    frame, reading = prepare(events, attributes, (), None)
    found = frame.mapInArrow(_profiling(reading, sample), _SCHEMA)
    merged = found.repartition(_MERGERS).mapInArrow(_merging(sample), _SCHEMA)
    total = Partial()
    for row in merged.collect():
        total.merge(pickle.loads(bytes(row["partial"])), sample)
    statistics = Statistics()
    for _, _, event in sorted(total.sample, key=lambda one: one[:2]):
        statistics.add(event)
    statistics.events = total.events
    statistics.present = dict(total.present)
    return statistics


def _profiling(reading: Reading, size: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        from matchwood.spark.reading import read_events
        from matchwood.spark.worker import gathered

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        dice = random.Random(partition)
        partial = Partial()
        for table in gathered(batches):
            read = read_events(table, reading)
            _add(partial, read.events, size, dice, partition)
        yield _batch(partial)

    return run


def _merging(size: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        total = Partial()
        for batch in batches:
            for data in batch.column(0):
                total.merge(pickle.loads(data.as_py()), size)
        yield _batch(total)

    return run


def _batch(partial: Partial) -> Any:
    import pyarrow as pa

    return pa.record_batch({"partial": pa.array([pickle.dumps(partial)], pa.binary())})


def _add(partial: Partial, events: Any, size: int, dice: random.Random, partition: int) -> None:
    from matchwood.arrow.reading import rows_of
    from matchwood.language.events import attributes_of
    from matchwood.match.columns import attributes_of_table

    count = len(events) if isinstance(events, list) else events.num_rows
    keys = [dice.random() for _ in range(count)]
    chosen = heapq.nlargest(size, range(count), key=keys.__getitem__)
    if isinstance(events, list):
        for event in events:
            partial.present.update(n for n, v in attributes_of(event).items() if v is not None)
        rows = [events[place] for place in chosen]
    else:
        for name, column in (attributes_of_table(events) or {}).items():
            partial.present[name] += len(column) - column.null_count
        rows = rows_of(events.take(chosen))
    for place, row in zip(chosen, rows, strict=True):
        event = {name: value for name, value in row.items() if value is not None}
        number = partition * 10**12 + partial.events + place
        partial.offer((keys[place], number, event), size)
    partial.events += count
