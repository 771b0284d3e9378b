"""Two arrays of slots per axis: boxes by their low ends, and boxes by their high ends.

A slot is a part of the codes of its axis, and holds the ends that are in it. Low ends of axis a
are in runs from 2 * a * slots on, its high ends in as many after those. An end that a rule leaves
out is in no slot, so that a box is not in the slots of an axis that it leaves free. A box that only
asks for the attribute to be there, with any value, is in the slot of the first code.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, UInt64Array
from matchwood.lab.papers.boxes import slots_kernels as kernels
from matchwood.lab.papers.boxes.runs import Runs
from matchwood.lab.papers.shared.box_algorithm import BoxArrays


class Slots:
    """The slots of all axes, and the bits of live boxes."""

    def __init__(self, boxes: BoxArrays, axes: int, slots: int, ordered: bool) -> None:
        self.slots = slots
        self.runs = Runs(2 * axes * slots, ordered=ordered)
        count = len(boxes.rule)
        box = np.repeat(np.arange(count, dtype=np.int32), np.diff(boxes.start))
        self.runs.fill(*kernels.ends_of(boxes.axis, boxes.low, boxes.high, box, slots))
        chosen = np.flatnonzero(np.diff(boxes.start) > 0)
        live = np.zeros(((count >> 6) + 1) * 8, np.uint8)
        live[: (count >> 3) + 1] = np.packbits(
            np.bincount(chosen, minlength=(count | 7) + 1).astype(np.uint8), bitorder="little"
        )[: (count >> 3) + 1]
        self.live: UInt64Array = live.view(np.uint64)
        self.count = len(chosen)

    def insert(
        self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array, axes: int
    ) -> None:
        """Put the ends of a box into their slots; `axes` is the number of axes now."""
        self.runs.reserve(2 * axes * self.slots)
        for run, key, item in self._entries(box, axis, low, high):
            self.runs.insert(run, key, item)
        if box >> 6 >= len(self.live):
            self.live = np.r_[self.live, np.zeros(len(self.live) // 2 + 2, np.uint64)]
        self.live[box >> 6] |= np.uint64(1 << (box & 63))
        self.count += 1

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        for run, key, item in self._entries(box, axis, low, high):
            self.runs.delete(run, key, item)
        self.live[box >> 6] &= ~np.uint64(1 << (box & 63))
        self.count -= 1

    def _entries(
        self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array
    ) -> list[list[int]]:
        boxes = np.full(len(axis), box, np.int32)
        entries: list[list[int]] = np.stack(
            kernels.ends_of(axis, low, high, boxes, self.slots), 1
        ).tolist()
        return entries

    @property
    def bytes(self) -> int:
        return self.runs.bytes + self.live.nbytes
