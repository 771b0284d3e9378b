"""What a strategy for matching one event is: a name, what it needs, when it pays, how it matches.

A strategy is prepared for one segment, which may take time and memory; what that gives matches
events. To add a strategy, put it into `strategies` and into the list of `event_strategies`. Tests
force every strategy of that list, and every variant of it, by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.match.event.cell_kernels import LeafCells
from matchwood.match.event.lazy_atoms import LazyAtoms, LazyTruth
from matchwood.match.event.literal_kernels import EventIndex
from matchwood.match.event.thread_scratch import EventCodes, ThreadScratch


class IndexedSegment(NamedTuple):
    """A segment, its arrays as kernels read them, and its atoms that are evaluated on demand."""

    segment: Segment
    arrays: EventIndex
    lazy: LazyAtoms | None


class PushSample(NamedTuple):
    """What pushing took for some events."""

    events: int
    records: int  # that were checked
    seconds: float


class PreparedStrategy(ABC):
    """A strategy that is ready to match events against one segment; threads share it."""

    name: str

    @property
    def bytes(self) -> int:
        """Bytes that it holds beside the segment."""
        return 0

    @property
    def push_arrays(self) -> tuple[EventIndex, LeafCells] | None:
        """What the kernels that push read for this strategy; None if it has kernels of its own."""
        return None

    def attach(self, scratch: ThreadScratch) -> None:
        """Make what one thread needs, so that the first event does not pay for it."""
        del scratch  # most strategies need nothing of their own

    @abstractmethod
    def match(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        """Write the ordinals of the rules that are true to `scratch.rules`; how many they are.

        `hits` are the value tests that are true of the event. `truth` answers for atoms that are
        evaluated on demand; it is None if there are none. `keep` says which rules to report; empty:
        all of them.
        """

    def match_entries(
        self,
        scratch: ThreadScratch,
        entries: Int64Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        """`match` of an event that is given as entries (`kernels.event_entries`)."""
        return self.match(scratch, *scratch.unpack(entries), truth, keep)


class EventStrategy(ABC):
    """A way of matching one event at a time."""

    name: str

    @abstractmethod
    def is_possible(self, segment: Segment) -> bool:
        """Whether the strategy can match events against this segment."""

    @abstractmethod
    def pays(self, segment: Segment, pushing: PushSample) -> bool:
        """Whether it is worth preparing, after what pushing took for some events."""

    @abstractmethod
    def prepare(self, target: IndexedSegment) -> PreparedStrategy | None:
        """The strategy for one segment; None if there is nothing in the segment that it is for."""

    def variants(self) -> Sequence[EventStrategy]:
        """Other settings of the strategy, which tests force as well; each has its own name."""
        return ()
