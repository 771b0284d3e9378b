"""Cells: conjunctions of intervals as bits, for one event at a time.

Where a literal is likely to be true, an event wakes a good part of the `and`s behind it, and
follows a record in memory for each. Such `and`s are taken out of the push lists, and put into the
leaves of a tree (`cells_split`), 512 to a leaf. A leaf has for each slot that some of its `and`s
use a few cells, each a part of the slot's codes, and each cell a row of bits: the `and`s that a
code in it may satisfy. One row more, the first, has those that leave the slot free, for codes in
no cell, that of missing values among them. What is in the rows of all the event's codes is a
candidate, whose record is then asked.

    leaf:  entries leaf_entry[i]:leaf_entry[i + 1], and the records of its bits, -1 for none
    entry: slot, first code of the first cell, cells << 8 | log2 of codes a cell, first row

An entry of one cell has no row for it: every `and` may be satisfied there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, lean, prefetch, trailing_zeros
from matchwood.index.layout import CODE_MASK, INLINE_MASK, INLINE_SHIFT, MAX_SLOTS, REST_MASK
from matchwood.index.segment import Segment, read_only
from matchwood.match.cells_split import LEAF, boxes_of, split
from matchwood.match.literals import Index

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

CELLS = 32  # of a slot that a fourth of a leaf's nodes use
LIKELY = 0.01  # share of a slot's codes from which on a literal wakes nothing any more
FEWEST = 4096  # nodes that are worth it
BUDGET = 128  # bytes of rows a node
_WORDS = LEAF // 64
_ASKED = 4 * 20  # entries of a leaf whose rows are asked for beforehand


class Cells(NamedTuple):
    """What `candidates` reads; all arrays are empty where nothing is in cells."""

    branches: NDArray[np.int32]
    leaf_entry: NDArray[np.int32]
    entries: NDArray[np.int32]
    rows: NDArray[np.uint64]
    places: NDArray[np.int32]  # the record of each bit

    @property
    def room(self) -> int:
        """What `candidates` may write."""
        return len(self.places) + len(self.leaf_entry)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self)


NO_CELLS = Cells(
    *(read_only(np.empty(0, kind)) for kind in (np.int32, np.int32, np.int32, np.uint64, np.int32))
)


@dataclass(frozen=True, eq=False)
class Taken:
    """An index whose likely literals wake no `and`s, and the cells that have these."""

    index: Index
    cells: Cells
    extra: bool  # some push lists are others than the segment's

    @property
    def bytes(self) -> int:
        """Bytes beside the segment."""
        mine = (self.index.tree_start, self.index.stab_bound, self.index.stab_push)
        more = self.index.literal_push.nbytes + self.extra * self.index.pushes.nbytes
        return self.cells.bytes + more + sum(array.nbytes for array in mine)


def taken_into_cells(
    segment: Segment, index: Index, likely: float = LIKELY, fewest: int = FEWEST
) -> Taken | None:
    """Cells of the `and`s that likely literals wake; None where those are few."""
    literals = _likely_literals(segment, likely)
    places = _woken(literals, index.literal_push, index.pushes, index.records)
    if len(places) < max(1, fewest):
        return None
    without = _without_woken(index, literals)
    return Taken(without, _cells(segment, index, places), without.pushes is not index.pushes)


def _likely_literals(segment: Segment, likely: float) -> Ints:
    """Inline literals that wake `and`s and are true of a good part of their slot's codes."""
    atoms, tree = segment.atoms, segment.tree
    count = len(atoms.slot)
    owner = np.repeat(np.arange(count), np.diff(atoms.start))
    inside = np.bincount(owner, atoms.high - atoms.low + 1.0, count)
    family = np.maximum(atoms.family_high - atoms.family_low + 1.0, 0)
    codes = np.maximum(segment.codes[atoms.slot] - 2.0, 1) if count else np.empty(0)
    share = np.empty(2 * count)
    share[0::2], share[1::2] = inside / codes, np.maximum(family - inside, 0) / codes
    lists = tree.literal_push
    inline = (atoms.opaque < 0) & (atoms.slot < MAX_SLOTS)
    inline &= segment.codes[atoms.slot] <= CODE_MASK if count else True
    chosen = np.flatnonzero((lists >= 0) & (share >= likely) & np.repeat(inline, 2))
    counts = tree.pushes[lists[chosen] + 1]
    waking = np.where(counts >= 0, counts >> 21, 1) > 0
    chosen, counts = chosen[waking], counts[waking]
    wide = counts < 0
    chosen = chosen[~wide | (tree.pushes[np.where(wide, lists[chosen] + 2, 0)] > 0)]
    return chosen.astype(np.int32)


@compiled
def _woken(literals, literal_push, pushes, records):
    """The records in the ranges of the push lists of some literals."""
    total = 0
    places = np.empty(0, np.int32)
    for writing in range(2):
        if writing:
            places = np.empty(total, np.int32)
            total = 0
        for literal in literals:
            at = literal_push[literal]
            ranges, begin = pushes[at + 1] >> 21, at + 2
            if ranges < 0:
                ranges, begin = pushes[at + 2], at + 5
            for r in range(ranges):
                if not writing:
                    total += pushes[begin + 2 * r + 1]
                    continue
                record = np.int64(pushes[begin + 2 * r])
                for _ in range(pushes[begin + 2 * r + 1]):
                    places[total] = record
                    total += 1
                    header = records[record]
                    record += 1 + ((header >> INLINE_SHIFT) & INLINE_MASK) + (header & REST_MASK)
    return places


def _without_woken(index: Index, literals: Ints) -> Index:
    """The index without the ranges of the push lists of some literals."""
    lists = index.literal_push[literals]
    extra: list[NDArray[np.int32]] = []
    at = len(index.pushes)
    now = np.full(len(literals), -1, np.int32)
    for number, place in enumerate(lists.tolist()):
        counts = int(index.pushes[place + 1])
        if counts >= 0:
            ranges, ors, groups = counts >> 21, counts >> 11 & 1023, counts & 2047
            begin = place + 2 + 2 * ranges
        else:
            ranges, ors, groups = index.pushes[place + 2 : place + 5].tolist()
            begin = place + 5 + 2 * ranges
        if ors or groups:
            head = np.array([-1, -1, 0, ors, groups], np.int32)
            extra.append(np.concatenate([head, index.pushes[begin : begin + ors + groups]]))
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
    kept = ~taken | (stab_push != -1)
    tree_at, tree_size, tree_start = _without_empty_trees(index, kept)
    return index._replace(
        pushes=read_only(np.concatenate([index.pushes, *extra])) if extra else index.pushes,
        literal_push=read_only(literal_push),
        tree_at=read_only(tree_at),
        tree_size=read_only(tree_size),
        tree_start=read_only(tree_start),
        stab_bound=read_only(index.stab_bound[kept]),
        stab_push=read_only(stab_push[kept]),
    )


def _without_empty_trees(index: Index, kept: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Stabbing trees with some of their entries.

    One without any has size 0 and no place; the size of one with points alone is below 0.
    """
    before = np.zeros(len(kept) + 1, np.int32)
    np.cumsum(kept, out=before[1:])
    tree_at, tree_size = np.zeros_like(index.tree_at), np.zeros_like(index.tree_size)
    pieces = []
    at = 0
    for slot, (first, size) in enumerate(
        zip(index.tree_at.tolist(), index.tree_size.tolist(), strict=True)
    ):
        piece = before[index.tree_start[first : first + 2 * size + 1]]
        if piece[0] < piece[-1]:
            points = piece[0] == piece[size]
            tree_at[slot], tree_size[slot] = at, -size if points else size
            pieces.append(piece[:-1])
            at += 2 * size
    return tree_at, tree_size, np.concatenate([*pieces, before[-1:]])


def _cells(segment: Segment, index: Index, places: Ints) -> Cells:
    """The tree, and the rows of its leaves."""
    boxes = boxes_of(
        places, index.records, index.row_literal, index.atom_row, index.iv_low, index.iv_high
    )
    order, bounds, branches = split(*boxes, len(segment.slots))
    cells = CELLS
    while True:
        leaf_entry, entries, rows = _entries(*boxes, order, bounds, segment.codes, cells)
        if cells <= 4 or rows * 8 * _WORDS <= BUDGET * len(places):
            break
        cells //= 2
    bits = np.zeros(rows * _WORDS, np.uint64)
    _fill(*boxes, order, bounds, len(segment.slots), leaf_entry, entries, bits)
    at = np.full(LEAF * len(bounds), -1, np.int32)
    size = bounds[:, 1] - bounds[:, 0]
    leaf = np.repeat(np.arange(len(bounds)), size)
    at[LEAF * leaf + np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)] = places[
        order[np.concatenate([np.arange(low, high) for low, high in bounds.tolist()])]
    ]
    return Cells(*(read_only(array) for array in (branches, leaf_entry, entries, bits, at)))


@compiled
def _entries(start, slot, low, high, order, bounds, codes, cells):
    """The entries of each leaf, those that spare most first, and how many rows there are."""
    leaf_entry = np.zeros(len(bounds) + 1, np.int32)
    entries = np.empty(4 * 1024, np.int32)
    count = np.zeros(len(codes), np.int32)
    gain = np.zeros(len(codes), np.float64)
    least = np.zeros(len(codes), np.int32)
    most = np.zeros(len(codes), np.int32)
    touched = np.empty(len(codes), np.int32)
    top, rows = 0, 0
    for leaf in range(len(bounds)):
        found = 0
        size = bounds[leaf, 1] - bounds[leaf, 0]
        for k in range(bounds[leaf, 0], bounds[leaf, 1]):
            for i in range(start[order[k]], start[order[k] + 1]):
                s = slot[i]
                if count[s] == 0:
                    touched[found] = s
                    found += 1
                    gain[s], least[s], most[s] = 0.0, low[i], high[i]
                count[s] += 1
                gain[s] += 1.0 - 0.75 * (high[i] - low[i] + 1) / codes[s]
                least[s], most[s] = min(least[s], low[i]), max(most[s], high[i])
        by = np.argsort(-gain[touched[:found]])
        for j in range(found):
            s = touched[by[j]]
            if 32 * count[s] >= size:
                wanted = 1
                if 4 * count[s] >= size:
                    wanted = cells
                elif 8 * count[s] >= size:
                    wanted = max(1, cells // 4)
                length = max(np.int64(0), np.int64(most[s]) - least[s])
                shift = 0
                while length >> shift >= wanted:
                    shift += 1
                many = (length >> shift) + 1
                if 4 * (top + 1) > len(entries):
                    entries = np.concatenate((entries, np.empty_like(entries)))
                entries[4 * top], entries[4 * top + 1] = s, least[s]
                entries[4 * top + 2], entries[4 * top + 3] = many << 8 | shift, rows
                rows += 1 if many == 1 else many + 1
                top += 1
        for j in range(found):
            count[touched[j]] = 0
        leaf_entry[leaf + 1] = top
    return leaf_entry, entries[: 4 * top].copy(), rows


@compiled
def _fill(start, slot, low, high, order, bounds, slots, leaf_entry, entries, bits):
    """Set the bits of all rows."""
    entry_of = np.full(slots, -1, np.int32)
    for leaf in range(len(bounds)):
        begin, end = leaf_entry[leaf], leaf_entry[leaf + 1]
        size = bounds[leaf, 1] - bounds[leaf, 0]
        for e in range(begin, end):
            entry_of[entries[4 * e]] = e
            many = entries[4 * e + 2] >> 8
            first = np.int64(entries[4 * e + 3])
            for w in range((size + 63) >> 6):
                full = ~np.uint64(0)
                if 64 * (w + 1) > size:
                    full >>= np.uint64(64 * (w + 1) - size)
                for row in range(first, first + (1 if many == 1 else many + 1)):
                    bits[row * _WORDS + w] = full
        for k in range(size):
            box = order[bounds[leaf, 0] + k]
            bit = np.uint64(1) << np.uint64(k & 63)
            for i in range(start[box], start[box + 1]):
                e = entry_of[slot[i]]
                if e < 0:
                    continue
                base, shape = entries[4 * e + 1], entries[4 * e + 2]
                many, shift = shape >> 8, shape & 255
                first = np.int64(entries[4 * e + 3])
                bits[first * _WORDS + (k >> 6)] &= ~bit
                if many == 1:
                    continue
                least, most = (low[i] - base) >> shift, (high[i] - base) >> shift
                for cell in range(many):
                    if cell < least or cell > most or high[i] < low[i]:
                        bits[(first + 1 + cell) * _WORDS + (k >> 6)] &= ~bit
        for e in range(begin, end):
            entry_of[entries[4 * e]] = -1


@inlined
def _row(entry, entries, codes):
    """The row of an entry that has the event's code, or -1 where it leaves everything open."""
    code = codes[entries[entry]]
    if code < 0:
        return np.int64(-1)  # a list
    shape = entries[entry + 2]
    row = np.int64(entries[entry + 3])
    code -= entries[entry + 1]
    if code >= 0:
        cell = code >> (shape & 255)
        if cell < shape >> 8:
            return row + cell + 1 if shape >> 8 > 1 else np.int64(-1)
    return row


@inlined
def _leaves(branches, codes, out):
    """Write the leaves that an event gets to; how many."""
    count = 0
    i = 0
    while i < len(branches):
        slot = branches[i]
        if slot < 0:
            out[count] = branches[i + 1]
            count += 1
            i += 4
            continue
        code = codes[slot]
        if code < 0 or branches[i + 1] <= code <= branches[i + 2]:
            i += 4
        else:
            i = 4 * branches[i + 3]
    return count


@lean
def candidates(cells, slots, given, codes, out):
    """Write the records that an event may satisfy into `out`; how many.

    The end of `out`, beyond room for all records, holds the leaves to look at, so that the rows of
    the next can be asked for while one is looked at.
    """
    for i in range(len(slots)):
        codes[slots[i]] = given[i]
    entries, rows, places, leaf_entry = cells.entries, cells.rows, cells.places, cells.leaf_entry
    leaves = out[len(places) :]
    count = _leaves(cells.branches, codes, leaves)
    found = 0
    for j in range(count):
        if j + 1 < count:
            begin = 4 * leaf_entry[leaves[j + 1]]
            for entry in range(begin, min(begin + _ASKED, 4 * leaf_entry[leaves[j + 1] + 1]), 4):
                row = _row(entry, entries, codes)
                if row >= 0:
                    prefetch(rows, row * _WORDS)
        leaf = np.int64(leaves[j])
        full = ~np.uint64(0)
        a, b, c, d, e, f, g, h = full, full, full, full, full, full, full, full
        for entry in range(4 * leaf_entry[leaf], 4 * leaf_entry[leaf + 1], 4):
            row = _row(entry, entries, codes)
            if row < 0:
                continue
            row *= _WORDS
            a &= rows[row]
            b &= rows[row + 1]
            c &= rows[row + 2]
            d &= rows[row + 3]
            e &= rows[row + 4]
            f &= rows[row + 5]
            g &= rows[row + 6]
            h &= rows[row + 7]
            if a | b | c | d | e | f | g | h == np.uint64(0):
                break
        if a | b | c | d | e | f | g | h == np.uint64(0):
            continue
        first = leaf * LEAF
        for word in (a, b, c, d, e, f, g, h):
            while word != np.uint64(0):
                place = places[first + trailing_zeros(word)]
                word &= word - np.uint64(1)
                if place >= 0:
                    out[found] = place
                    found += 1
            first += 64
    return found
