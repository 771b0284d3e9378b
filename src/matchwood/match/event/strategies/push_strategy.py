"""Pushing: from the literals that are true of an event to the nodes that they wake.

This is what every segment starts with. It takes time in proportion to what an event wakes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.match.event.cell_index import NO_CELLS
from matchwood.match.event.cell_kernels import LeafCells
from matchwood.match.event.event_kernels import SMALL, match_codes, match_entries
from matchwood.match.event.lazy_atoms import LazyTruth
from matchwood.match.event.literal_kernels import EventIndex
from matchwood.match.event.strategy import (
    EventStrategy,
    IndexedSegment,
    PreparedStrategy,
    PushSample,
)
from matchwood.match.event.thread_scratch import EventCodes, ThreadScratch


class PushStrategy(EventStrategy):
    """Push lists alone.

    The kernel for single events of a small segment keeps the GIL, as it ends before another thread
    would get it, and unpacks their entries; that of a large segment releases it. `small` forces one
    of the two.
    """

    def __init__(self, small: bool | None = None) -> None:
        self._small = small
        self.name = {None: "push", True: "push, small index", False: "push, large index"}[small]

    def is_possible(self, segment: Segment) -> bool:
        return True

    def pays(self, segment: Segment, pushing: PushSample) -> bool:
        return False  # it is what the others are compared with

    def prepare(self, target: IndexedSegment) -> PreparedStrategy:
        small = target.segment.nodes <= SMALL if self._small is None else self._small
        return PreparedPush(self.name, target, small)

    def variants(self) -> Sequence[EventStrategy]:
        return PushStrategy(True), PushStrategy(False)


class PreparedPush(PreparedStrategy):
    """Pushing for one segment."""

    def __init__(self, name: str, target: IndexedSegment, small: bool) -> None:
        self.name = name
        self._lazy = target.lazy
        self._packed = small and target.lazy is None
        self._arrays = target.arrays

    @property
    def push_arrays(self) -> tuple[EventIndex, LeafCells]:
        return self._arrays, NO_CELLS

    def match(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        epoch = scratch.next_epoch()
        if self._lazy is not None:
            return self._lazy.match(scratch, scratch.view, event, hits, truth, keep)
        return int(match_codes(scratch.view.places, *event, hits, keep, epoch))

    def match_entries(
        self,
        scratch: ThreadScratch,
        entries: Int64Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        if not self._packed or len(entries) > scratch.room:
            return super().match_entries(scratch, entries, truth, keep)
        epoch = scratch.next_epoch()
        return int(match_entries(scratch.view.places, entries, keep, epoch))
