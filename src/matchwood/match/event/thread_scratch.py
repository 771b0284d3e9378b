"""What one thread writes while it matches events against a segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_view import ArrayView
from matchwood.match.event.cell_index import NO_CELLS
from matchwood.match.event.cell_kernels import LeafCells
from matchwood.match.event.event_kernels import LAYOUTS, Groups, RuleOutput
from matchwood.match.event.literal_kernels import EPOCHS, EventIndex, EventScratch


class ThreadScratch:
    """Scratch for one event at a time, and the epoch of the last event.

    States of nodes and groups count only if they were written in the current epoch, so that
    nothing has to be cleared between events.
    """

    def __init__(self, segment: Segment, index: EventIndex, queue: int) -> None:
        nodes, groups = segment.nodes, len(segment.tree.group_start) - 1
        depth = len(segment.tree.levels) + 2
        waking = 2 * nodes if segment.lazy else nodes  # a record that waits may be woken as well
        self.arrays = EventScratch(
            np.zeros(max(1, len(segment.slots)), np.int32),
            np.zeros(nodes, np.uint8),
            np.zeros(groups + 1, np.uint8),
            np.zeros(len(segment.opaque), np.uint8),
            np.empty(waking + queue, np.int32),
            np.empty(3 * depth, np.int64),
            np.empty(groups + 1, np.int32),
            np.empty(waking + 1, np.int32),
            np.zeros(5, np.int64),
        )
        self.rules = np.empty(segment.rules, np.int32)
        self._groups = Groups(segment.tree.group_start, segment.tree.always)
        self.view = self.view_with(index, NO_CELLS)
        self.epoch = 0
        self.owner: object | None = None  # the strategy, beside pushing, that `owned` belongs to
        self.owned: Any = None

    def view_with(self, index: EventIndex, cells: LeafCells) -> ArrayView:
        """What kernels see of this scratch, with an index and cells."""
        output = RuleOutput(self.rules, np.empty(cells.room, np.int32))
        return ArrayView(LAYOUTS, index, self._groups, cells, self.arrays, output)

    def next_epoch(self) -> int:
        """Forget the last event."""
        self.epoch += 1
        if self.epoch > EPOCHS:
            self.epoch = 1
            for states in (self.arrays.state, self.arrays.seen, self.arrays.opaque):
                states.fill(0)
        return self.epoch
