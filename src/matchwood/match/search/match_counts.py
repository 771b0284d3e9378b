"""How many matches each rule or each event has, without a list of the matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.index.build.threads import available_cores
from matchwood.kernels.array_types import Int64Array
from matchwood.match.batch.pairs import Pairs
from matchwood.match.batch.rule_counts import RuleCounts
from matchwood.match.search.arrow_matches import BatchSearch, ids_of
from matchwood.match.search.batch_search import match_slice
from matchwood.match.search.batch_threads import in_threads
from matchwood.match.search.event_slices import EventSlice, slices_of

# What matches are counted by.
BY_RULE, BY_EVENT = "rule", "event"


def count_table(
    search: BatchSearch, events: Any, by: str, key: str | None, threads: int | None
) -> Any:
    """An Arrow table of the matches of each rule that has any, or of each event."""
    if by == BY_RULE:
        return _by_rule(search, events, threads)
    if by == BY_EVENT:
        return _by_event(search, events, key, threads)
    raise ValueError(f"by is {by!r}, expected {BY_RULE!r} or {BY_EVENT!r}")


def _by_rule(search: BatchSearch, events: Any, threads: int | None) -> Any:
    ids = ids_of(search.parts, search.pending)
    counted = counted_parts(search)
    counts = [
        RuleCounts(part.batch, part.keep(search.tags), search.device) if is_counted else None
        for part, is_counted in zip(search.parts, counted, strict=True)
    ]

    def count(piece: EventSlice) -> Iterator[Int64Array]:
        for part, of_part in zip(search.parts, counts, strict=True):
            if of_part is not None:
                of_part.add(piece.part_codes(part))
        for _, rules in other_pairs(search, piece, counted):
            yield np.bincount(rules, minlength=len(ids.values))

    totals = np.zeros(len(ids.values), np.int64)
    for _, more in _each_slice(slices_of(events, None, search.decider.aliases), count, threads):
        totals += more
    for first, of_part in zip(ids.first_rules, counts, strict=True):
        if of_part is not None:
            found = of_part.totals()
            totals[first : first + len(found)] += found
    rules = np.flatnonzero(totals)
    return pa.table({"rule_id": ids.values.take(pa.array(rules)), "matches": totals[rules]})


def _by_event(search: BatchSearch, events: Any, key: str | None, threads: int | None) -> Any:
    counted = counted_parts(search)

    def count(piece: EventSlice) -> Iterator[tuple[Any, Int64Array]]:
        totals = np.zeros(piece.events, np.int64)
        for part, is_counted in zip(search.parts, counted, strict=True):
            if is_counted:
                keep = part.keep(search.tags)
                totals += part.batch.event_counts(piece.part_codes(part), keep, search.device)
        for numbers, _ in other_pairs(search, piece, counted):
            totals += np.bincount(numbers, minlength=piece.events)
        yield piece.keys, totals

    found = sorted(
        _each_slice(slices_of(events, key, search.decider.aliases), count, threads),
        key=lambda each: each[0],
    )
    keys = [keys for _, (keys, _) in found] or [pa.array([], pa.int64())]
    matches = [np.empty(0, np.int64), *(totals for _, (_, totals) in found)]
    return pa.table({"event": pa.chunked_array(keys), "matches": np.concatenate(matches)})


def counted_parts(search: BatchSearch) -> list[bool]:
    """Which parts can be matched by themselves: those where no operator is asked."""
    return [not part.calls_operators for part in search.parts]


def other_pairs(search: BatchSearch, piece: EventSlice, counted: list[bool]) -> Iterator[Pairs]:
    """The matches of pending rules, and of the parts that are not matched by themselves."""
    ids = ids_of(search.parts, search.pending)
    others = [number for number, is_counted in enumerate(counted) if not is_counted]
    if piece.events and (others or search.pending):
        yield from match_slice(
            [search.parts[number] for number in others],
            search.pending,
            [ids.first_rules[number] for number in others],
            ids.first_pending,
            piece,
            search.tags,
            search.decider,
            search.device,
            taking_over=search.taking_over,
        )


def _each_slice(slices: Any, count: Any, threads: int | None) -> Iterator[tuple[int, Any]]:
    """(number of the slice, what is counted of it)."""
    if threads is None:
        threads = available_cores()
    if threads > 1:
        yield from in_threads(slices, count, threads)
        return
    for number, piece in enumerate(slices):
        for found in count(piece):
            yield number, found
