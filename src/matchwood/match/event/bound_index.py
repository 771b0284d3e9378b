"""Bounds: conjunctions of intervals as bits in the order of their ends, for one event at a time.

An `and` over codes is a box, with one set of codes for each slot that it uses. The boxes that
likely literals would wake are taken out of the push lists and put into blocks of 1,024. For each
slot that a block uses, the codes at which its boxes begin, or have ended, are sorted. As in REIN,
what an event is not in is ruled out slot by slot: the ends up to its code say which boxes that are,
because every end turns one bit over. To begin near the code, a row of bits is kept for every 64
ends; a directory says how many ends are below a code. What is ruled out by no slot contains the
event, and in most cases is a rule that is true, whose record need not be read.

    block: entries block_entry[i]:block_entry[i + 1], those that rule out most first
    entry: slot, its ends, its rows, its directory (`bound_kernels.ENTRY_WORDS`)

An operand of very many intervals, and one that no code decides, has no ends; the records of such
boxes are checked. Lists have no code, so events with lists are matched by pushing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.masks import WORDS
from matchwood.match.event.bound_kernels import (
    BLOCK,
    ENTRY_WORDS,
    BoundBlocks,
    BoundMasks,
    end_entry,
    ends_of,
    lay_out_bounds,
)
from matchwood.match.event.literal_kernels import EventIndex
from matchwood.match.event.woken import likely_literals, without_woken
from matchwood.match.event.woken_kernels import woken_records

# Nodes of a segment that may have bounds, at most: in larger ones, cells skip more at once.
MOST_BOXES = BLOCK << 7

NO_BOUNDS = BoundBlocks(
    *(
        read_only(np.empty(0, kind))
        for kind in (np.int32, np.int32, np.int32, np.uint16, np.int32, np.uint64, np.int32)
    )
)


@dataclass(frozen=True, eq=False)
class BoundIndex:
    """An index whose likely literals wake no `and`s, and the bounds of these `and`s."""

    index: EventIndex
    bounds: BoundBlocks
    extra: bool  # whether some push lists differ from those of the segment

    @property
    def bytes(self) -> int:
        """Bytes beside the segment."""
        mine = (self.index.tree_start, self.index.stab_bound, self.index.stab_push)
        more = self.index.literal_push.nbytes + self.extra * self.index.pushes.nbytes
        return self.bounds.bytes + more + sum(array.nbytes for array in mine)


def bound_masks() -> BoundMasks:
    """Room for the two masks that one thread needs."""
    return BoundMasks(np.zeros(2 * WORDS, np.uint64))


def bound_index(
    segment: Segment, index: EventIndex, likely: float, fewest: int
) -> BoundIndex | None:
    """Bounds for the `and`s that likely literals wake; None if there are fewer than `fewest`."""
    literals = likely_literals(segment, likely)
    woken = woken_records(literals, index.literal_push, index.pushes, index.records)
    if not max(1, fewest) <= len(woken) <= MOST_BOXES:
        return None
    without = without_woken(index, literals)
    ends, places = ends_of(
        woken, index.records, segment.tree.single, index.atom_row, index.families, index.iv_low,
        index.iv_high,
    )  # fmt: skip
    ends.sort()
    group = end_entry(ends)
    first = np.r_[np.flatnonzero(np.r_[True, group[1:] != group[:-1]][: len(group)]), len(group)]
    entries, end_code, end_box, directory, rows, excluded = lay_out_bounds(ends, first, len(places))
    block = group[first[:-1]] >> 18
    order = np.lexsort((-excluded, block))
    block_entry = np.searchsorted(block, np.arange(-(-len(places) // BLOCK) + 1)).astype(np.int32)
    entries = entries.reshape(-1, ENTRY_WORDS)[order].ravel()
    bounds = BoundBlocks(block_entry, entries, end_code, end_box, directory, rows, places)
    bounds = BoundBlocks(*(read_only(array) for array in bounds))
    return BoundIndex(without, bounds, without.pushes is not index.pushes)
