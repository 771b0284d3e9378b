"""Boxes as they are, one after the other: for algorithms that ask a box itself.

Row b is `size[b]` intervals from at[b] on: axis, low and high.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, lean
from matchwood.papers.boxes import Boxes
from matchwood.papers.roster import roomy

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Rows:
    """The intervals of boxes by number."""

    def __init__(self, given: Boxes) -> None:
        self.at: Longs = given.start[:-1].copy()
        self.size: Ints = np.diff(given.start).astype(np.int32)
        self.cells: Ints = np.stack((given.axis, given.low, given.high), 1)
        self.used = self.live = len(self.cells)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self.at, self.size = roomy(self.at, box + 1), roomy(self.size, box + 1)
        self.cells = roomy(self.cells, self.used + len(axis))
        self.cells[self.used : self.used + len(axis)] = np.stack((axis, low, high), 1)
        self.at[box], self.size[box] = self.used, len(axis)
        self.used += len(axis)
        self.live += len(axis)

    def delete(self, box: int) -> None:
        """Drop a box; rows close up once half of them are of none."""
        self.live -= int(self.size[box])
        self.size[box] = 0
        if 2 * self.live < self.used:
            self.cells = _close_up(self.at, self.size, self.cells, self.live)
            self.used = self.live

    @property
    def bytes(self) -> int:
        return 12 * self.used + 12 * len(self.at)


@compiled
def _close_up(at, size, cells, live):
    kept = np.empty((live, 3), np.int32)
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
        code = codes[cells[i, 0]]
        if code < cells[i, 1] or code > cells[i, 2]:
            return False
    return True
