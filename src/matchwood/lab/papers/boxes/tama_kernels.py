"""Kernels of TAMA: the cells that cover an interval, and counting."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.lab.papers.shared.axes_kernels import BITS, LAST, MISSING


@compiled
def covering_cells(axis, low, high, box, levels):
    """The run of every cell that an interval is kept in, and its box.

    Cells of an axis are numbered as a heap: 1 is the whole domain, 2n and 2n + 1 are halves of n.
    """
    room = np.int64(len(axis)) * 4 + 64
    run = np.empty(room, np.int64)
    item = np.empty(room, np.int32)
    top = 0
    for i in range(len(axis)):
        if top + 2 * levels + 2 > room:
            room = 2 * room
            more_run, more_item = np.empty(room, np.int64), np.empty(room, np.int32)
            more_run[:top], more_item[:top] = run[:top], item[:top]
            run, item = more_run, more_item
        first = np.int64(axis[i]) * (2 << levels)
        left = (1 << levels) + (np.int64(low[i]) >> (BITS - levels))
        right = (1 << levels) + (min(np.int64(high[i]), LAST - 1) >> (BITS - levels)) + 1
        while left < right:
            if left & 1:
                run[top], item[top] = first + left, box[i]
                top += 1
                left += 1
            if right & 1:
                right -= 1
                run[top], item[top] = first + right, box[i]
                top += 1
            left >>= 1
            right >>= 1
    return run[:top].copy(), item[:top].copy()


@lean
def count(codes, at, size, items, need, counts, out, levels):
    """Write the boxes that were counted on all their axes to `out`; returns how many, and the
    entries that were met. At most one cell of an interval contains any one code."""
    for i in range(len(counts)):
        counts[i] = 0
    entries = np.int64(0)
    for axis in range(len(codes)):
        if codes[axis] == MISSING:
            continue
        first = np.int64(axis) * (2 << levels)
        cell = (1 << levels) + (np.int64(codes[axis]) >> (BITS - levels))
        while cell > 0:
            run = first + cell
            entries += size[run]
            for i in range(at[run], at[run] + size[run]):
                counts[items[i]] += 1
            cell >>= 1
    top = 0
    for box in range(len(counts)):
        out[top] = box
        top += (counts[box] == need[box]) & (need[box] > 0)
    return top, entries
