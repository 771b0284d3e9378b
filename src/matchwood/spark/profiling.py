"""`profile`: counts how often events have each attribute and samples its values, in one pass."""

from __future__ import annotations

import heapq
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from matchwood.index.build.statistics import Statistics
from matchwood.spark.events.event_attributes import Reading, prepare

# Events in the sample.
SAMPLE = 10_000
# Tasks that merge the partial profiles before the driver does.
_MERGERS = 4
# More than the number of events that one partition can have, to number the events of all.
_PARTITION_EVENTS = 10**12
_SCHEMA = "partial binary"


@dataclass
class PartialProfile:
    """The profile of some events: exact counts, and a uniform sample."""

    events: int = 0
    present: Counter[str] = field(default_factory=Counter)
    # A heap of random keys, numbers and events.
    sample: list[tuple[float, int, Any]] = field(default_factory=list)

    def merge(self, other: PartialProfile, size: int) -> None:
        self.events += other.events
        self.present.update(other.present)
        for candidate in other.sample:
            self.offer(candidate, size)

    def offer(self, candidate: tuple[float, int, Any], size: int) -> None:
        """Keep the events with the highest keys, which are a uniform sample of all events."""
        if len(self.sample) < size:
            heapq.heappush(self.sample, candidate)
        elif candidate[:2] > self.sample[0][:2]:
            heapq.heapreplace(self.sample, candidate)


def profile(
    events: DataFrame, attributes: str | None = None, *, sample: int = SAMPLE
) -> Statistics:
    """Statistics of events, for `compile_rules(…, statistics=…)`.

    How often each attribute is present is counted exactly; values come from a uniform sample of
    events. `attributes` is that of `match_events`. Statistics change how fast matching is, never
    what matches.
    """
    frame, reading = prepare(events, attributes, (), None)
    partial = frame.mapInArrow(_profiling(reading, sample), _SCHEMA)
    merged = partial.repartition(_MERGERS).mapInArrow(_merging(sample), _SCHEMA)
    total = PartialProfile()
    for row in merged.collect():
        total.merge(pickle.loads(bytes(row["partial"])), sample)
    statistics = Statistics()
    for _, _, event in sorted(total.sample, key=lambda sampled: sampled[:2]):
        statistics.add(event)
    statistics.events = total.events
    statistics.present = dict(total.present)
    return statistics


def _profiling(reading: Reading, size: int) -> Callable[[Any], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        from matchwood.spark.events.event_batches import gathered, read_events

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        dice = random.Random(partition)
        partial = PartialProfile()
        for table in gathered(batches):
            read = read_events(table, reading)
            _add(partial, read.events, size, dice, partition)
        yield _batch(partial)

    return run


def _merging(size: int) -> Callable[[Any], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        total = PartialProfile()
        for batch in batches:
            for data in batch.column(0):
                total.merge(pickle.loads(data.as_py()), size)
        yield _batch(total)

    return run


def _batch(partial: PartialProfile) -> Any:
    import pyarrow as pa

    return pa.record_batch({"partial": pa.array([pickle.dumps(partial)], pa.binary())})


def _add(
    partial: PartialProfile, events: Any, size: int, dice: random.Random, partition: int
) -> None:
    from matchwood.arrow.reading import rows_of
    from matchwood.language.events import attributes_of
    from matchwood.match.batch.codes.column_codes import attributes_of_table

    count = len(events) if isinstance(events, list) else events.num_rows
    keys = [dice.random() for _ in range(count)]
    chosen = heapq.nlargest(size, range(count), key=keys.__getitem__)
    if isinstance(events, list):
        for event in events:
            partial.present.update(n for n, v in attributes_of(event).items() if v is not None)
        rows = [events[index] for index in chosen]
    else:
        for name, column in (attributes_of_table(events) or {}).items():
            partial.present[name] += len(column) - column.null_count
        rows = rows_of(events.take(chosen))
    for index, row in zip(chosen, rows, strict=True):
        event = {name: value for name, value in row.items() if value is not None}
        number = partition * _PARTITION_EVENTS + partial.events + index
        partial.offer((keys[index], number, event), size)
    partial.events += count
