"""What a strategy for matching many events is: a name, what it needs, what it costs.

To add a strategy, put it into `strategies` and into the list of `batch_matcher`. Tests force every
strategy of that list by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.pairs import Pairs
from matchwood.match.batch.sweep.whole_program import WholeProgram
from matchwood.match.event.event_matcher import SegmentMatcher

# Names of costs that this process has measured before, so that their kernels are loaded.
_measured: set[str] = set()


class LearntCost:
    """Seconds that a strategy takes, learnt as it is used.

    The cost of a strategy that is not used is lowered step by step, so that it is tried again.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.seconds = seconds

    def learn(self, seconds: float) -> None:
        """Take a measurement into account, except for the first one of a process.

        That one includes loading kernels, or even compiling them.
        """
        if self.name in _measured:
            self.seconds = 0.5 * self.seconds + 0.5 * seconds
        _measured.add(self.name)

    def pass_over(self) -> None:
        """Another strategy was used."""
        self.seconds *= 0.998


class BatchStrategy(ABC):
    """A way of matching many events against one segment; threads share it."""

    name: str
    cost: LearntCost
    trial = 0  # events that it is tried with before it matches a whole batch; 0: it is not tried

    @abstractmethod
    def __init__(self, matcher: SegmentMatcher, program: WholeProgram) -> None:
        """The strategy for the segment of a matcher; those that sweep share its program."""

    @abstractmethod
    def is_possible(self) -> bool:
        """Whether the strategy can match events against the segment."""

    @abstractmethod
    def expected_seconds(self, events: int) -> float:
        """Seconds that so many events are expected to take."""

    @property
    def bytes(self) -> int:
        """Bytes of what the strategy holds beside the segment, without scratch."""
        return 0

    @abstractmethod
    def pairs(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        low: int,
        high: int,
    ) -> Iterator[Pairs]:
        """All matches of the events low..high, in pieces."""
