"""Kernels over boxes that are stored one after the other."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean

# Columns of an interval of a box: its axis, and the lowest and highest code that are in it.
AXIS, LOW, HIGH = range(3)

# How many columns an interval has.
COLUMNS = 3


@compiled
def close_up(at, size, cells, live):
    """The intervals without gaps between boxes; `at` is changed to their new positions."""
    kept = np.empty((live, COLUMNS), np.int32)
    top = 0
    for box in range(len(at)):
        kept[top : top + size[box]] = cells[at[box] : at[box] + size[box]]
        at[box] = top
        top += size[box]
    return kept


@lean
def holds(cells, begin, count, codes):
    """Whether codes are in all intervals of a row."""
    for i in range(begin, begin + count):
        code = codes[cells[i, AXIS]]
        if code < cells[i, LOW] or code > cells[i, HIGH]:
            return False
    return True
