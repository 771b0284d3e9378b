"""Kernels of BE-Tree: inserting boxes, cutting leaves, deleting and matching."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.lab.papers.boxes.box_rows_kernels import AXIS, HIGH, LOW, holds
from matchwood.lab.papers.shared.axes_kernels import FIRST, LAST, MISSING

# Columns of a node. A node is the whole or a part of the domain of `_AXIS`, from `_LOW` to `_HIGH`;
# the root is of no attribute. Directories of a node are a chain of the nodes for whole domains.
_HEAD, SIZE, ROOM, _AXIS, _LOW, _HIGH, _LEFT, _RIGHT, _ABOVE, _FIRST, _NEXT, BELOW = range(12)

# How many columns a node has.
COLUMNS = 12

# The difference of the highest and the lowest code of a part below which the part is not halved.
_NARROWEST = 2


@inlined
def _interval(at, size, cells, box, axis):
    """Where a box has its interval of an axis; -1 where it leaves that free."""
    for i in range(at[box], at[box] + size[box]):
        if cells[i, AXIS] == axis:
            return i
    return np.int64(-1)


@inlined
def _put(tree, following, node_of, node, box):
    following[box] = tree[node, _HEAD]
    tree[node, _HEAD] = box
    tree[node, SIZE] += 1
    node_of[box] = node


@inlined
def _new(tree, nodes, axis, low, high, above, capacity):
    """A node for a part of a domain; `above` is the node whose directory it is in."""
    tree[nodes, _HEAD], tree[nodes, SIZE], tree[nodes, ROOM] = -1, 0, capacity
    tree[nodes, _AXIS], tree[nodes, _LOW], tree[nodes, _HIGH] = axis, low, high
    tree[nodes, _LEFT], tree[nodes, _RIGHT], tree[nodes, _ABOVE] = -1, -1, above
    tree[nodes, _FIRST], tree[nodes, _NEXT], tree[nodes, BELOW] = -1, -1, 0


@lean
def _smallest(tree, node, low, high):
    """The smallest part of a domain, from `node` down, that encloses an interval."""
    while tree[node, _LEFT] >= 0:
        middle = tree[tree[node, _LEFT], _HIGH]
        if high <= middle:
            node = tree[node, _LEFT]
        elif low > middle:
            node = tree[node, _RIGHT]
        else:
            break
    return node


@lean
def insert(
    boxes, done, tree, nodes, spare, capacity, following, node_of, at, size, cells, scratch, todo
):
    """Insert boxes from `done` on while there is room; returns the next box, and the nodes."""
    while done < len(boxes) and nodes + spare < len(tree):
        box = boxes[done]
        done += 1
        node = np.int64(0)
        while True:
            best, most, where = np.int64(-1), np.int64(-1), np.int64(-1)
            part = tree[node, _FIRST]
            while part >= 0:
                i = _interval(at, size, cells, box, tree[part, _AXIS])
                if i >= 0 and tree[part, BELOW] > most:
                    best, most, where = part, tree[part, BELOW], i
                part = tree[part, _NEXT]
            if best < 0:
                break
            tree[best, BELOW] += 1
            node = _smallest(tree, best, cells[where, LOW], cells[where, HIGH])
        _put(tree, following, node_of, node, box)
        top = 0
        if tree[node, SIZE] > tree[node, ROOM]:
            todo[0] = node
            top = 1
        while top > 0:
            top -= 1
            node = np.int64(todo[top])
            if tree[node, SIZE] <= tree[node, ROOM]:
                continue
            if nodes + 4 >= len(tree):
                tree[node, ROOM] = 2 * tree[node, SIZE]
                continue
            before = nodes
            nodes = _halve(tree, nodes, node, capacity, following, node_of, at, size, cells)
            if tree[node, SIZE] > tree[node, ROOM]:
                nodes = _partition(
                    tree, nodes, node, capacity, following, node_of, at, size, cells, scratch
                )
            if tree[node, SIZE] > tree[node, ROOM]:
                tree[node, ROOM] = 2 * tree[node, SIZE]
            for new in range(before, nodes):
                if tree[new, SIZE] > tree[new, ROOM]:
                    todo[top] = new
                    top += 1
    return done, nodes


@lean
def _halve(tree, nodes, node, capacity, following, node_of, at, size, cells):
    """Space clustering: the boxes of a part of a domain that are in one of its halves go there."""
    axis, low, high = tree[node, _AXIS], tree[node, _LOW], tree[node, _HIGH]
    if axis < 0 or tree[node, _LEFT] >= 0 or high - low < _NARROWEST:
        return nodes
    middle = (low + high) >> 1
    _new(tree, nodes, axis, low, middle, tree[node, _ABOVE], capacity)
    _new(tree, nodes + 1, axis, middle + 1, high, tree[node, _ABOVE], capacity)
    tree[node, _LEFT], tree[node, _RIGHT] = nodes, nodes + 1
    box = tree[node, _HEAD]
    tree[node, _HEAD], tree[node, SIZE] = -1, 0
    while box >= 0:
        after = following[box]
        i = _interval(at, size, cells, box, axis)
        part = node
        if cells[i, HIGH] <= middle:
            part = nodes
        elif cells[i, LOW] > middle:
            part = nodes + 1
        _put(tree, following, node_of, part, box)
        box = after
    return nodes + 2


@lean
def _partition(tree, nodes, node, capacity, following, node_of, at, size, cells, scratch):
    """Space partitioning: a directory for the attribute that most boxes of a leaf have."""
    for axis in range(len(scratch)):
        scratch[axis] = 0
    box = tree[node, _HEAD]
    while box >= 0:
        for i in range(at[box], at[box] + size[box]):
            scratch[cells[i, AXIS]] += 1
        box = following[box]
    above = np.int64(node)
    while above >= 0:  # what was used on the way to it
        if tree[above, _AXIS] >= 0:
            scratch[tree[above, _AXIS]] = 0
        above = tree[above, _ABOVE]
    best = 0
    for axis in range(len(scratch)):
        if scratch[axis] > scratch[best]:
            best = axis
    if scratch[best] < 2:
        return nodes
    _new(tree, nodes, best, FIRST, LAST, node, capacity)
    tree[nodes, _NEXT] = tree[node, _FIRST]
    tree[node, _FIRST] = nodes
    box = tree[node, _HEAD]
    tree[node, _HEAD], tree[node, SIZE] = -1, 0
    while box >= 0:
        after = following[box]
        has_attribute = _interval(at, size, cells, box, best) >= 0
        _put(tree, following, node_of, nodes if has_attribute else node, box)
        tree[nodes, BELOW] += has_attribute
        box = after
    return nodes + 1


@compiled
def delete(tree, following, node_of, box):
    """Remove a box from its leaf, and from the counts of the directories above."""
    node = np.int64(node_of[box])
    before = -1
    other = tree[node, _HEAD]
    while other != box:
        before = other
        other = np.int64(following[other])
    if before < 0:
        tree[node, _HEAD] = following[box]
    else:
        following[before] = following[box]
    tree[node, SIZE] -= 1
    node_of[box] = -1
    while node >= 0 and tree[node, _AXIS] >= 0:
        above = tree[node, _ABOVE]
        part = tree[above, _FIRST]
        while tree[part, _AXIS] != tree[node, _AXIS]:
            part = tree[part, _NEXT]
        tree[part, BELOW] -= 1
        node = above


@lean
def match(codes, tree, following, at, size, cells, todo, out):
    """Write the boxes that an event is in to `out`; returns how many, nodes visited, and boxes
    tested."""
    match_count, visited, tested = 0, 0, 0
    todo[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = np.int64(todo[top])
        visited += 1
        box = tree[node, _HEAD]
        while box >= 0:
            tested += 1
            if holds(cells, at[box], size[box], codes):
                out[match_count] = box
                match_count += 1
            box = np.int64(following[box])
        part = tree[node, _FIRST]
        while part >= 0:
            code = MISSING
            if tree[part, _AXIS] < len(codes):
                code = codes[tree[part, _AXIS]]
            if code != MISSING:
                deeper = part
                while deeper >= 0:
                    todo[top] = deeper
                    top += 1
                    if tree[deeper, _LEFT] < 0:
                        break
                    left = tree[deeper, _LEFT]
                    deeper = left if code <= tree[left, _HIGH] else tree[deeper, _RIGHT]
            part = tree[part, _NEXT]
    return match_count, visited, tested
