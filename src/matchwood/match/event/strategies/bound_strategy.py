"""Bounds: conjunctions of intervals are found by what rules them out, the others by pushing.

Pays where pushing checks many records for an event, and rules use few attributes; `bound_index`
describes the layout.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.array_view import ArrayView
from matchwood.kernels.event_entries import HIT, pack_entry
from matchwood.match.event.bound_index import MOST_BOXES, BoundIndex, bound_index
from matchwood.match.event.bound_kernels import BLOCK
from matchwood.match.event.event_kernels import HAS_LISTS, match_within_bounds
from matchwood.match.event.lazy_atoms import LazyTruth
from matchwood.match.event.strategies.push_strategy import PreparedPush
from matchwood.match.event.strategy import (
    EventStrategy,
    IndexedSegment,
    PreparedStrategy,
    PushSample,
)
from matchwood.match.event.thread_scratch import EventCodes, ThreadScratch
from matchwood.match.event.woken import LIKELY

# Boxes that make bounds worth a try.
FEWEST = BLOCK

# Seconds that one slot of a block takes, about.
SLOT_SECONDS = 5e-8

# The share of the time of pushing that bounds may be expected to take to be worth a try.
EXPECTED_SHARE = 0.8


class BoundStrategy(EventStrategy):
    """Bounds for `and`s that are woken by literals true of at least a share `likely` of the codes.

    At least `fewest` such `and`s are needed.
    """

    def __init__(self, name: str = "bounds", likely: float = LIKELY, fewest: int = FEWEST) -> None:
        self.name = name
        self._likely = likely
        self._fewest = fewest

    def is_possible(self, segment: Segment) -> bool:
        return not segment.lazy and segment.nodes <= MOST_BOXES

    def pays(self, segment: Segment, pushing: PushSample) -> bool:
        slots = -(-segment.nodes // BLOCK) * len(segment.slots)
        return pushing.events * SLOT_SECONDS * slots < EXPECTED_SHARE * pushing.seconds

    def prepare(self, target: IndexedSegment) -> PreparedStrategy | None:
        made = bound_index(target.segment, target.arrays, self._likely, self._fewest)
        return None if made is None else PreparedBounds(self.name, target, made)

    def variants(self) -> Sequence[EventStrategy]:
        return (
            BoundStrategy("bounds, all literals", 0.0, 1),
            BoundStrategy("bounds, likely literals", LIKELY, 1),
        )


class PreparedBounds(PreparedStrategy):
    """Bounds for one segment."""

    def __init__(self, name: str, target: IndexedSegment, made: BoundIndex) -> None:
        self.name = name
        self._made = made
        self._pushing = PreparedPush(name, target, small=True)  # for events with lists

    @property
    def bytes(self) -> int:
        return self._made.bytes

    def attach(self, scratch: ThreadScratch) -> None:
        if scratch.owner is not self:
            scratch.owned = scratch.view_with(self._made.index, bounds=self._made.bounds)
            scratch.owner = self

    def match(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        slots, codes, list_start, _ = event
        if len(list_start) > 1:
            return self._pushing.match(scratch, event, hits, truth, keep)
        entries = pack_entry(slots.astype(np.int64), codes.astype(np.int64))
        if len(hits):
            entries = np.concatenate([entries, pack_entry(np.int64(HIT), hits.astype(np.int64))])
        entries.flags.writeable = False
        return self.match_entries(scratch, entries, truth, keep)

    def match_entries(
        self,
        scratch: ThreadScratch,
        entries: Int64Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        if len(entries) > scratch.room:
            scratch.make_room(2 * len(entries))
        epoch = scratch.next_epoch()
        count = int(match_within_bounds(self._view(scratch).places, entries, keep, epoch))
        if count == HAS_LISTS:
            return self._pushing.match_entries(scratch, entries, truth, keep)
        return count

    def _view(self, scratch: ThreadScratch) -> ArrayView:
        if scratch.owner is not self:
            self.attach(scratch)
        view: ArrayView = scratch.owned
        return view
