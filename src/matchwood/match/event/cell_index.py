"""Cells: conjunctions of intervals as bits, for one event at a time.

If a literal is likely to be true, an event wakes a large part of the `and`s behind it, and reads
a record in memory for each of them. Such `and`s are removed from the push lists and put into the
leaves of a tree (`cell_tree_kernels`), 512 per leaf. For each slot that some `and`s of a leaf use,
the leaf divides the codes of the slot into a few cells. Each cell has a row of bits: the `and`s
that a code in the cell may satisfy. The first row of a slot has the `and`s that do not use the
slot; it applies to codes in no cell, such as the code of missing values. An `and` whose bit is set
in the rows of all codes of an event is a candidate, and only then is its record read.

    leaf:  entries leaf_entry[i]:leaf_entry[i + 1], and the records of its bits, -1 for none
    entry: slot, first code of the first cell, cells << 8 | log2 of codes per cell, first row

An entry of one cell has no row for it: every `and` may be satisfied there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.match.event.cell_kernels import (
    ROW_WORDS,
    LeafCells,
    fill_rows,
    lay_out_entries,
)
from matchwood.match.event.cell_tree_kernels import LEAF, boxes_of, split
from matchwood.match.event.literal_kernels import EventIndex
from matchwood.match.event.woken import LIKELY, likely_literals, without_woken
from matchwood.match.event.woken_kernels import woken_records

# Cells of a slot that at least a fourth of the nodes of a leaf use.
CELLS = 32

# Nodes that make cells, or any other strategy than pushing, worth a try.
FEWEST = 4096

# Bytes of rows per node above which cells are made larger.
BUDGET = 128


NO_CELLS = LeafCells(
    *(read_only(np.empty(0, kind)) for kind in (np.int32, np.int32, np.int32, np.uint64, np.int32))
)


@dataclass(frozen=True, eq=False)
class CellIndex:
    """An index whose likely literals wake no `and`s, and the cells that hold these `and`s."""

    index: EventIndex
    cells: LeafCells
    extra: bool  # whether some push lists differ from those of the segment

    @property
    def bytes(self) -> int:
        """Bytes beside the segment."""
        mine = (self.index.tree_start, self.index.stab_bound, self.index.stab_push)
        more = self.index.literal_push.nbytes + self.extra * self.index.pushes.nbytes
        return self.cells.bytes + more + sum(array.nbytes for array in mine)


def cell_index(
    segment: Segment, index: EventIndex, likely: float = LIKELY, fewest: int = FEWEST
) -> CellIndex | None:
    """Cells for the `and`s that likely literals wake; None if there are fewer than `fewest`."""
    literals = likely_literals(segment, likely)
    woken = woken_records(literals, index.literal_push, index.pushes, index.records)
    if len(woken) < max(1, fewest):
        return None
    without = without_woken(index, literals)
    return CellIndex(without, _cells(segment, index, woken), without.pushes is not index.pushes)


def _cells(segment: Segment, index: EventIndex, woken: Int32Array) -> LeafCells:
    """The tree over the `and`s that were woken, and the rows of its leaves."""
    boxes = boxes_of(
        woken, index.records, index.atom_row, index.families, index.iv_low, index.iv_high
    )
    order, bounds, branches = split(*boxes, len(segment.slots))
    cells = CELLS
    while True:
        leaf_entry, entries, rows = lay_out_entries(*boxes, order, bounds, segment.codes, cells)
        if cells <= 4 or rows * 8 * ROW_WORDS <= BUDGET * len(woken):
            break
        cells //= 2
    bits = np.zeros(rows * ROW_WORDS, np.uint64)
    fill_rows(*boxes, order, bounds, len(segment.slots), leaf_entry, entries, bits)
    at = np.full(LEAF * len(bounds), -1, np.int32)
    size = bounds[:, 1] - bounds[:, 0]
    leaf = np.repeat(np.arange(len(bounds)), size)
    at[LEAF * leaf + np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)] = woken[
        order[np.concatenate([np.arange(low, high) for low, high in bounds.tolist()])]
    ]
    return LeafCells(*(read_only(array) for array in (branches, leaf_entry, entries, bits, at)))
