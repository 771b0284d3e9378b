"""Rows of bits for the conjunctions of a leaf: how they are filled, and how an event reads them.

`cell_index` explains the layout and builds it; `cell_tree_kernels` makes the tree above the leaves.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import codec, compiled, inlined, prefetch, trailing_zeros
from matchwood.kernels.filling import copy_items
from matchwood.kernels.sorting import sort_by_keys
from matchwood.match.event.cell_tree_kernels import (
    BRANCH_COLUMNS,
    BRANCH_HIGH,
    BRANCH_LOW,
    BRANCH_NEXT,
    BRANCH_SLOT,
    LEAF,
)

# 64-bit words of a row: one bit for each box of a leaf.
ROW_WORDS = LEAF // 64

# Words of an entry, and what each holds: the slot, its lowest code in any box of the leaf, the
# shape of its cells (`pack_shape`), and its first row.
ENTRY_WORDS = 4
_SLOT, _LOWEST, _SHAPE, _FIRST_ROW = range(ENTRY_WORDS)

# Words of the entries of a leaf whose rows are prefetched: those of 20 entries.
_ASKED = ENTRY_WORDS * 20


class LeafCells(NamedTuple):
    """The arrays that `candidates` reads; all are empty if nothing is in cells."""

    branches: NDArray[np.int32]
    leaf_entry: NDArray[np.int32]
    entries: NDArray[np.int32]
    rows: NDArray[np.uint64]
    places: NDArray[np.int32]  # the record of each bit

    @property
    def room(self) -> int:
        """How many numbers `candidates` may write."""
        return len(self.places) + len(self.leaf_entry)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self)


@codec
def pack_shape(cells, shift):
    """The third word of an entry: | cells: 24 bits | log2 of the codes of one cell: 8 bits |.

    There are at most `cell_index.CELLS` cells, and codes are below 2**31.
    """
    return cells << 8 | shift


@codec
def unpack_shape(shape):
    """(cells, log2 of the codes of one cell) of an entry."""
    return shape >> 8, shape & 255


@compiled
def lay_out_entries(start, slot, low, high, order, bounds, codes, cells):
    """The entries of each leaf, those that rule out most first, and the number of rows."""
    leaf_entry = np.zeros(len(bounds) + 1, np.int32)
    entries = np.empty(ENTRY_WORDS * 1024, np.int32)
    count = np.zeros(len(codes), np.int32)
    gain = np.zeros(len(codes), np.float64)
    least = np.zeros(len(codes), np.int32)
    most = np.zeros(len(codes), np.int32)
    touched, keys = np.empty(len(codes), np.int32), np.empty(len(codes), np.float64)
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
        for j in range(found):
            keys[j] = -gain[touched[j]]
        sort_by_keys(keys, touched, found)
        for j in range(found):
            s = touched[j]
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
                entry = ENTRY_WORDS * top
                if entry + ENTRY_WORDS > len(entries):
                    more = np.empty(2 * len(entries), np.int32)
                    copy_items(entries, more, entry)
                    entries = more
                entries[entry + _SLOT], entries[entry + _LOWEST] = s, least[s]
                entries[entry + _SHAPE], entries[entry + _FIRST_ROW] = pack_shape(many, shift), rows
                rows += 1 if many == 1 else many + 1
                top += 1
        for j in range(found):
            count[touched[j]] = 0
        leaf_entry[leaf + 1] = top
    return leaf_entry, entries[: ENTRY_WORDS * top].copy(), rows


@compiled
def fill_rows(start, slot, low, high, order, bounds, slots, leaf_entry, entries, bits):
    """Set the bits of all rows."""
    entry_of = np.full(slots, -1, np.int32)
    for leaf in range(len(bounds)):
        begin, end = leaf_entry[leaf], leaf_entry[leaf + 1]
        size = bounds[leaf, 1] - bounds[leaf, 0]
        for e in range(begin, end):
            entry = ENTRY_WORDS * e
            entry_of[entries[entry + _SLOT]] = entry
            many, _ = unpack_shape(entries[entry + _SHAPE])
            first = np.int64(entries[entry + _FIRST_ROW])
            for w in range((size + 63) >> 6):
                full = ~np.uint64(0)
                if 64 * (w + 1) > size:
                    full >>= np.uint64(64 * (w + 1) - size)
                for row in range(first, first + (1 if many == 1 else many + 1)):
                    bits[row * ROW_WORDS + w] = full
        for k in range(size):
            box = order[bounds[leaf, 0] + k]
            bit = np.uint64(1) << np.uint64(k & 63)
            for i in range(start[box], start[box + 1]):
                entry = entry_of[slot[i]]
                if entry < 0:
                    continue
                base = entries[entry + _LOWEST]
                many, shift = unpack_shape(entries[entry + _SHAPE])
                first = np.int64(entries[entry + _FIRST_ROW])
                bits[first * ROW_WORDS + (k >> 6)] &= ~bit
                if many == 1:
                    continue
                least, most = (low[i] - base) >> shift, (high[i] - base) >> shift
                for cell in range(many):
                    if cell < least or cell > most or high[i] < low[i]:
                        bits[(first + 1 + cell) * ROW_WORDS + (k >> 6)] &= ~bit
        for e in range(begin, end):
            entry_of[entries[ENTRY_WORDS * e + _SLOT]] = -1


@inlined
def _row(entry, entries, codes):
    """The row of an entry for the event's code, or -1 if the entry rules nothing out."""
    code = codes[entries[entry + _SLOT]]
    if code < 0:
        return np.int64(-1)  # a list
    many, shift = unpack_shape(entries[entry + _SHAPE])
    row = np.int64(entries[entry + _FIRST_ROW])
    code -= entries[entry + _LOWEST]
    if code >= 0:
        cell = code >> shift
        if cell < many:
            return row + cell + 1 if many > 1 else np.int64(-1)
    return row


@inlined
def _leaves(branches, codes, out):
    """Write the leaves that an event reaches; returns how many."""
    count = 0
    i = 0
    while i < len(branches):
        slot = branches[i + BRANCH_SLOT]
        if slot < 0:  # IS_LEAF
            out[count] = branches[i + BRANCH_LOW]
            count += 1
            i += BRANCH_COLUMNS
            continue
        code = codes[slot]
        if code < 0 or branches[i + BRANCH_LOW] <= code <= branches[i + BRANCH_HIGH]:
            i += BRANCH_COLUMNS
        else:
            i = BRANCH_COLUMNS * branches[i + BRANCH_NEXT]
    return count


@inlined
def candidates(cells, slots, event_codes, codes, out):
    """Write the records that an event may satisfy into `out`; returns how many.

    The end of `out`, after the room for all records, holds the leaves to visit, so that the rows of
    the next leaf can be prefetched while one is processed.
    """
    for i in range(len(slots)):
        codes[slots[i]] = event_codes[i]
    entries, rows, places, leaf_entry = cells.entries, cells.rows, cells.places, cells.leaf_entry
    leaves = out[len(places) :]
    count = _leaves(cells.branches, codes, leaves)
    written = 0
    for j in range(count):
        if j + 1 < count:
            begin = ENTRY_WORDS * leaf_entry[leaves[j + 1]]
            end = min(begin + _ASKED, ENTRY_WORDS * leaf_entry[leaves[j + 1] + 1])
            for entry in range(begin, end, ENTRY_WORDS):
                row = _row(entry, entries, codes)
                if row >= 0:
                    prefetch(rows, row * ROW_WORDS)
        leaf = np.int64(leaves[j])
        full = ~np.uint64(0)
        a, b, c, d, e, f, g, h = full, full, full, full, full, full, full, full
        begin, end = ENTRY_WORDS * leaf_entry[leaf], ENTRY_WORDS * leaf_entry[leaf + 1]
        for entry in range(begin, end, ENTRY_WORDS):
            row = _row(entry, entries, codes)
            if row < 0:
                continue
            row *= ROW_WORDS
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
                record = places[first + trailing_zeros(word)]
                word &= word - np.uint64(1)
                if record >= 0:
                    out[written] = record
                    written += 1
            first += 64
    return written
