"""Many events against one segment, with the strategy that is expected to take the least time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array
from matchwood.match.batch.batch_strategy import BatchStrategy
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.device_counts import device_counts
from matchwood.match.batch.gpu.card import AUTO, CPU, CardError, CardMemoryError
from matchwood.match.batch.match_runs import MatchRuns, runs_of_pairs
from matchwood.match.batch.pairs import Pairs
from matchwood.match.batch.strategies.gpu_strategy import (
    GpuStrategy,
    missing_pairs,
    processor_instead,
)
from matchwood.match.batch.strategies.one_by_one import OneByOneStrategy
from matchwood.match.batch.strategies.sweep_strategy import SweepStrategy
from matchwood.match.batch.sweep.whole_program import WholeProgram
from matchwood.match.event.event_matcher import SegmentMatcher

# All strategies of the processor; of two that are expected to take the same time, the first one is
# used. The one of a GPU stands beside them: it is used where a GPU is asked for.
BATCH_STRATEGIES: tuple[type[BatchStrategy], ...] = (SweepStrategy, OneByOneStrategy)


# The most matches per event that a GPU looks for by their priority; for more it gives all matches.
MOST_BEST = 1024


class BatchMatcher:
    """A segment that is ready to be matched against many events."""

    def __init__(self, matcher: SegmentMatcher, program: WholeProgram | None = None) -> None:
        self._matcher = matcher
        self._program = program or WholeProgram(matcher.segment)
        self.rules = matcher.segment.rules
        self.strategies = {kind.name: kind(matcher, self._program) for kind in BATCH_STRATEGIES}
        self._forced: BatchStrategy | None = None
        self._gpu: dict[str, GpuStrategy] = {}

    @property
    def gpu(self) -> GpuStrategy:
        """The strategy that uses a GPU."""
        if not self._gpu:  # of several threads that make one, all take the one that is set first
            self._gpu.setdefault(GpuStrategy.name, GpuStrategy(self._matcher, self._program))
        return self._gpu[GpuStrategy.name]

    @property
    def bytes(self) -> int:
        """Bytes that strategies hold beside the segment."""
        return sum(strategy.bytes for strategy in self.strategies.values())

    def force(self, name: str | None) -> bool:
        """Match all batches with the strategy of this name from now on, whatever it costs.

        Whether the segment allows it; if it does not, or without a name, the strategy is chosen.
        """
        if name == GpuStrategy.name:
            strategy: BatchStrategy | None = self.gpu
        else:
            strategy = None if name is None else self.strategies[name]
        self._forced = strategy if strategy is not None and strategy.is_possible() else None
        return self._forced is not None

    def pairs(
        self, codes: BatchCodes, keep: NDArray[np.uint8], device: str = CPU
    ) -> Iterator[Pairs]:
        """(events, ordinals) of all matches, in pieces."""
        if codes.events == 0 or self.rules == 0:
            return
        if self.uses_gpu(device, codes.events):
            yield from self._on_gpu(codes, keep)
        elif self._forced is not None:
            device_counts.add()
            yield from self._forced.pairs(codes, keep, 0, codes.events)
        else:
            yield from self._on_processor(codes, keep)

    def best_pairs(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        priority: NDArray[np.float64] | None,
        limit: int,
        device: str = CPU,
    ) -> Iterator[Pairs]:
        """The `limit` matches of highest priority of each event, and others, in pieces.

        A GPU finds them by itself, so that no more matches than these are copied to the host.
        """
        few = 0 < limit <= MOST_BEST
        if codes.events and self.rules and few and self.uses_gpu(device, codes.events):
            try:
                found = self.gpu.best(codes, keep, priority, limit)
                device_counts.add(self.gpu.description)
                yield from found
                return
            except CardError as error:
                processor_instead(error)
        yield from self.pairs(codes, keep, device)

    def runs(
        self, codes: BatchCodes, keep: NDArray[np.uint8], device: str = CPU
    ) -> Iterator[MatchRuns]:
        """All matches as runs, each rule in one place; a GPU writes them by itself."""
        if not codes.events or not self.rules:
            return
        if self.uses_gpu(device, codes.events):
            try:
                found = self.gpu.runs(codes, keep)
                device_counts.add(self.gpu.description)
                yield from found
                return
            except CardError as error:
                processor_instead(error)
        yield runs_of_pairs(list(self.pairs(codes, keep)))

    def event_counts(
        self, codes: BatchCodes, keep: NDArray[np.uint8], device: str = CPU
    ) -> Int64Array:
        """How many rules are true of each event of a batch."""
        if codes.events and self.rules and self.uses_gpu(device, codes.events):
            try:
                return self.gpu.counts_of_events(codes, keep)
            except CardError as error:
                processor_instead(error)
        counts = np.zeros(codes.events, np.int64)
        for events, _ in self.pairs(codes, keep):
            counts += np.bincount(events, minlength=codes.events)
        return counts

    def uses_gpu(self, device: str, events: int) -> bool:
        """Whether a batch of so many events goes to a GPU."""
        if self._forced is not None:
            return self._forced is self._gpu.get(GpuStrategy.name)
        return self._prefers_gpu(device, events)

    def _prefers_gpu(self, device: str, events: int) -> bool:
        """Whether a GPU is wanted, there, and, if that is left open, expected to be faster."""
        if device == CPU:
            return False
        if not self.gpu.is_possible():
            if device != AUTO:
                self.gpu.say_why_not()
            return False
        if device != AUTO:
            return True
        processor = min(kind.expected_seconds(events) for kind in self.strategies.values())
        return self.gpu.expected_seconds(events) < processor

    def _on_gpu(self, codes: BatchCodes, keep: NDArray[np.uint8]) -> Iterator[Pairs]:
        """All matches by a GPU; if it fails, the processor gives those that are still missing.

        If its memory runs out, rules are swept in more slices, from the next batch on where some
        matches of this one were given already.
        """
        while True:
            try:
                yield from self.gpu.pairs(codes, keep, 0, codes.events)
                device_counts.add(self.gpu.description)
                return
            except CardError as error:
                is_sliced = isinstance(error, CardMemoryError) and self.gpu.slice_more()
                if is_sliced and not error.given:
                    continue
                if not is_sliced:
                    processor_instead(error)
                missing = list(self._on_processor(codes, keep))
                yield from [missing_pairs(error, missing)] if error.given else missing
                return

    def _on_processor(self, codes: BatchCodes, keep: NDArray[np.uint8]) -> Iterator[Pairs]:
        device_counts.add()
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
