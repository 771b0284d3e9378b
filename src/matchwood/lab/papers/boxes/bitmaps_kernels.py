"""Kernels of the bitmaps: setting bits, and intersecting one set per attribute."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean, trailing_zeros
from matchwood.lab.papers.boxes.box_rows_kernels import holds
from matchwood.lab.papers.shared.axes_kernels import BITS, MISSING


@compiled
def set_bits(maps, start, axis, low, high, first):
    """Set the bits of boxes, whose numbers begin at `first`; one without intervals has none."""
    cells = maps.shape[1] - 1
    for number in range(len(start) - 1):
        box = first + number
        word, bit = box >> 6, np.uint64(1) << np.uint64(box & 63)
        i = start[number]
        if i == start[number + 1]:
            continue
        for a in range(len(maps)):
            if i < start[number + 1] and axis[i] == a:
                least = (np.int64(low[i]) * cells) >> BITS
                most = min((np.int64(high[i]) * cells) >> BITS, cells - 1)
                i += 1
            else:
                least, most = 0, cells
            for cell in range(least, most + 1):
                maps[a, cell, word] |= bit


@compiled
def set_free_axes(maps, boxes, axes):
    """Set the bits of boxes for all attributes from `axes` on, which they leave free."""
    for box in boxes:
        bit = np.uint64(1) << np.uint64(box & 63)
        for a in range(axes, len(maps)):
            for cell in range(maps.shape[1]):
                maps[a, cell, box >> 6] |= bit


@lean
def match(codes, maps, block, at, size, rows, out):
    """Write the boxes that an event is in to `out`; returns how many, and how many were tested."""
    cells = maps.shape[1] - 1
    words = maps.shape[2]
    top, asked = 0, 0
    for begin in range(0, words if len(codes) else 0, len(block)):
        count = min(len(block), words - begin)
        for a in range(len(codes)):
            cell = np.int64(cells)
            if codes[a] != MISSING:
                cell = (np.int64(codes[a]) * cells) >> BITS
            if a == 0:
                for i in range(count):
                    block[i] = maps[a, cell, begin + i]
            else:
                for i in range(count):
                    block[i] &= maps[a, cell, begin + i]
        for i in range(count):
            word = block[i]
            while word:
                box = ((begin + i) << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                asked += 1
                if holds(rows, at[box], size[box], codes):
                    out[top] = box
                    top += 1
    return top, asked
