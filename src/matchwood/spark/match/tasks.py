"""The functions that executors run on each partition of events.

`matching` gives the task of `match_events`, `rejecting` that of `rejected_events`. Both take an
iterator of Arrow batches and return another, as `DataFrame.mapInArrow` wants it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from matchwood.spark.events.event_attributes import Reading
from matchwood.spark.match.devices_used import telling_devices
from matchwood.spark.match.plan import SHARDED, Plan

# Batches of matches that may wait until Spark takes them.
BATCHES_AHEAD = 2
# Seconds after which a full queue is tried again, so that a stopped reader is noticed.
_PAUSE = 0.2

Task = Callable[[Any], Iterator[Any]]


def matching(plan: Plan) -> Task:
    """A task that turns batches of events into batches of matches."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from matchwood.spark.match.replicated import match_replicated
        from matchwood.spark.match.sharded import match_sharded

        match = match_sharded if plan.layout == SHARDED else match_replicated
        return ahead(telling_devices(plan.devices_used, match(plan, batches)))

    return run


def ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Make batches in a thread of their own while Spark works on the ones before.

    Spark reads a batch and then works on it; a worker that waited for that would be idle half of
    the time.
    """
    waiting: queue.Queue[Any] = queue.Queue(BATCHES_AHEAD)
    stopped = threading.Event()

    def put(item: Any) -> None:
        while not stopped.is_set():
            try:
                return waiting.put(item, timeout=_PAUSE)
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
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()


def rejecting(reading: Reading) -> Task:
    """A task that only tells which events cannot be read, and why."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from matchwood.spark.events.event_batches import gathered, kept_columns, read_events

        for table in gathered(batches):
            read = read_events(table, reading)
            if read.rejected:
                rows = pa.array([row for row, _ in read.rejected])
                reasons = pa.array([reason for _, reason in read.rejected], pa.string())
                kept = [column.take(rows) for column in kept_columns(table, reading)]
                names = [*reading.keep, "reason"]
                yield pa.RecordBatch.from_arrays([*kept, reasons], names)

    return run
