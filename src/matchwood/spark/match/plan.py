"""What a task is told: which rules to match, how to read events and what to write.

A plan travels with every task, so it holds names and numbers and nothing large. It knows nothing
of the driver: segments are named as files that were shipped to the executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from matchwood.kernels.array_types import Int32Array
from matchwood.schema import Schema
from matchwood.spark.events.event_attributes import Reading
from matchwood.spark.match.given_lists import ShippedLists

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

# What `match_events` writes: one row per match, or one row per event with an array of rules.
ROWS, EVENTS = "rows", "events"
# Outputs by the names that they had before, which are still accepted.
FORMER_OUTPUTS = {"array": EVENTS}
# How segments are held: all of them open in every worker, or one shard after the other.
REPLICATED, SHARDED = "replicated", "sharded"

# Matches: the number of the event within its slice, and the index of the rule among all ids.
SlicePairs = tuple[Int32Array, Int32Array]
# Some consecutive events: the number of the first, how many there are, and their matches.
Slice = tuple[int, int, Iterator[SlicePairs]]


class Plan(NamedTuple):
    """Everything that a matching task needs to know."""

    names: tuple[str, ...]  # of the segment files
    id_type: str  # "string" or "bigint", as Spark calls them
    reading: Reading
    output: str  # ROWS or EVENTS
    layout: str  # REPLICATED or SHARDED
    rejects: bool  # whether events that cannot be read are written too, with the reason
    tags: tuple[str, ...] | None
    limit: int | None
    schema: Schema | None
    operators: str | None = None  # the import path of a module
    kernels: str | None = None  # the name of a shipped file
    # The packed buckets that a segment has and another one has anew, with the name of the segment.
    replaced: tuple[tuple[str, bytes], ...] = ()
    rule_columns: tuple[str, ...] = ()  # what is written about each rule beside its id
    lists: ShippedLists = ()  # those that rules name, as names of shipped files
    device: str | None = None  # "cpu", "gpu" or "auto"; None leaves it to the task
    devices_used: Accumulator[dict[str, int]] | None = None  # to which tasks add theirs
