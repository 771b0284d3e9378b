"""Which devices the tasks of a session have matched on: counted by workers, added up by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from matchwood.match.batch.device_counts import device_counts
from matchwood.spark.session import is_connect

# Batches of events by the name of the device.
Batches = dict[str, int]

# The batches of each application, by its id.
_used: dict[str, Accumulator[Batches]] = {}


class _Sums(AccumulatorParam[Batches]):
    """How Spark adds up what tasks tell."""

    def zero(self, value: Batches) -> Batches:
        return {}

    def addInPlace(self, value1: Batches, value2: Batches) -> Batches:
        for device, batches in value2.items():
            value1[device] = value1.get(device, 0) + batches
        return value1


def devices_used(spark: SparkSession) -> Accumulator[Batches] | None:
    """What all tasks of the application have told so far; None through Spark Connect."""
    if is_connect(spark):
        return None
    context = spark.sparkContext
    made: Accumulator[Batches] | None = _used.get(context.applicationId)
    if made is None:
        made = _used[context.applicationId] = context.accumulator({}, _Sums())
    return made


class DevicesSince:
    """The batches of tasks that end from now on; those of other runs at the same time as well."""

    def __init__(self, spark: SparkSession) -> None:
        self._used = devices_used(spark)
        self._before = self._all()

    def _all(self) -> Mapping[str, int]:
        return {} if self._used is None else dict(self._used.value)

    def batches(self) -> dict[str, int]:
        """Batches by device; empty if that is not known."""
        now = self._all()
        return {
            name: count for name in sorted(now) if (count := now[name] - self._before.get(name, 0))
        }


def telling_devices(used: Accumulator[Batches] | None, matched: Iterator[Any]) -> Iterator[Any]:
    """On an executor: what a task has matched, which tells where when it is done."""
    before = device_counts.now()
    yield from matched
    if used is not None:
        used.add(device_counts.since(before))
