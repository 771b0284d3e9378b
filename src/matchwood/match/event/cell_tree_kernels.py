"""A tree over boxes (conjunctions of intervals) whose leaves hold boxes that lie close together.

A set of boxes is split by the attribute that is expected to rule most of them out for an event.
Boxes without that attribute stay together; the others are grouped by the middle of their interval,
narrow ones more finely. Each group is a branch with one test: that the event's code lies in the
hull of its intervals. If it does not, everything below is skipped. Branches are rows of four int32
numbers in depth-first order, in a flat array once they are complete:

    a test   | slot | low  | high | next: the branch to continue with if the test fails |
    a leaf   | -1   | leaf | 0    | 0 |
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined
from matchwood.kernels.filling import copy_items, fill_array
from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.records import (
    FAMILY_COLUMNS,
    FAMILY_FIRST,
    FAMILY_LAST,
    OTHER,
    ROW_FAMILY,
    ROW_START,
    header_inline,
    is_several,
    may_hold,
    word_high,
    word_literal,
    word_low,
    word_slot,
)

# Boxes that a leaf has room for.
LEAF = 512

# Columns of `branches`; the number of a leaf is in the column LOW.
BRANCH_COLUMNS = 4
BRANCH_SLOT, BRANCH_LOW, BRANCH_HIGH, BRANCH_NEXT = range(BRANCH_COLUMNS)

# In place of the slot of a branch: it is a leaf.
IS_LEAF = -1

# Columns of the stack of `split`: the boxes order[begin:end], the test above them (its slot is
# _UNTESTED if there is none), and the number of splits in the chain that led here. If `begin` is
# _CLOSING, everything below the branch `end` is written.
_STACK_COLUMNS = 6
_BEGIN, _END, _SLOT, _LOW, _HIGH, _LINKS = range(_STACK_COLUMNS)

# In place of the slot of a test: boxes that are reached without one.
_UNTESTED = -1

# In place of the first box of an entry of the stack: the branch has to be closed.
_CLOSING = -1

# Boxes of a group of its own, at least.
_LEAST = LEAF // 2

# Boxes by which an attribute is chosen, roughly.
_SAMPLE = 2048

# The gain of a test that an event may fail because it lacks the attribute.
_PRESENT = 0.3

# The gain per box that a split has to have.
_WORTH = 0.12

# Intervals up to this share of the hull are narrow.
_NARROW = 1 / 16

# Intervals above this share of the hull are not grouped.
_WIDE = 0.6

# Groups of narrow intervals.
_FINE = 16

# Groups of the other intervals.
_COARSE = 4

# Attributes by which a set is split, one after another, at most.
_CHAIN = 160

# Visits per box, at most; sets that are not split by then are cut into leaves as they are.
_WORK = 400


@compiled
def boxes_of(places, records, atom_row, families, iv_low, iv_high):
    """The box of each record: a necessary condition on the codes of an event, from inline words.

    Returns the arrays (start, slot, low, high): box i has the intervals start[i]:start[i + 1], one
    per slot.

    Intervals of the same slot are intersected; of several intervals the hull is taken. The
    condition holds for single values, not for lists.
    """
    start = np.zeros(len(places) + 1, np.int64)
    for i in range(len(places)):
        start[i + 1] = start[i] + header_inline(records[places[i]])
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
            mine = word_slot(word)
            least, most = word_low(word), word_high(word)
            if is_several(word):
                ref = word_literal(word)
                atom = atom_of(ref)
                family = FAMILY_COLUMNS * np.int64(atom_row[atom, ROW_FAMILY])
                first, end = atom_row[atom, ROW_START], atom_row[atom + 1, ROW_START]
                if is_negated(ref):
                    least = np.int64(families[family + FAMILY_FIRST])
                    most = np.int64(families[family + FAMILY_LAST])
                elif first < end:
                    least, most = np.int64(iv_low[first]), np.int64(iv_high[end - 1])
                else:
                    least, most = np.int64(OTHER + 1), np.int64(OTHER)
                if not may_hold(word, OTHER):
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
    """The slot by which to split boxes (-1: none), its hull, and whether all boxes have it."""
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
    """The group that an interval goes to; those of group 0 stay together."""
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
def _grouped(order, part, moved, by, hull, everywhere, boxes, sizes):
    """Sort boxes by the group that their interval of the slot `by` goes to.

    Group g is then order[sizes[g]:sizes[g + 1]].
    """
    start, slot, low, high = boxes
    fill_array(sizes, 0)
    for k in range(len(order)):
        i = _interval_of(order[k], by, start, slot)
        part[k] = 0
        if i >= 0:
            part[k] = _part(low[i], high[i], hull[0], hull[1], everywhere)
        sizes[part[k] + 1] += 1
    for p in range(1, len(sizes)):
        sizes[p] += sizes[p - 1]
    next_at = sizes.copy()
    for k in range(len(order)):
        moved[next_at[part[k]]] = order[k]
        next_at[part[k]] += 1
    copy_items(moved, order, len(order))


@compiled
def _hull(members, by, hull, boxes):
    """The hull of the intervals that some boxes have of the slot `by`, inside that of all boxes."""
    start, slot, low, high = boxes
    least, most = hull[1], hull[0]
    for box in members:
        i = _interval_of(box, by, start, slot)
        if i >= 0:
            least, most = min(least, low[i]), max(most, high[i])
    return least, most


@inlined
def _put_part(stack, top, begin, end, tested, hull, links):
    stack[top, _BEGIN], stack[top, _END], stack[top, _SLOT] = begin, end, tested
    stack[top, _LOW], stack[top, _HIGH], stack[top, _LINKS] = hull[0], hull[1], links


@inlined
def _put_branch(branches, at, slot, low, high):
    branches[at, BRANCH_SLOT], branches[at, BRANCH_LOW] = slot, low
    branches[at, BRANCH_HIGH], branches[at, BRANCH_NEXT] = high, 0


@compiled
def _push_groups(stack, top, begin, order, by, hull, links, boxes, sizes):
    """Put the groups of order, which starts at the box `begin`, on the stack; returns its top."""
    total = len(order)
    behind = sizes[1]
    mixed = 0 < behind < _LEAST // 4  # too few: they go with the first group, untested
    if mixed:
        behind = 0
    if behind:
        _put_part(stack, top, begin, begin + behind, _UNTESTED, (0, 0), links + 1)
        top += 1
    at = behind
    for p in range(2, len(sizes)):
        edge = sizes[p]
        last = edge == total
        if edge == at or (not last and (edge - at < _LEAST or total - edge < _LEAST)):
            continue
        tested_hull = _hull(order[at:edge], by, hull, boxes)
        tested = _UNTESTED if mixed and at == 0 else by
        again = links + 16 if edge - at == total else 0  # nothing was split off
        _put_part(stack, top, begin + at, begin + edge, tested, tested_hull, again)
        top += 1
        at = edge
        if last:
            break
    return top


@compiled
def _with_room(rows, needed):
    """The rows, or a copy with room for more, so that there are more than `needed`."""
    while needed >= len(rows):
        more = np.empty((2 * len(rows), rows.shape[1]), rows.dtype)
        for i in range(len(rows)):
            copy_items(rows[i], more[i], rows.shape[1])
        rows = more
    return rows


@compiled
def split(start, slot, low, high, slots):
    """Distribute boxes over leaves, with branches above them.

    Returns an order of boxes, the leaves order[bounds[i, 0]:bounds[i, 1]], and the branches.
    """
    boxes = (start, slot, low, high)
    total = len(start) - 1
    order, moved = np.empty(total, np.int32), np.empty(total, np.int32)
    for k in range(total):
        order[k] = k
    part = np.empty(total, np.uint8)
    count = np.zeros(slots, np.int32)
    gain = np.zeros(slots, np.float64)
    least = np.zeros(slots, np.int32)
    most = np.zeros(slots, np.int32)
    branches = np.empty((2 * total // _LEAST + 64, BRANCH_COLUMNS), np.int32)
    bounds = np.empty((total // _LEAST + 64, 2), np.int32)
    placed, leaves = 0, 0
    sizes = np.zeros(3 + _FINE + _COARSE, np.int64)
    stack = np.empty((256, _STACK_COLUMNS), np.int64)
    _put_part(stack, 0, 0, total, _UNTESTED, (0, 0), 0)
    top = 1
    work = 0
    while top > 0:
        top -= 1
        begin, end, tested = stack[top, _BEGIN], stack[top, _END], stack[top, _SLOT]
        hull, links = (stack[top, _LOW], stack[top, _HIGH]), stack[top, _LINKS]
        if begin == _CLOSING:
            branches[end, BRANCH_NEXT] = placed
            continue
        stack = _with_room(stack, top + len(sizes) + 3)
        branches = _with_room(branches, placed + (end - begin) // LEAF + 4)
        bounds = _with_room(bounds, leaves + (end - begin) // LEAF + 4)
        if tested != _UNTESTED:
            _put_branch(branches, placed, tested, hull[0], hull[1])
            stack[top, _BEGIN], stack[top, _END] = _CLOSING, placed
            top += 1
            placed += 1
        by = np.int64(-1)
        here = order[begin:end]
        if end - begin > LEAF and links < _CHAIN and work < _WORK * total:
            by, lowest, highest, everywhere = _chosen(
                here, start, slot, low, high, count, gain, least, most
            )
            hull = (np.int64(lowest), np.int64(highest))
            if by >= 0:
                work += end - begin
                _grouped(here, part, moved, by, hull, everywhere, boxes, sizes)
                by = by if sizes[1] < end - begin else -1
        if by >= 0:
            top = _push_groups(stack, top, begin, here, by, hull, links, boxes, sizes)
            continue
        for at in range(begin, end, LEAF):
            _put_branch(branches, placed, IS_LEAF, leaves, 0)
            bounds[leaves, 0], bounds[leaves, 1] = at, min(end, at + LEAF)
            placed += 1
            leaves += 1
    return order, bounds[:leaves].copy(), branches[:placed].ravel().copy()
