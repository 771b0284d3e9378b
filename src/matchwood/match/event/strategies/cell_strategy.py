"""Cells: the `and`s that likely literals wake are found by rows of bits, the others by pushing.

Pays where pushing checks many records for an event; `cell_index` describes the layout.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.array_view import ArrayView
from matchwood.match.event.cell_index import FEWEST, CellIndex, cell_index
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
from matchwood.match.event.woken import LIKELY

# Records that an event must check on average for cells to be worth a try.
LEAST_RECORDS = 500

# The share of the time of pushing that checking records must take for cells to be worth a try.
LEAST_SHARE = 0.1

# Seconds that checking one record takes, about.
RECORD_SECONDS = 1e-8


class CellStrategy(EventStrategy):
    """Cells for `and`s that are woken by literals true of at least a share `likely` of the codes.

    At least `fewest` such `and`s are needed.
    """

    def __init__(self, name: str = "cells", likely: float = LIKELY, fewest: int = FEWEST) -> None:
        self.name = name
        self._likely = likely
        self._fewest = fewest

    def is_possible(self, segment: Segment) -> bool:
        return True

    def pays(self, segment: Segment, pushing: PushSample) -> bool:
        checking = RECORD_SECONDS * pushing.records
        many = pushing.records >= LEAST_RECORDS * pushing.events
        return many and checking >= LEAST_SHARE * pushing.seconds

    def prepare(self, target: IndexedSegment) -> PreparedStrategy | None:
        cells = cell_index(target.segment, target.arrays, self._likely, self._fewest)
        return None if cells is None else PreparedCells(self.name, target, cells)

    def variants(self) -> Sequence[EventStrategy]:
        return (
            CellStrategy("cells, all literals", 0.0, 1),
            CellStrategy("cells, likely literals", LIKELY, 1),
        )


class PreparedCells(PreparedStrategy):
    """Cells for one segment."""

    def __init__(self, name: str, target: IndexedSegment, cells: CellIndex) -> None:
        self.name = name
        self._lazy = target.lazy
        self._cells = cells
        self._packed = target.segment.nodes <= SMALL and target.lazy is None

    @property
    def bytes(self) -> int:
        return self._cells.bytes

    @property
    def push_arrays(self) -> tuple[EventIndex, LeafCells]:
        return self._cells.index, self._cells.cells

    def attach(self, scratch: ThreadScratch) -> None:
        if scratch.owner is not self:
            scratch.owned = scratch.view_with(self._cells.index, self._cells.cells)
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
        view = self._view(scratch)
        if self._lazy is not None:
            return self._lazy.match(scratch, view, event, hits, truth, keep)
        return int(match_codes(view.places, *event, hits, keep, epoch))

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
        return int(match_entries(self._view(scratch).places, entries, keep, epoch))

    def _view(self, scratch: ThreadScratch) -> ArrayView:
        if scratch.owner is not self:
            self.attach(scratch)
        view: ArrayView = scratch.owned
        return view
