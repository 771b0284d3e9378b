"""Jumps: every rule in turn, each only until its truth is decided, several rules at a time.

Where an event makes a large part of all nodes true, pushing reaches most of them, and a walk reads
all. What decides a rule is then mostly found after a few predicates. So each rule is laid out for
itself, predicate by predicate, with what it shares with others written out; each predicate says
where to go on. There is no stack and no branch that a processor would have to foresee.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.match.event.jump_kernels import (
    Jumps,
    count_roots,
    expanded_sizes,
    lay_out_steps,
    scan_by_jumps,
)
from matchwood.match.event.lazy_atoms import LazyTruth
from matchwood.match.event.push_kernels import expand
from matchwood.match.event.strategy import (
    EventStrategy,
    IndexedSegment,
    PreparedStrategy,
    PushSample,
)
from matchwood.match.event.thread_scratch import EventCodes, ThreadScratch

# Seconds that a scan takes for each word of the records, about.
WORD_SECONDS = 1e-9

# The share of the time of pushing that a scan may be expected to take to be worth a try.
EXPECTED_SHARE = 0.8

# Steps per word of the records, at most: more of them say that rules have too much in common.
STEPS_PER_WORD = 4

# Steps of all rules, at most, which take 512 MB.
MOST_STEPS = 1 << 25


class JumpStrategy(EventStrategy):
    """A scan of all rules by jumps; not for segments with atoms that are evaluated on demand."""

    name = "jumps"

    def is_possible(self, segment: Segment) -> bool:
        return not segment.lazy

    def pays(self, segment: Segment, pushing: PushSample) -> bool:
        scanning = WORD_SECONDS * len(segment.tree.records)
        return pushing.events * scanning < EXPECTED_SHARE * pushing.seconds

    def prepare(self, target: IndexedSegment) -> PreparedStrategy | None:
        tree, first = target.segment.tree, target.segment.first
        sizes = expanded_sizes(tree.records, first)
        roots, steps = count_roots(tree.records, sizes)
        if steps > min(MOST_STEPS, STEPS_PER_WORD * len(tree.records)):
            return None
        arrays = lay_out_steps(tree.records, tree.pushes, first, tree.literal_group, sizes, roots)
        return PreparedJumps(target, Jumps(*(read_only(array) for array in arrays)))


class PreparedJumps(PreparedStrategy):
    """A scan of one segment."""

    name = JumpStrategy.name

    def __init__(self, target: IndexedSegment, jumps: Jumps) -> None:
        self._index = target.arrays
        self._tree = target.segment.tree
        self._jumps = jumps

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self._jumps)

    def match(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        epoch = scratch.next_epoch()
        arrays = scratch.arrays
        count = scan_by_jumps(self._index, self._jumps, arrays, *event, hits, epoch)
        start, always = self._tree.group_start, self._tree.always
        return int(expand(arrays.out[:count], start, always, keep, scratch.rules))
