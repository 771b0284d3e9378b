"""Walking: all nodes of a segment in the order of levels, without a queue.

Where an event makes a large part of all nodes true, pushing reaches most of them anyway, some of
them several times, and jumps between them. A walk reads every record once, as they lie in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.records import state_of_record
from matchwood.match.event.lazy_atoms import LazyTruth
from matchwood.match.event.push_kernels import expand
from matchwood.match.event.strategy import (
    EventStrategy,
    IndexedSegment,
    PreparedStrategy,
    PushSample,
)
from matchwood.match.event.thread_scratch import EventCodes, ThreadScratch
from matchwood.match.event.walk_kernels import walk_one

# Seconds that reading one word of a record takes, about.
WORD_SECONDS = 2.5e-9

# The share of the time of pushing that a walk may be expected to take to be worth a try.
EXPECTED_SHARE = 0.8


class WalkArrays(NamedTuple):
    """What a walk reads beside the index; all of it belongs to the segment."""

    literal_group: NDArray[np.int64]


class WalkStrategy(EventStrategy):
    """A walk over all nodes; not for segments with atoms that are evaluated on demand."""

    name = "walk"

    def is_possible(self, segment: Segment) -> bool:
        return not segment.lazy

    def pays(self, segment: Segment, pushing: PushSample) -> bool:
        walking = WORD_SECONDS * len(segment.tree.records)
        return pushing.events * walking < EXPECTED_SHARE * pushing.seconds

    def prepare(self, target: IndexedSegment) -> PreparedStrategy:
        return PreparedWalk(target)


class PreparedWalk(PreparedStrategy):
    """A walk over one segment."""

    name = WalkStrategy.name

    def __init__(self, target: IndexedSegment) -> None:
        self._index = target.arrays
        self._tree = tree = target.segment.tree
        self._arrays = WalkArrays(tree.literal_group)

    def attach(self, scratch: ThreadScratch) -> None:
        if scratch.owner is not self:
            states = state_of_record(len(self._tree.records)) + 1
            scratch.owned = np.empty(states, np.uint8)  # truth of nodes
            scratch.owner = self

    def match(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        epoch = scratch.next_epoch()
        if scratch.owner is not self:
            self.attach(scratch)
        arrays = scratch.arrays
        count = walk_one(self._index, self._arrays, arrays, *event, hits, scratch.owned, epoch)
        groups = arrays.out[:count]
        start, always = self._tree.group_start, self._tree.always
        return int(expand(groups, start, always, keep, scratch.rules))
