"""Kernels of OpIndex: pivots, predicates, and counting."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.lab.papers.shared.axes_kernels import BITS, FIRST, LAST, MISSING

# The comparisons of predicates, each of which has lists of its own.
_GE, _LE, _EQ = range(3)


@compiled
def choose_pivots(start, axis, often):
    """The rarest axis of every box; -1 of one that has none."""
    pivot = np.full(len(start) - 1, -1, np.int32)
    for box in range(len(pivot)):
        for i in range(start[box], start[box + 1]):
            if pivot[box] < 0 or often[axis[i]] < often[pivot[box]]:
                pivot[box] = axis[i]
    return pivot


@compiled
def predicates_of(axis, low, high, box):
    """Intervals as predicates: the interval, operator, value and box of each. An interval that
    asks for nothing but the attribute is `>=` the first code."""
    entry = np.empty(2 * len(axis), np.int64)
    op = np.empty(2 * len(axis), np.int32)
    key = np.empty(2 * len(axis), np.int32)
    item = np.empty(2 * len(axis), np.int32)
    top = 0
    for i in range(len(axis)):
        if low[i] == high[i]:
            entry[top], op[top], key[top], item[top] = i, _EQ, low[i], box[i]
            top += 1
            continue
        if low[i] != FIRST or high[i] == LAST:
            entry[top], op[top], key[top], item[top] = i, _GE, low[i], box[i]
            top += 1
        if high[i] != LAST:
            entry[top], op[top], key[top], item[top] = i, _LE, high[i], box[i]
            top += 1
    return entry[:top].copy(), op[:top].copy(), key[:top].copy(), item[:top].copy()


@inlined
def _tally(items, begin, end, counts):
    for i in range(begin, end):
        counts[items[i]] += 1


@inlined
def _first(keys, begin, end, code):
    """The first position whose key is not below a code."""
    while begin < end:
        middle = (begin + end) >> 1
        if keys[middle] < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@lean
def count(codes, lists, pivoted, at, size, keys, items, need, counts, out, segments):
    """Write the boxes all of whose predicates are true to `out`; returns how many, and how many
    predicates are true."""
    for i in range(len(counts)):
        counts[i] = 0
    entries = np.int64(0)
    for pivot in range(len(pivoted)):
        if pivoted[pivot] == 0 or codes[pivot] == MISSING:
            continue
        for axis in range(len(pivoted)):
            code = np.int64(codes[axis])
            if code == MISSING:
                continue
            segment = (code * segments) >> BITS
            number = np.int64(lists[pivot, axis, _GE])
            if number >= 0:
                for run in range(number * segments, number * segments + segment):
                    entries += size[run]
                    _tally(items, at[run], at[run] + size[run], counts)
                run = number * segments + segment
                middle = _first(keys, at[run], at[run] + size[run], code + 1)
                entries += middle - at[run]
                _tally(items, at[run], middle, counts)
            number = np.int64(lists[pivot, axis, _LE])
            if number >= 0:
                run = number * segments + segment
                middle = _first(keys, at[run], at[run] + size[run], code)
                entries += at[run] + size[run] - middle
                _tally(items, middle, at[run] + size[run], counts)
                for run in range(number * segments + segment + 1, (number + 1) * segments):
                    entries += size[run]
                    _tally(items, at[run], at[run] + size[run], counts)
            number = np.int64(lists[pivot, axis, _EQ])
            if number >= 0:
                run = number * segments + segment
                begin = _first(keys, at[run], at[run] + size[run], code)
                end = _first(keys, begin, at[run] + size[run], code + 1)
                entries += end - begin
                _tally(items, begin, end, counts)
    top = 0
    for box in range(len(counts)):
        out[top] = box
        top += (counts[box] == need[box]) & (need[box] > 0)
    return top, entries
