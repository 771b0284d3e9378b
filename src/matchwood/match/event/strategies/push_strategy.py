"""Pushing: from the literals that are true of an event to the nodes that they wake.

This is what every segment starts with. It takes time in proportion to what an event wakes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array
from matchwood.language.events import Event
from matchwood.match.event.cell_index import NO_CELLS
from matchwood.match.event.cell_kernels import LeafCells
from matchwood.match.event.event_kernels import SMALL, match_large, match_small
from matchwood.match.event.literal_kernels import EventIndex
from matchwood.match.event.strategy import (
    EventCodes,
    EventStrategy,
    IndexedSegment,
    PreparedStrategy,
    PushSample,
)
from matchwood.match.event.thread_scratch import ThreadScratch


class PushStrategy(EventStrategy):
    """Push lists alone.

    A kernel for a small segment keeps the GIL, as it ends before another thread would get it; one
    for a large segment releases it. `small` forces one of the two.
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
        self._arrays = target.arrays
        self._kernel = match_small if small else match_large

    @property
    def push_arrays(self) -> tuple[EventIndex, LeafCells]:
        return self._arrays, NO_CELLS

    def match(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        seen: Event | None,
        keep: NDArray[np.uint8],
    ) -> int:
        epoch = scratch.next_epoch()
        if self._lazy is not None:
            return self._lazy.match(scratch, scratch.view, event, hits, seen, keep)
        return int(self._kernel(scratch.view.places, *event, hits, keep, epoch))
