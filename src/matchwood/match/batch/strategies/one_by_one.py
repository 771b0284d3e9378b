"""One event after the other, each with the strategy that is chosen for single events.

Pays where an event touches few nodes of a segment, and is possible for every segment.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.match.batch.batch_strategy import BatchStrategy, LearntCost
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.pairs import BUFFERED_PAIRS, Pairs
from matchwood.match.batch.sweep.whole_program import WholeProgram
from matchwood.match.event.event_matcher import SegmentMatcher

# Events that are tried before the rest of a batch is matched.
TRIAL_EVENTS = 32

# Nodes from which on an event is expected to take longer, before anything is measured.
_LARGE = 10_000


class OneByOneStrategy(BatchStrategy):
    """Match each event of a batch on its own."""

    name = "one by one"
    trial = TRIAL_EVENTS

    def __init__(self, matcher: SegmentMatcher, program: WholeProgram) -> None:
        self._matcher = matcher
        self.cost = LearntCost(self.name, 2e-4 if matcher.segment.nodes > _LARGE else 2e-5)

    def is_possible(self) -> bool:
        return True

    def expected_seconds(self, events: int) -> float:
        return events * self.cost.seconds

    def pairs(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        low: int,
        high: int,
    ) -> Iterator[Pairs]:
        started = time.thread_time()
        lazy = codes.lazy
        matches: list[tuple[int, Int32Array]] = []
        pair_count = 0
        for event in range(low, high):
            truth = None if lazy is None else partial(lazy.truth, event)
            ordinals = self._matcher.match_codes(*codes.event(event), truth, keep)
            matches.append((event, ordinals))
            pair_count += len(ordinals)
            if pair_count > BUFFERED_PAIRS:
                took = time.thread_time() - started
                yield _joined(matches)
                matches, pair_count = [], 0
                started = time.thread_time() - took
        if high > low:
            self.cost.learn((time.thread_time() - started) / (high - low))
        yield _joined(matches)


def _joined(matches: Sequence[tuple[int, Int32Array]]) -> Pairs:
    counts = [len(ordinals) for _, ordinals in matches]
    events = np.repeat(np.array([event for event, _ in matches], np.int32), counts)
    return events, np.concatenate([np.empty(0, np.int32), *(ordinals for _, ordinals in matches)])
