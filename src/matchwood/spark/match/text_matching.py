"""A column of JSON texts, matched as it is: no Python object is made for most events.

match_texts         texts that may be bad, in one pass with their matches
readable_texts      which texts are good, for those who match them later, or more than once
slices_of_texts     the matches of texts that are all good
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.language.events import Event
from matchwood.match.search.json_texts import blocks_of
from matchwood.match.store.snapshot import Snapshot
from matchwood.spark.events.event_attributes import Reading
from matchwood.spark.events.event_batches import kept_columns, one_array, read_events
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.open_rules import Opened, joined
from matchwood.spark.match.plan import Plan, Slice

# Texts that are matched together, so that all shards give the matches of the same ones at a time.
TEXTS_AT_ONCE = 8_192


class ReadableTexts(NamedTuple):
    """The texts that are events, and the rows that are none, with the reason."""

    texts: Any
    rows: NDArray[np.int64] | None  # of the texts; None for all rows
    rejected: list[tuple[int, str]]


def match_texts(plan: Plan, rules: Opened, writer: MatchWriter, table: Any) -> Iterator[Any]:
    """The matches of the texts in the first column of a table; bad texts are rejected."""
    kept = kept_columns(table, plan.reading)
    if plan.reading.schema is not None:
        read = readable_texts(table, plan.reading)
        yield from writer.rejected(kept, read.rejected)
        kept = kept if read.rows is None else [column.take(pa.array(read.rows)) for column in kept]
        for low, events, pairs in joined(slices_of_texts(plan, rules, read.texts)):
            yield from writer.matches(
                [c.slice(low, events) for c in kept], events, pairs, rules.ids
            )
        return
    good: list[NDArray[np.int64]] = []
    rejected: list[tuple[int, str]] = []
    texts = one_array(table.column(0))
    search = rules.snapshot.json_search(plan.tags, plan.limit, inspect=_all_readable)
    for low, events, pairs in joined(_slices(search, texts, good, rejected)):
        rows = np.concatenate(good)[low : low + events]
        part = [column.take(pa.array(rows)) for column in kept]
        yield from writer.matches(part, events, pairs, rules.ids)
    yield from writer.rejected(kept, rejected)


def readable_texts(table: Any, reading: Reading) -> ReadableTexts:
    """The texts in the first column of a table that can be read, and fit a schema if there is one.

    A schema is about values, so that each text becomes an object then. Otherwise the scanner tells:
    whatever an event cannot have, it leaves to Python, whether rules ask for it or not.
    """
    texts = one_array(table.column(0))
    if reading.schema is not None:
        read = read_events(table, reading)
        rows, rejected = read.rows, read.rejected
    else:
        good: list[NDArray[np.int64]] = []
        rejected = []
        search = _no_rules().json_search(inspect=_all_readable)
        for _ in _slices(search, texts, good, rejected):
            pass
        rows = np.concatenate([np.empty(0, np.int64), *good]) if rejected else None
    return ReadableTexts(texts if rows is None else texts.take(pa.array(rows)), rows, rejected)


def slices_of_texts(plan: Plan, rules: Opened, texts: Any) -> Iterator[Slice]:
    """The matches of readable texts, as many texts at a time whatever the rules."""
    search = rules.snapshot.json_search(plan.tags, plan.limit)
    for low in range(0, len(texts), TEXTS_AT_ONCE):
        some = texts.slice(low, TEXTS_AT_ONCE)
        yield low, len(some), _pairs(search, some)


def _pairs(search: Any, texts: Any) -> Iterator[Any]:
    """The matches of texts, which are numbered from 0 on."""
    for piece in search.slices(blocks_of(texts)):
        if piece.bad:  # which nobody would be told of any more
            raise next(iter(piece.bad.values()))
        first = np.int32(piece.block.first)
        for numbers, found in piece.pairs:
            yield (numbers + first if first else numbers), found


def _slices(
    search: Any,
    texts: Any,
    good: list[NDArray[np.int64]],
    rejected: list[tuple[int, str]],
) -> Iterator[Slice]:
    """The matches of good texts, which are numbered without the bad ones.

    Their rows are added to `good`, and the bad ones to `rejected`, before a slice is given.
    """
    done = 0
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


@cache
def _no_rules() -> Snapshot:
    """A segment whose only rule is never true: its scanner checks a text, and asks for nothing."""
    from matchwood.matcher import Matcher

    matcher = Matcher({0: "false"})
    matcher.compact()
    matcher.join()
    return matcher.store.snapshot


def _all_readable(event: Mapping[str, object]) -> None:
    """Raise an EventError if an attribute cannot be read, whether rules ask for it or not."""
    seen = Event(event)
    for name in seen.raw:
        seen[name]
