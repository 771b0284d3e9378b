"""Many events against one segment, with the strategy that is expected to take the least time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.match.batch.batch_strategy import BatchStrategy, Pairs
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.strategies.one_by_one import OneByOneStrategy
from matchwood.match.batch.strategies.sweep_strategy import SweepStrategy
from matchwood.match.event.event_matcher import SegmentMatcher

# All strategies; of two that are expected to take the same time, the first one is used.
BATCH_STRATEGIES: tuple[type[BatchStrategy], ...] = (SweepStrategy, OneByOneStrategy)


class BatchMatcher:
    """A segment that is ready to be matched against many events."""

    def __init__(self, matcher: SegmentMatcher) -> None:
        self._rules = matcher.segment.rules
        self.strategies = {kind.name: kind(matcher) for kind in BATCH_STRATEGIES}
        self._forced: BatchStrategy | None = None

    @property
    def bytes(self) -> int:
        """Bytes that strategies hold beside the segment."""
        return sum(strategy.bytes for strategy in self.strategies.values())

    def force(self, name: str | None) -> bool:
        """Match all batches with the strategy of this name from now on, whatever it costs.

        Whether the segment allows it; if it does not, or without a name, the strategy is chosen.
        """
        strategy = None if name is None else self.strategies[name]
        self._forced = strategy if strategy is not None and strategy.is_possible() else None
        return self._forced is not None

    def pairs(self, codes: BatchCodes, keep: NDArray[np.uint8]) -> Iterator[Pairs]:
        """(events, ordinals) of all matches, in pieces."""
        if codes.events == 0 or self._rules == 0:
            return
        if self._forced is not None:
            yield from self._forced.pairs(codes, keep, 0, codes.events)
            return
        possible = [candidate for candidate in self.strategies.values() if candidate.is_possible()]
        strategy = _cheapest(possible, codes.events)
        tried: list[Pairs] = []
        first = 0
        if strategy.trial and len(possible) > 1:
            first = min(strategy.trial, codes.events)
            tried = list(strategy.pairs(codes, keep, 0, first))
            better = _cheapest(possible, codes.events - first)
            if better is not strategy:
                strategy, tried, first = better, [], 0
        for other in possible:
            if other is not strategy:
                other.cost.pass_over()
        yield from tried
        yield from strategy.pairs(codes, keep, first, codes.events)


def _cheapest(strategies: Sequence[BatchStrategy], events: int) -> BatchStrategy:
    return min(strategies, key=lambda strategy: strategy.expected_seconds(events))
