"""Boxes that lie together: a tree over conjunctions of intervals, whose leaves hold some of them.

A set of boxes is split by the attribute that is expected to spare an event most of them: boxes
without it stay behind, the others go by the middle of their interval, narrow ones in finer parts.
Each part is a branch with one test, that the event's code lies in the hull of its intervals; where
it does not, all below is passed over. Branches stand in the order of a walk from the top:

    branches: slot, low, high, where to go on if the test fails; or -1, leaf, 0, 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.layout import (
    CODE_MASK,
    FAMILY_HIGH,
    FAMILY_LOW,
    INLINE_MASK,
    INLINE_SHIFT,
    IV_END,
    IV_START,
    LOW_SHIFT,
    OTHER,
    REF_MASK,
    SLOT_MASK,
    SLOT_SHIFT,
)

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

LEAF = 512  # boxes that a leaf has room for
_LEAST = LEAF // 2  # boxes that make a part of their own
_SAMPLE = 2048  # boxes that an attribute is chosen by
_PRESENT = 0.3  # what a test is worth that an event may fail by lacking the attribute
_WORTH = 0.12  # of an attribute's boxes: what a split has to spare
_NARROW, _WIDE = 1 / 16, 0.6  # parts of the hull
_FINE, _COARSE = 16, 4  # parts that narrow and other intervals go to
_CHAIN = 160  # attributes that a set is split by, one after the other
_WORK = 400  # visits a box; what is not split by then is cut


class Boxes(NamedTuple):
    """Intervals of codes, of each box start[i]:start[i + 1], an interval to a slot."""

    start: Longs
    slot: Ints
    low: Ints
    high: Ints


class Split(NamedTuple):
    """An order of boxes, the leaves order[bounds[i, 0]:bounds[i, 1]], and the tree above them."""

    order: Ints
    bounds: Ints
    branches: Ints


@compiled
def boxes_of(places, records, row_literal, atom_row, iv_low, iv_high):
    """What the inline words of some records ask of the codes of an event, or less than that.

    Where words are of one slot their intervals are intersected; of several intervals this takes
    the hull. It holds of single values; lists are another matter.
    """
    start = np.zeros(len(places) + 1, np.int64)
    for i in range(len(places)):
        start[i + 1] = start[i] + ((records[places[i]] >> INLINE_SHIFT) & INLINE_MASK)
    slot = np.empty(start[-1], np.int32)
    low = np.empty(start[-1], np.int32)
    high = np.empty(start[-1], np.int32)
    top = 0
    for i in range(len(places)):
        inline = start[i + 1] - start[i]
        begin = top
        start[i] = top
        for k in range(places[i] + 1, places[i] + 1 + inline):
            word = records[k]
            mine = (word >> SLOT_SHIFT) & SLOT_MASK
            least, most = (word >> LOW_SHIFT) & CODE_MASK, word & CODE_MASK
            if word < 0:
                ref = row_literal[word & REF_MASK]
                row = atom_row[ref >> 1]
                if ref & 1:
                    least, most = np.int64(row[FAMILY_LOW]), np.int64(row[FAMILY_HIGH])
                elif row[IV_START] < row[IV_END]:
                    least = np.int64(iv_low[row[IV_START]])
                    most = np.int64(iv_high[row[IV_END] - 1])
                else:
                    least, most = np.int64(OTHER + 1), np.int64(OTHER)
                least = max(least, OTHER + 1)
            j = begin
            while j < top and slot[j] != mine:
                j += 1
            if j == top:
                slot[j], low[j], high[j] = mine, least, most
                top += 1
            else:
                low[j], high[j] = max(low[j], least), min(high[j], most)
    start[-1] = top
    return start, slot[:top].copy(), low[:top].copy(), high[:top].copy()


@compiled
def _interval_of(box, wanted, start, slot):
    for i in range(start[box], start[box + 1]):
        if slot[i] == wanted:
            return i
    return -1


@compiled
def _chosen(boxes, start, slot, low, high, count, gain, least, most):
    """The slot to split some boxes by (-1: none), its hull, and whether all of them have it."""
    step = max(1, len(boxes) // _SAMPLE)
    touched = np.empty(0, np.int32)
    asked = 0
    found = 0
    for _ in range(2):  # first to count slots, then to name them
        found = 0
        asked = 0
        for k in range(0, len(boxes), step):
            asked += 1
            for i in range(start[boxes[k]], start[boxes[k] + 1]):
                s = slot[i]
                if count[s] == 0:
                    if len(touched):
                        touched[found] = s
                    found += 1
                    least[s], most[s] = low[i], high[i]
                    gain[s] = 0.0
                count[s] += 1
                least[s], most[s] = min(least[s], low[i]), max(most[s], high[i])
        if len(touched) == 0:
            touched = np.empty(found + 1, np.int32)
            for k in range(0, len(boxes), step):
                for i in range(start[boxes[k]], start[boxes[k] + 1]):
                    count[slot[i]] = 0
    for k in range(0, len(boxes), step):
        for i in range(start[boxes[k]], start[boxes[k] + 1]):
            s = slot[i]
            share = (high[i] - low[i] + 1) / max(1, most[s] - least[s] + 1)
            if share <= _WIDE:
                gain[s] += 1.0 - share
            if count[s] < asked:
                gain[s] += _PRESENT
    best = -1
    for j in range(found):
        s = touched[j]
        enough = gain[s] >= _WORTH * count[s] and count[s] * step >= _LEAST
        if enough and (best < 0 or gain[s] > gain[best]):
            best = s
    everywhere = best >= 0 and count[best] == asked
    for j in range(found):
        count[touched[j]] = 0
    if best < 0:
        return -1, 0, 0, everywhere
    return best, least[best], most[best], everywhere


@compiled
def _part(least, most, lowest, highest, everywhere):
    """The part of a split that an interval goes to; 0 stays behind."""
    size = np.int64(highest) - lowest + 1
    middle = (np.int64(least) + most) // 2 - lowest
    middle = min(max(middle, 0), size - 1)
    share = (most - least + 1) / size
    if share <= _NARROW:
        return 1 + middle * _FINE // size
    if share <= _WIDE:
        return 1 + _FINE + middle * _COARSE // size
    return 0 if everywhere else 1 + _FINE + _COARSE


@compiled
def split(start, slot, low, high, slots):
    """Boxes in leaves, and the branches above them; see `Split`."""
    total = len(start) - 1
    order = np.arange(total).astype(np.int32)
    moved = np.empty(total, np.int32)
    part = np.empty(total, np.uint8)
    count = np.zeros(slots, np.int32)
    gain = np.zeros(slots, np.float64)
    least = np.zeros(slots, np.int32)
    most = np.zeros(slots, np.int32)
    branches = np.empty((2 * total // _LEAST + 64, 4), np.int32)
    bounds = np.empty((total // _LEAST + 64, 2), np.int32)
    placed, leaves = 0, 0
    sizes = np.zeros(3 + _FINE + _COARSE, np.int64)
    # begin, end, slot (-1: no test), low, high, links of the chain; or -1 and a branch to close
    stack = np.empty((256, 6), np.int64)
    stack[0] = np.array([0, total, -1, 0, 0, 0])
    top = 1
    work = 0
    while top > 0:
        top -= 1
        begin, end, tested = stack[top, 0], stack[top, 1], stack[top, 2]
        lowest, highest, links = stack[top, 3], stack[top, 4], stack[top, 5]
        if begin < 0:
            branches[end, 3] = placed
            continue
        if top + len(sizes) + 4 > len(stack):
            stack = np.concatenate((stack, np.empty_like(stack)))
        while placed + (end - begin) // LEAF + 4 >= len(branches):
            branches = np.concatenate((branches, np.empty_like(branches)))
        while leaves + (end - begin) // LEAF + 4 >= len(bounds):
            bounds = np.concatenate((bounds, np.empty_like(bounds)))
        if tested >= 0:
            branches[placed] = np.array([tested, lowest, highest, 0])
            stack[top, 0], stack[top, 1] = -1, placed
            top += 1
            placed += 1
        by = np.int64(-1)
        everywhere = False
        if end - begin > LEAF and links < _CHAIN and work < _WORK * total:
            by, lowest, highest, everywhere = _chosen(
                order[begin:end], start, slot, low, high, count, gain, least, most
            )
        if by >= 0:
            work += end - begin
            sizes[:] = 0
            for k in range(begin, end):
                i = _interval_of(order[k], by, start, slot)
                part[k] = 0
                if i >= 0:
                    part[k] = _part(low[i], high[i], lowest, highest, everywhere)
                sizes[part[k] + 1] += 1
            for p in range(1, len(sizes)):
                sizes[p] += sizes[p - 1]
            behind = sizes[1]
            places = sizes.copy()
            for k in range(begin, end):
                moved[begin + places[part[k]]] = order[k]
                places[part[k]] += 1
            order[begin:end] = moved[begin:end]
            by = by if behind < end - begin else -1
        if by < 0:
            for at in range(begin, end, LEAF):
                branches[placed] = np.array([-1, leaves, 0, 0])
                bounds[leaves, 0], bounds[leaves, 1] = at, min(end, at + LEAF)
                placed += 1
                leaves += 1
            continue
        mixed = 0 < behind < _LEAST // 4  # too few: they go with the first part, untested
        if mixed:
            behind = 0
        if behind:
            stack[top] = np.array([begin, begin + behind, -1, 0, 0, links + 1])
            top += 1
        at = begin + behind
        for p in range(2, len(sizes)):
            edge = begin + sizes[p]
            last = sizes[p] == end - begin
            if edge == at or (not last and (edge - at < _LEAST or end - edge < _LEAST)):
                continue
            hull_low, hull_high = highest, lowest
            for k in range(at, edge):
                i = _interval_of(order[k], by, start, slot)
                if i >= 0:
                    hull_low, hull_high = min(hull_low, low[i]), max(hull_high, high[i])
            mine = -1 if mixed and at == begin else by
            again = links + 16 if edge - at == end - begin else 0  # nothing was split off
            stack[top] = np.array([at, edge, mine, hull_low, hull_high, again])
            top += 1
            at = edge
            if last:
                break
    return order, bounds[:leaves].copy(), branches[:placed].ravel().copy()
