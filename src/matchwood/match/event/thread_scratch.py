"""What one thread writes while it matches events against a segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.array_view import ArrayView
from matchwood.kernels.records import state_of_record
from matchwood.match.event.bound_index import NO_BOUNDS, bound_masks
from matchwood.match.event.bound_kernels import BoundBlocks
from matchwood.match.event.cell_index import NO_CELLS
from matchwood.match.event.cell_kernels import LeafCells
from matchwood.match.event.event_kernels import (
    HITS_UNPACKED,
    LAYOUTS,
    LISTS_UNPACKED,
    SLOTS_UNPACKED,
    UNPACKED_SIZES,
    VALUES_UNPACKED,
    Groups,
    RuleOutput,
    UnpackedEvent,
    unpack_entries,
)
from matchwood.match.event.literal_kernels import EPOCHS, EventIndex, EventScratch

# An event as kernels take it: slots, their codes, bounds of lists, codes of the values in lists.
EventCodes = tuple[Int32Array, Int32Array, Int32Array, Int32Array]

# Entries of an event that scratch has room for at first.
_ENTRIES = 256


class ThreadScratch:
    """Scratch for one event at a time, and the epoch of the last event.

    States of nodes and groups count only if they were written in the current epoch, so that
    nothing has to be cleared between events.
    """

    def __init__(self, segment: Segment, index: EventIndex, queue: int) -> None:
        nodes, groups = segment.nodes, segment.tree.groups
        depth = len(segment.tree.levels) + 2
        waking = 2 * nodes if segment.lazy else nodes  # a record that waits may be woken as well
        self.arrays = EventScratch(
            np.zeros(max(1, len(segment.slots)), np.int32),
            np.zeros(state_of_record(len(segment.tree.records)) + 1, np.uint8),
            np.zeros(groups + 1, np.uint8),
            np.zeros(len(segment.opaque), np.uint8),
            np.empty(waking + queue, np.int32),
            np.empty(3 * depth, np.int64),
            np.empty(groups + 1, np.int32),
            np.empty(waking + 1, np.int32),
            np.zeros(5, np.int64),
        )
        self.rules = np.empty(segment.rules, np.int32)
        self._slots, self._opaque = max(1, len(segment.slots)), max(1, len(segment.opaque))
        self._index = index
        self._groups = Groups(segment.tree.group_start, segment.tree.always)
        self.epoch = 0
        self.owner: object | None = None  # the strategy, beside pushing, that `owned` belongs to
        self.owned: Any = None
        self.make_room(_ENTRIES)

    def make_room(self, entries: int) -> None:
        """Make room for events of so many entries."""
        self.room = entries
        self._unpacked = UnpackedEvent(
            np.empty(self._slots, np.int32),
            np.empty(self._slots, np.int32),
            np.empty(self._slots + 1, np.int32),
            np.empty(entries, np.int32),
            np.empty(self._opaque, np.int32),
            np.zeros(UNPACKED_SIZES, np.int64),
        )
        self.owner = self.owned = None
        self.view = self.view_with(self._index)

    def unpack(self, entries: Int64Array) -> tuple[EventCodes, Int32Array]:
        """The codes of an event, and its hits, until the next event is unpacked."""
        if len(entries) > self.room:
            self.make_room(2 * len(entries))
        unpack_entries(self.view.places, entries)
        slots, codes, list_start, list_codes, hits, sizes = self._unpacked
        count = sizes[SLOTS_UNPACKED]
        event = (
            slots[:count],
            codes[:count],
            list_start[: sizes[LISTS_UNPACKED] + 1],
            list_codes[: sizes[VALUES_UNPACKED]],
        )
        return event, hits[: sizes[HITS_UNPACKED]]

    def view_with(
        self, index: EventIndex, cells: LeafCells = NO_CELLS, bounds: BoundBlocks = NO_BOUNDS
    ) -> ArrayView:
        """What kernels see of this scratch, with an index, and cells or bounds."""
        room = np.empty(max(cells.room, len(bounds.places)), np.int32)
        return ArrayView(
            LAYOUTS, index, self._groups, cells, self.arrays, RuleOutput(self.rules, room),
            self._unpacked, bounds, bound_masks(),
        )  # fmt: skip

    def next_epoch(self) -> int:
        """Forget the last event."""
        self.epoch += 1
        if self.epoch > EPOCHS:
            self.epoch = 1
            for states in (self.arrays.state, self.arrays.seen, self.arrays.opaque):
                states.fill(0)
        return self.epoch
