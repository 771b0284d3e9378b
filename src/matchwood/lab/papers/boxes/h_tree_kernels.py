"""Kernels of H-Tree: the cells of boxes, and the cells that an event reaches."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.lab.papers.boxes.box_rows_kernels import holds
from matchwood.lab.papers.shared.axes_kernels import BITS, LAST, MISSING


@compiled
def cells_of(start, axis, low, high, chosen, cells, parts):
    """The runs of all cells that each box is in, each once, and its box. Cell 0 of an attribute is
    for boxes that leave it free."""
    widest = LAST // parts
    run = np.empty(len(start) + 64, np.int64)
    item = np.empty(len(run), np.int32)
    box_cells = np.zeros((len(chosen), parts + 1), np.int64)  # of one box, by indexed attribute
    cell_counts = np.empty(len(chosen), np.int64)
    top = 0
    for box in range(len(start) - 1):
        if start[box] == start[box + 1]:
            continue
        count = np.int64(1)
        for k in range(len(chosen)):
            box_cells[k, 0], cell_counts[k] = 0, 1
            for i in range(start[box], start[box + 1]):
                if axis[i] == chosen[k]:
                    width = np.int64(high[i]) - low[i]
                    pieces = width // widest + 1
                    cell_counts[k] = 0
                    for piece in range(pieces):
                        centre = low[i] + (2 * piece + 1) * width // (2 * pieces)
                        cell = 1 + ((centre * cells) >> BITS)
                        if cell_counts[k] == 0 or box_cells[k, cell_counts[k] - 1] != cell:
                            box_cells[k, cell_counts[k]] = cell
                            cell_counts[k] += 1
            count *= cell_counts[k]
        if top + count > len(run):
            more = 2 * len(run) + count
            more_run, more_item = np.empty(more, np.int64), np.empty(more, np.int32)
            more_run[:top], more_item[:top] = run[:top], item[:top]
            run, item = more_run, more_item
        for choice in range(count):
            rest = choice
            cell_run = np.int64(0)
            base = np.int64(1)
            for k in range(len(chosen)):
                cell_run += base * box_cells[k, rest % cell_counts[k]]
                rest //= cell_counts[k]
                base *= cells + 1
            run[top], item[top] = cell_run, box
            top += 1
    return run[:top].copy(), item[:top].copy()


@compiled
def cells_reached(codes, chosen, cells, parts):
    """The first and last cell of each indexed attribute that an event looks into, beside cell 0."""
    first = np.ones(len(chosen), np.int64)
    last = np.zeros(len(chosen), np.int64)
    half = LAST // parts // 2 + 1
    for k in range(len(chosen)):
        code = np.int64(codes[chosen[k]])
        if code != MISSING:
            first[k] = 1 + ((max(code - half, 0) * cells) >> BITS)
            last[k] = 1 + min(((code + half) * cells) >> BITS, cells - 1)
    return first, last


@lean
def match(codes, first, last, cells, at, size, items, row_at, row_size, rows, seen, out):
    """Write the boxes that an event is in to `out`; returns how many, and how many were tested.
    `seen` is zero before and after."""
    top = 0
    asked = np.int64(0)
    count = 1
    for k in range(len(first)):
        count *= last[k] - first[k] + 2
    for choice in range(count):
        rest = choice
        run = np.int64(0)
        base = np.int64(1)
        for k in range(len(first)):
            wide = last[k] - first[k] + 2
            digit = rest % wide
            rest //= wide
            if digit:
                run += base * (first[k] + digit - 1)
            base *= cells + 1
        asked += size[run]
        for i in range(at[run], at[run] + size[run]):
            box = items[i]
            if not seen[box] and holds(rows, row_at[box], row_size[box], codes):
                seen[box] = 1
                out[top] = box
                top += 1
    for i in range(top):
        seen[out[i]] = 0
    return top, asked
