"""The matches of many events as runs: fewer bytes than a table of pairs where matches are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from matchwood.index.build.threads import available_cores
from matchwood.kernels.array_types import Int64Array
from matchwood.match.batch.match_runs import MatchRuns, runs_of_pairs
from matchwood.match.search.arrow_matches import BatchSearch, MatchBatches, RuleIds, ids_of
from matchwood.match.search.batch_threads import in_threads
from matchwood.match.search.event_slices import EventSlice, slices_of
from matchwood.match.search.match_counts import counted_parts, other_pairs


class RuleRuns:
    """Matches of at most 1,024 events that follow each other: of each rule which of them it has.

    `first_event` is the row of the first of these events, and `events` how many they are. `rules`
    has the numbers of the rules that have any, `counts` how many each has, and `words` which they
    are: as many numbers of 16 bits as the rule has events, counted from `first_event` on, or, of a
    rule with 64 events or more, 64 words with a bit for each event, the lowest bit first. The id of
    a rule is at its number in `rule_ids`, an Arrow array.
    """

    def __init__(self, runs: MatchRuns, first_event: int, keys: Any, ids: RuleIds) -> None:
        self._runs = runs
        self._keys = keys
        self._ids = ids
        self.first_event = first_event

    @property
    def events(self) -> int:
        return len(self._keys)

    @property
    def rules(self) -> Any:
        return self._runs.rules

    @property
    def counts(self) -> Any:
        return self._runs.counts

    @property
    def words(self) -> Any:
        return self._runs.words

    @property
    def rule_ids(self) -> Any:
        return self._ids.values

    def __len__(self) -> int:
        """How many matches there are."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the matches: what came from the card."""
        return sum(array.nbytes for array in self._runs)

    def items(self) -> Iterator[tuple[Any, Int64Array]]:
        """The id of each rule, and the rows of its events, in ascending order."""
        for rule, numbers in self._runs.each():
            yield self.rule_ids[rule].as_py(), self.first_event + numbers.astype(np.int64)

    def to_arrow(self) -> Any:
        """The matches as a `pyarrow.RecordBatch` of `event` and `rule_id`, as `match_batches`
        gives them; those of a rule follow each other."""
        numbers, rules = self._runs.pairs()
        return MatchBatches(self._keys, self._ids).batch(numbers, rules)


def runs_of_search(search: BatchSearch, events: Any, threads: int | None) -> Iterator[RuleRuns]:
    """All matches, slice by slice unless there are several threads, and part by part."""
    ids = ids_of(search.parts, search.pending)
    alone = counted_parts(search)

    def found(numbered: tuple[int, EventSlice]) -> Iterator[RuleRuns]:
        first_event, piece = numbered
        for runs in _runs(search, piece, ids, alone):
            if len(runs.rules):
                yield RuleRuns(runs, first_event, piece.keys, ids)

    numbered = _numbered(slices_of(events, None, search.decider.aliases))
    if threads is None:
        threads = available_cores()
    if threads > 1:
        return (runs for _, runs in in_threads(numbered, found, threads))
    return (runs for each in numbered for runs in found(each))


def _numbered(slices: Iterable[EventSlice]) -> Iterator[tuple[int, EventSlice]]:
    """Slices with the row of the first event of each."""
    done = 0
    for piece in slices:
        yield done, piece
        done += piece.events


def _runs(
    search: BatchSearch, piece: EventSlice, ids: RuleIds, alone: list[bool]
) -> Iterator[MatchRuns]:
    for part, first_rule, is_alone in zip(search.parts, ids.first_rules, alone, strict=True):
        if is_alone and piece.events:
            codes = piece.part_codes(part)
            for runs in part.batch.runs(codes, part.keep(search.tags), search.device):
                yield runs._replace(rules=runs.rules + first_rule) if first_rule else runs
    yield runs_of_pairs(list(other_pairs(search, piece, alone)))
