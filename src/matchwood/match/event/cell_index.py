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
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.programs import atom_of, negation_of, pack_literal
from matchwood.kernels.pushes import HEAD, NO_LIST, WIDE, list_bounds, unpack_counts
from matchwood.kernels.records import CODE_MASK, MAX_SLOTS
from matchwood.match.event.cell_kernels import (
    ROW_WORDS,
    LeafCells,
    fill_rows,
    lay_out_entries,
    woken_records,
)
from matchwood.match.event.cell_tree_kernels import LEAF, boxes_of, split
from matchwood.match.event.literal_kernels import EventIndex

# Cells of a slot that at least a fourth of the nodes of a leaf use.
CELLS = 32

# The share of the codes of its slot from which on a literal is likely: cells replace its pushes.
LIKELY = 0.01

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
    literals = _likely_literals(segment, likely)
    woken = woken_records(literals, index.literal_push, index.pushes, index.records)
    if len(woken) < max(1, fewest):
        return None
    without = _without_woken(index, literals)
    return CellIndex(without, _cells(segment, index, woken), without.pushes is not index.pushes)


def _likely_literals(segment: Segment, likely: float) -> Int32Array:
    """Inline literals that wake `and`s and are true of a share `likely` of their slot's codes."""
    atoms, tree = segment.atoms, segment.tree
    count = len(atoms.slot)
    owner = np.repeat(np.arange(count), np.diff(atoms.start))
    inside = np.bincount(owner, atoms.high - atoms.low + 1.0, count)
    family = np.maximum(atoms.family_high - atoms.family_low + 1.0, 0)
    codes = np.maximum(segment.codes[atoms.slot] - 2.0, 1) if count else np.empty(0)
    share = np.empty(2 * count)
    plain = pack_literal(np.arange(count), 0)
    share[plain] = inside / codes
    share[negation_of(plain)] = np.maximum(family - inside, 0) / codes
    lists = tree.literal_push
    inline = (atoms.opaque < 0) & (atoms.slot < MAX_SLOTS)
    inline &= segment.codes[atoms.slot] <= CODE_MASK if count else True
    inline = inline[atom_of(np.arange(2 * count))]
    chosen = np.flatnonzero((lists >= 0) & (share >= likely) & inline)
    counts = tree.pushes[lists[chosen] + 1]
    wide = counts == WIDE
    ranges = np.where(
        wide, tree.pushes[np.where(wide, lists[chosen] + HEAD, 0)], unpack_counts(counts)[0]
    )
    return chosen[ranges > 0].astype(np.int32)


def _without_woken(index: EventIndex, literals: Int32Array) -> EventIndex:
    """The index, with the `and`s removed from the push lists of some literals."""
    lists = index.literal_push[literals]
    extra: list[NDArray[np.int32]] = []
    at = len(index.pushes)
    now = np.full(len(literals), NO_LIST, np.int32)
    for number, position in enumerate(lists.tolist()):
        _, ranges_end, ors_end, groups_end = list_bounds(index.pushes, position)
        if ranges_end < groups_end:
            counts = (0, ors_end - ranges_end, groups_end - ors_end)
            head = np.array([-1, WIDE, *counts], np.int32)
            extra.append(np.concatenate([head, index.pushes[ranges_end:groups_end]]))
            now[number] = at
            at += len(extra[-1])
    literal_push = index.literal_push.copy()
    literal_push[literals] = now
    order = np.argsort(lists)
    known = lists[order]
    found = np.searchsorted(known, index.stab_push)
    found[found == len(known)] = 0
    taken = known[found] == index.stab_push if len(known) else np.zeros(0, bool)
    stab_push = np.where(taken, now[order][found], index.stab_push).astype(np.int32)
    kept = ~taken | (stab_push != NO_LIST)
    tree_at, tree_size, tree_start = _without_empty_trees(index, kept)
    points = _points(index)
    before = np.r_[0, np.cumsum(kept & points)]
    return index._replace(
        pushes=read_only(np.concatenate([index.pushes, *extra])) if extra else index.pushes,
        literal_push=read_only(literal_push),
        tree_at=read_only(tree_at),
        tree_size=read_only(tree_size),
        tree_points=read_only(before[_first_entries(index)].astype(np.int32)),
        tree_start=read_only(tree_start),
        stab_bound=read_only(index.stab_bound[kept[~points]]),
        stab_push=read_only(stab_push[kept]),
    )


def _first_entries(index: EventIndex) -> Int32Array:
    """The first entry of each slot in its stabbing tree."""
    entries: Int32Array = index.tree_start[index.tree_at - 1]
    return entries


def _points(index: EventIndex) -> NDArray[np.bool_]:
    """Whether each entry of the stabbing trees is a single code."""
    counts = np.diff(np.r_[_first_entries(index), len(index.stab_push)])
    leaves = index.tree_start[index.tree_at + index.tree_size]
    points: NDArray[np.bool_] = np.arange(len(index.stab_push)) >= np.repeat(leaves, counts)
    return points


def _without_empty_trees(
    index: EventIndex, kept: NDArray[np.bool_]
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """The stabbing trees, reduced to the entries that are kept.

    A tree without entries has size 0; the size of a tree of points alone is negative.
    """
    before = np.zeros(len(kept) + 1, np.int32)
    np.cumsum(kept, out=before[1:])
    tree_at, tree_size = np.zeros_like(index.tree_at), np.zeros_like(index.tree_size)
    pieces = []
    at = 0
    for slot, (first, size) in enumerate(
        zip(index.tree_at.tolist(), index.tree_size.tolist(), strict=True)
    ):
        piece = before[index.tree_start[first - 1 : first + 2 * size + 1]]
        if piece[0] < piece[-1]:
            points = piece[0] == piece[1 + size]
            tree_at[slot], tree_size[slot] = at + 1, -size if points else size
            pieces.append(piece[:-1])
            at += 2 * size + 1
    return tree_at, tree_size, np.concatenate([*pieces, before[-1:]])


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
