"""Kernels of REIN: marking the boxes that do not match."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import lean, trailing_zeros
from matchwood.lab.papers.boxes.slots_kernels import exclude


@lean
def match(codes, at, size, keys, items, live, alive, out, slots):
    """Write the unmarked boxes to `out`; returns how many, and how many ends were met."""
    for i in range(len(live)):
        alive[i] = live[i]
    entries = np.int64(0)
    for axis in range(len(codes)):
        entries += exclude(alive, at, size, keys, items, axis, codes[axis], slots, False)
    top = 0
    for i in range(len(alive)):
        word = alive[i]
        while word:
            out[top] = (i << 6) + trailing_zeros(word)
            top += 1
            word &= word - np.uint64(1)
    return top, entries
