"""The replicated layout: a worker has all segments open and matches one table after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from matchwood.spark.events.event_attributes import JSON
from matchwood.spark.events.event_batches import gathered, kept_columns, read_events
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.open_rules import joined, opened, slices_of_matches
from matchwood.spark.match.plan import Plan
from matchwood.spark.match.text_matching import match_texts


def match_replicated(
    plan: Plan, batches: Iterator[Any], writer: MatchWriter | None = None
) -> Iterator[Any]:
    """The matches of a partition. Segments are opened only if there is an event."""
    writer = writer or MatchWriter(plan)
    rules = None
    for table in gathered(batches):
        rules = rules or opened(plan)
        if plan.reading.form == JSON:
            yield from match_texts(plan, rules, writer, table)
            continue
        read = read_events(table, plan.reading)
        kept = kept_columns(table, plan.reading)
        yield from writer.rejected(kept, read.rejected)
        kept = kept if read.rows is None else [column.take(pa.array(read.rows)) for column in kept]
        for low, events, pairs in joined(slices_of_matches(plan, rules, read.events)):
            part = [column.slice(low, events) for column in kept]
            yield from writer.matches(part, events, pairs, rules.ids)
