"""Kernels of Hanson: interval trees, and matching with them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, lean
from matchwood.lab.papers.le_subscribe.postings_kernels import AT, SIZE
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, HIGH, LOW
from matchwood.lab.papers.shared.axes_kernels import FIRST, LAST

# Columns of a node: its value, and the nodes for the values below and above it.
_VALUE, _LEFT, _RIGHT = range(3)

# How many columns a node has.
NODE_COLUMNS = 3

# The sets of marks of a node: for values below, equal to and above its own.
_BELOW, _EQUAL, _ABOVE = range(3)

# How many sets of marks a node has.
_SETS = 3

# The number that stands for no node.
NONE = -1

# The most nodes on a path; a tree is rebuilt long before that.
_DEEPEST = 4096

# Columns of a part of the sorted values that `balance` has still to make a tree of: the positions
# from which on and before which its values are, and the link that leads to the tree.
_FROM, _TO, _LINK = range(3)

# Columns of a node that `mark_all` has still to visit: its number, and the lowest and the highest
# value that may lie at it or below it.
_NODE, _LEAST, _MOST = range(3)


@codec
def _pack_link(node, side):
    """The link from a node to its child on a side: | node | side - _LEFT: 1 bit |."""
    return 2 * node + (side - _LEFT)


@codec
def _unpack_link(link):
    """(node, side) of a link."""
    return link >> 1, _LEFT + (link & 1)


@codec
def _marks_of(node, side):
    """The key of one of the sets of marks of a node."""
    return _SETS * node + side


@compiled
def balance(nodes, first, values):
    """A balanced tree over sorted values, in nodes from `first` on; its root."""
    spans = np.empty((128, 3), np.int64)
    spans[0, _FROM], spans[0, _TO], spans[0, _LINK] = 0, len(values), NONE
    top = 1
    root = np.int64(NONE)
    while top > 0:
        top -= 1
        low, high, link = spans[top, _FROM], spans[top, _TO], spans[top, _LINK]
        node = np.int64(NONE)
        if low < high:
            middle = (low + high) >> 1
            node = first + middle
            nodes[node, _VALUE] = values[middle]
            spans[top, _TO], spans[top, _LINK] = middle, _pack_link(node, _LEFT)
            spans[top + 1, _FROM], spans[top + 1, _TO] = middle + 1, high
            spans[top + 1, _LINK] = _pack_link(node, _RIGHT)
            top += 2
        if link == NONE:
            root = node
        else:
            parent, side = _unpack_link(link)
            nodes[parent, side] = node
    return root


@lean
def grow(nodes, roots, count, axis, value):
    """Add a leaf for a value unless a node has it; returns whether it is new, and its depth."""
    at = roots[axis]
    depth = 1
    parent = NONE
    side = _LEFT
    while at != NONE and nodes[at, _VALUE] != value:
        parent = at
        side = _LEFT if value < nodes[at, _VALUE] else _RIGHT
        at = nodes[at, side]
        depth += 1
    if at != NONE:
        return 0, depth
    nodes[count, _VALUE] = value
    nodes[count, _LEFT], nodes[count, _RIGHT] = NONE, NONE
    if parent == NONE:
        roots[axis] = count
    else:
        nodes[parent, side] = count
    return 1, depth


@compiled
def mark_all(nodes, roots, rows):
    """The sets of marks that intervals are in, and for each which row the interval is of."""
    keys = np.empty(16 * len(rows) + 64, np.int64)
    marked = np.empty(len(keys), np.int32)
    todo = np.empty((_DEEPEST, 3), np.int64)
    top = 0
    for row in range(len(rows)):
        low, high = rows[row, LOW], rows[row, HIGH]
        todo[0, _NODE], todo[0, _LEAST], todo[0, _MOST] = roots[rows[row, AXIS]], FIRST, LAST
        left = 1
        while left > 0:
            left -= 1
            node, first, last = todo[left, _NODE], todo[left, _LEAST], todo[left, _MOST]
            value = np.int64(nodes[node, _VALUE])
            if top + 3 > len(keys):
                larger = np.empty(2 * len(keys), np.int64)
                larger[:top] = keys[:top]
                larger_marked = np.empty(2 * len(keys), np.int32)
                larger_marked[:top] = marked[:top]
                keys, marked = larger, larger_marked
            for side in range(_SETS):
                begin = (first, value, value + 1)[side]
                end = (value - 1, value, last)[side]
                if begin > end or high < begin or low > end:
                    continue
                if low <= begin and end <= high:
                    keys[top], marked[top] = _marks_of(node, side), row
                    top += 1
                else:
                    child = nodes[node, _LEFT if side == _BELOW else _RIGHT]
                    todo[left, _NODE], todo[left, _LEAST], todo[left, _MOST] = child, begin, end
                    left += 1
    return keys[:top].copy(), marked[:top].copy()


@lean
def match(nodes, roots, lists, entries, chosen, codes, at, size, rows, out):
    """Write the true rules to `out`; returns how many, nodes, candidates, and predicates tested.

    `chosen` has the row of each rule by which it is found, which is not tested again.
    """
    partly = 0
    visited = 0
    for axis in range(min(len(roots), len(codes))):  # step 1: partially satisfied subscriptions
        code = codes[axis]
        node = roots[axis] if code >= 0 else NONE
        while node != NONE:
            visited += 1
            value = nodes[node, _VALUE]
            marks = _EQUAL
            child = NONE
            if code < value:
                marks, child = _BELOW, nodes[node, _LEFT]
            elif code > value:
                marks, child = _ABOVE, nodes[node, _RIGHT]
            key = _marks_of(node, marks)
            if key < len(lists):
                for i in range(lists[key, AT], lists[key, AT] + lists[key, SIZE]):
                    out[partly] = entries[i]
                    partly += 1
            node = child
    match_count = 0
    tested = 0
    for i in range(partly):  # step 2: other predicates
        rule = out[i]
        true = True
        for row in range(at[rule], at[rule] + size[rule]):
            if rows[row, AXIS] == chosen[rule, AXIS]:
                continue
            tested += 1
            code = codes[rows[row, AXIS]]
            if code < rows[row, LOW] or code > rows[row, HIGH]:
                true = False
                break
        if true:
            out[match_count] = rule
            match_count += 1
    return match_count, visited, partly, tested
