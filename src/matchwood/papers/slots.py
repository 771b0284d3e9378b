"""Two arrays of slots an axis: boxes by their low ends, and boxes by their high ends.

A slot is a part of the codes of its axis, and holds the ends that are in it. Low ends of axis a
are in runs from 2 * a * slots on, its high ends in as many behind those. An end that a rule leaves
out is in no slot, so that an axis that a box leaves free has nothing of it; only where it asks for
any value at all, which an event may lack, the first code stands for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, lean
from matchwood.papers.boxes import Boxes
from matchwood.papers.conjunctive import BITS, FIRST, LAST, MISSING, Ints
from matchwood.papers.runs import Runs

Bits = NDArray[np.uint64]


class Slots:
    """The slots of all axes, and which boxes there are."""

    def __init__(self, given: Boxes, axes: int, slots: int, ordered: bool) -> None:
        self.slots = slots
        self.runs = Runs(2 * axes * slots, ordered=ordered)
        count = len(given.rule)
        box = np.repeat(np.arange(count, dtype=np.int32), np.diff(given.start))
        self.runs.fill(*_ends(given.axis, given.low, given.high, box, slots))
        chosen = np.flatnonzero(np.diff(given.start) > 0)
        live = np.zeros(((count >> 6) + 1) * 8, np.uint8)
        live[: (count >> 3) + 1] = np.packbits(
            np.bincount(chosen, minlength=(count | 7) + 1).astype(np.uint8), bitorder="little"
        )[: (count >> 3) + 1]
        self.live: Bits = live.view(np.uint64)
        self.count = len(chosen)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints, axes: int) -> None:
        """Put the ends of a box into their slots; there are so many axes now."""
        self.runs.reserve(2 * axes * self.slots)
        for run, key, item in self._entries(box, axis, low, high):
            self.runs.insert(run, key, item)
        if box >> 6 >= len(self.live):
            self.live = np.r_[self.live, np.zeros(len(self.live) // 2 + 2, np.uint64)]
        self.live[box >> 6] |= np.uint64(1 << (box & 63))
        self.count += 1

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        for run, key, item in self._entries(box, axis, low, high):
            self.runs.delete(run, key, item)
        self.live[box >> 6] &= ~np.uint64(1 << (box & 63))
        self.count -= 1

    def _entries(self, box: int, axis: Ints, low: Ints, high: Ints) -> list[list[int]]:
        boxes = np.full(len(axis), box, np.int32)
        found: list[list[int]] = np.stack(_ends(axis, low, high, boxes, self.slots), 1).tolist()
        return found

    @property
    def bytes(self) -> int:
        return self.runs.bytes + self.live.nbytes


@compiled
def _ends(axis, low, high, box, slots):
    """The run, key and box of every end that is there."""
    count = 0
    for i in range(len(axis)):
        count += max(1, (low[i] != FIRST) + (high[i] != LAST))
    run = np.empty(count, np.int32)
    key = np.empty(count, np.int32)
    item = np.empty(count, np.int32)
    top = 0
    for i in range(len(axis)):
        first = 2 * np.int64(axis[i]) * slots
        if low[i] != FIRST or high[i] == LAST:
            run[top] = first + ((np.int64(low[i]) * slots) >> BITS)
            key[top], item[top] = low[i], box[i]
            top += 1
        if high[i] != LAST:
            run[top] = first + slots + ((np.int64(high[i]) * slots) >> BITS)
            key[top], item[top] = high[i], box[i]
            top += 1
    return run, key, item


@lean
def exclude(alive, at, size, keys, items, axis, code, slots, ordered):
    """Clear the bits of the boxes that a code is outside of on an axis; how many ends were met.

    Algorithm 1 of DEXIN: in the slot of the code itself ends are compared, those beyond it all go.
    Of an event that lacks the axis, every box that has an end there is outside.
    """
    first = 2 * np.int64(axis) * slots
    entries = np.int64(0)
    if code == MISSING:
        for run in range(first, first + 2 * slots):
            entries += size[run]
            _clear(alive, items, at[run], at[run] + size[run])
        return entries
    slot = (np.int64(code) * slots) >> BITS
    run = first + slot
    entries += _clear_some(alive, keys, items, at[run], size[run], code, False, ordered)
    for run in range(first + slot + 1, first + slots + slot):  # low ends above, high ends below
        entries += size[run]
        _clear(alive, items, at[run], at[run] + size[run])
    run = first + slots + slot
    entries += _clear_some(alive, keys, items, at[run], size[run], code, True, ordered)
    return entries


@inlined
def _clear(alive, items, begin, end):
    for i in range(begin, end):
        box = items[i]
        alive[box >> 6] &= ~(np.uint64(1) << np.uint64(box & 63))


@inlined
def _clear_some(alive, keys, items, begin, count, code, below, ordered):
    """The slot of the code: low ends above it, or high ends below it, are cleared."""
    end = begin + count
    if not ordered:
        for i in range(begin, end):
            if (keys[i] < code) if below else (keys[i] > code):
                _clear(alive, items, i, i + 1)
        return np.int64(count)
    least, most = begin, end
    while least < most:
        middle = (least + most) >> 1
        if (keys[middle] < code) if below else (keys[middle] <= code):
            least = middle + 1
        else:
            most = middle
    if below:
        _clear(alive, items, begin, least)
        return least - begin
    _clear(alive, items, least, end)
    return end - least
