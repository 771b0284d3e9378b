"""Kernels over the slots of ends: filling them, and excluding boxes by them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.lab.papers.shared.axes_kernels import BITS, FIRST, LAST, MISSING


@compiled
def ends_of(axis, low, high, box, slots):
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
