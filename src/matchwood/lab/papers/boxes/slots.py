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
        self._beyond = np.zeros((axes, slots), np.int32)
        self._changed = set(range(axes))  # axes of which `_beyond` is out of date

    @property
    def beyond(self) -> Int32Array:
        """By axis and slot, the low ends in it and after it, and the high ends in it and before it.

        That is what the exclusive method walks for a value in the slot. Changes of boxes leave the
        counts of their axes to be made anew once, by the next event.
        """
        if self._changed:
            axes = sorted(self._changed)
            if axes[-1] >= len(self._beyond):
                more = axes[-1] + 1 - len(self._beyond)
                empty = np.zeros((more, self.slots), np.int32)
                self._beyond = np.concatenate((self._beyond, empty))
            for axis in axes:
                low, high = self.runs.size[2 * axis * self.slots :][: 2 * self.slots].reshape(2, -1)
                self._beyond[axis] = np.cumsum(low[::-1])[::-1] + np.cumsum(high)
            self._changed.clear()
        return self._beyond

    def insert(
        self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array, axes: int
    ) -> None:
        """Put the ends of a box into their slots; `axes` is the number of axes now."""
        self.runs.reserve(2 * axes * self.slots)
        self._changed.update(range(len(self._beyond), axes))
        self._changed.update(axis.tolist())
        for run, key, item in self._entries(box, axis, low, high):
            self.runs.insert(run, key, item)
        if box >> 6 >= len(self.live):
            self.live = np.r_[self.live, np.zeros(len(self.live) // 2 + 2, np.uint64)]
        self.live[box >> 6] |= np.uint64(1 << (box & 63))
        self.count += 1

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._changed.update(axis.tolist())
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
        return self.runs.bytes + self.live.nbytes + self._beyond.nbytes
