"""A column of JSON texts, matched as it is: no Python object is made for most events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.language.events import Event
from matchwood.match.search.json_texts import blocks_of
from matchwood.spark.events.event_batches import kept_columns, one_array
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.open_rules import Opened, joined
from matchwood.spark.match.plan import Plan, Slice


def match_texts(plan: Plan, rules: Opened, writer: MatchWriter, table: Any) -> Iterator[Any]:
    """The matches of the texts in the first column of a table; bad texts are rejected."""
    kept = kept_columns(table, plan.reading)
    good: list[NDArray[np.int64]] = []
    rejected: list[tuple[int, str]] = []
    texts = one_array(table.column(0))
    for low, events, pairs in joined(_slices(plan, rules, texts, good, rejected)):
        rows = np.concatenate(good)[low : low + events]
        part = [column.take(pa.array(rows)) for column in kept]
        yield from writer.matches(part, events, pairs, rules.ids)
    yield from writer.rejected(kept, rejected)


def _slices(
    plan: Plan,
    rules: Opened,
    texts: Any,
    good: list[NDArray[np.int64]],
    rejected: list[tuple[int, str]],
) -> Iterator[Slice]:
    """The matches of good texts, which are numbered without the bad ones.

    Their rows are added to `good`, and the bad ones to `rejected`, before a slice is given.
    """
    done = 0
    search = rules.snapshot.json_search(plan.tags, plan.limit, inspect=_all_readable)
    for piece in search.slices(blocks_of(texts)):
        first = piece.block.first
        bad = sorted(piece.bad.items())
        rejected += [(first + number, str(error)) for number, error in bad]
        is_good = np.ones(piece.end - piece.first, np.bool_)
        is_good[[number - piece.first for number, _ in bad]] = False
        place = (np.cumsum(is_good) - 1).astype(np.int32)
        good.append(np.flatnonzero(is_good) + first + piece.first)
        count = len(good[-1])
        if count:
            pairs = ((place[events - piece.first], found) for events, found in piece.pairs)
            yield done, count, pairs
        done += count


def _all_readable(event: Mapping[str, object]) -> None:
    """Raise an EventError if an attribute cannot be read, whether rules ask for it or not."""
    seen = Event(event)
    for name in seen.raw:
        seen[name]
