"""Boxes stored one after the other, for algorithms that test a box itself.

Box b has `size[b]` intervals from at[b] on; `box_rows_kernels` names the columns of an interval.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.boxes import box_rows_kernels as kernels
from matchwood.lab.papers.shared.box_algorithm import BoxArrays
from matchwood.lab.papers.shared.rule_numbers import roomy


class BoxRows:
    """The intervals of boxes by number."""

    def __init__(self, boxes: BoxArrays) -> None:
        self.at: Int64Array = boxes.start[:-1].copy()
        self.size: Int32Array = np.diff(boxes.start).astype(np.int32)
        self.cells: Int32Array = np.stack((boxes.axis, boxes.low, boxes.high), 1)
        self.used = self.live = len(self.cells)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self.at, self.size = roomy(self.at, box + 1), roomy(self.size, box + 1)
        self.cells = roomy(self.cells, self.used + len(axis))
        self.cells[self.used : self.used + len(axis)] = np.stack((axis, low, high), 1)
        self.at[box], self.size[box] = self.used, len(axis)
        self.used += len(axis)
        self.live += len(axis)

    def delete(self, box: int) -> None:
        """Drop a box; the rows are compacted once half of them are unused."""
        self.live -= int(self.size[box])
        self.size[box] = 0
        if 2 * self.live < self.used:
            self.cells = kernels.close_up(self.at, self.size, self.cells, self.live)
            self.used = self.live

    @property
    def bytes(self) -> int:
        return 12 * self.used + 12 * len(self.at)
