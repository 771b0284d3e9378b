"""BE-Tree: space cut by attributes and by halves of their domains, and leaves of few boxes.

Sadoghi and Jacobsen, *Analysis and optimization for Boolean expression indexing*, TODS 2013. A
node holds boxes in a leaf and, for attributes that many of them had, directories: of an attribute,
one node for its whole domain, then for halves of halves. A box goes down the directory of its best
attribute into the smallest part of the domain that encloses its interval. A leaf that overflows is
cut in two ways, first by the halves of its own part, then by the attribute that most of its boxes
have and that was not used above; if neither helps, its capacity doubles. An event follows, from
every node, the directories of the attributes that it has, and in each the parts that hold its
value; it asks all boxes of all leaves on the way.

The best attribute here is the one with the most boxes. Nodes stay when they have become empty.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, inlined, lean
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import FIRST, LAST, MISSING, Ints
from matchwood.papers.protocol import Rules, Work
from matchwood.papers.roster import roomy
from matchwood.papers.rows import Rows, holds

CAPACITY = 32  # boxes of a leaf before it is cut
# Columns of a node. A node is the whole or a part of the domain of `_AXIS`, from `_LOW` to `_HIGH`;
# the root is of no attribute. Directories of a node are a chain of the nodes for whole domains.
_HEAD, _SIZE, _ROOM, _AXIS, _LOW, _HIGH, _LEFT, _RIGHT, _ABOVE, _FIRST, _NEXT, _BELOW = range(12)
_NARROWEST = 2  # codes of a part that is not halved


class BeTree(Boxed):
    """Boxes in a tree of attributes and halved domains.

    >>> tree = BeTree({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> tree.match({"age": 18, "price": 5}), sorted(tree.match({"age": 19, "price": 5}))
    (['adults'], ['adults', 'cheap'])
    """

    name = "BE-Tree"
    paper = "Sadoghi, Jacobsen 2013"

    def __init__(self, rules: Rules = (), capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        super().__init__(rules)

    def index(self, given: Boxes) -> None:
        """One box after the other: the tree depends on their order."""
        self._rows = Rows(given)
        count = len(given.rule)
        self._tree = np.full((1, 12), -1, np.int64)
        self._tree[0, [_SIZE, _ROOM, _BELOW]] = 0, self.capacity, 0
        self._nodes = 1
        self._following = np.full(count, -1, np.int32)  # in the leaf of a box
        self._node_of = np.full(count, -1, np.int32)
        self._out = np.empty(count, np.int32)
        self._take(np.flatnonzero(np.diff(given.start) > 0).astype(np.int32))

    def _take(self, boxes: Ints) -> None:
        """Insert boxes; the tree gets room for whatever one of them can cut."""
        done = 0
        axes = len(self._axes)
        spare = 200 * (axes + 1)
        scratch = np.zeros(axes, np.int64)
        while done < len(boxes):
            self._tree = roomy(self._tree, self._nodes + 2 * spare + len(boxes) // 8, -1)
            todo = np.empty(len(self._tree), np.int32)
            done, self._nodes = _insert(
                boxes, done, self._tree, self._nodes, spare, self.capacity, self._following,
                self._node_of, self._rows.at, self._rows.size, self._rows.cells, scratch, todo,
            )  # fmt: skip

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self._rows.insert(box, axis, low, high)
        self._following = roomy(self._following, box + 1, -1)
        self._node_of = roomy(self._node_of, box + 1, -1)
        if len(self._following) > len(self._out):
            self._out = np.empty(len(self._following), np.int32)
        self._take(np.array([box], np.int32))

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        _delete(self._tree, self._following, self._node_of, box)
        self._rows.delete(box)

    def find(self, codes: Ints) -> Ints:
        todo = np.empty(self._nodes, np.int32)
        found, nodes, asked = _match(
            codes, self._tree, self._following, self._rows.at, self._rows.size, self._rows.cells,
            todo, self._out,
        )  # fmt: skip
        self.work = Work(asked, nodes, asked)
        return self._out[:found]

    @property
    def index_bytes(self) -> int:
        """Of nodes, leaves and the boxes themselves."""
        return self._nodes * 8 * 12 + self._rows.bytes + 8 * self._room


@inlined
def _interval(at, size, cells, box, axis):
    """Where a box has its interval of an axis; -1 where it leaves that free."""
    for i in range(at[box], at[box] + size[box]):
        if cells[i, 0] == axis:
            return i
    return np.int64(-1)


@inlined
def _put(tree, following, node_of, node, box):
    following[box] = tree[node, _HEAD]
    tree[node, _HEAD] = box
    tree[node, _SIZE] += 1
    node_of[box] = node


@inlined
def _new(tree, nodes, axis, low, high, above, capacity):
    """A node for a part of a domain; `above` is the node whose directory it is in."""
    tree[nodes, _HEAD], tree[nodes, _SIZE], tree[nodes, _ROOM] = -1, 0, capacity
    tree[nodes, _AXIS], tree[nodes, _LOW], tree[nodes, _HIGH] = axis, low, high
    tree[nodes, _LEFT], tree[nodes, _RIGHT], tree[nodes, _ABOVE] = -1, -1, above
    tree[nodes, _FIRST], tree[nodes, _NEXT], tree[nodes, _BELOW] = -1, -1, 0


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
def _insert(
    boxes, done, tree, nodes, spare, capacity, following, node_of, at, size, cells, scratch, todo
):
    """Insert boxes from `done` on, while there is room for more nodes; how far it came."""
    while done < len(boxes) and nodes + spare < len(tree):
        box = boxes[done]
        done += 1
        node = np.int64(0)
        while True:
            best, most, where = np.int64(-1), np.int64(-1), np.int64(-1)
            part = tree[node, _FIRST]
            while part >= 0:
                i = _interval(at, size, cells, box, tree[part, _AXIS])
                if i >= 0 and tree[part, _BELOW] > most:
                    best, most, where = part, tree[part, _BELOW], i
                part = tree[part, _NEXT]
            if best < 0:
                break
            tree[best, _BELOW] += 1
            node = _smallest(tree, best, cells[where, 1], cells[where, 2])
        _put(tree, following, node_of, node, box)
        top = 0
        if tree[node, _SIZE] > tree[node, _ROOM]:
            todo[0] = node
            top = 1
        while top > 0:
            top -= 1
            node = np.int64(todo[top])
            if tree[node, _SIZE] <= tree[node, _ROOM]:
                continue
            if nodes + 4 >= len(tree):
                tree[node, _ROOM] = 2 * tree[node, _SIZE]
                continue
            before = nodes
            nodes = _halve(tree, nodes, node, capacity, following, node_of, at, size, cells)
            if tree[node, _SIZE] > tree[node, _ROOM]:
                nodes = _partition(
                    tree, nodes, node, capacity, following, node_of, at, size, cells, scratch
                )
            if tree[node, _SIZE] > tree[node, _ROOM]:
                tree[node, _ROOM] = 2 * tree[node, _SIZE]
            for new in range(before, nodes):
                if tree[new, _SIZE] > tree[new, _ROOM]:
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
    tree[node, _HEAD], tree[node, _SIZE] = -1, 0
    while box >= 0:
        after = following[box]
        i = _interval(at, size, cells, box, axis)
        part = node
        if cells[i, 2] <= middle:
            part = nodes
        elif cells[i, 1] > middle:
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
            scratch[cells[i, 0]] += 1
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
    tree[node, _HEAD], tree[node, _SIZE] = -1, 0
    while box >= 0:
        after = following[box]
        has = _interval(at, size, cells, box, best) >= 0
        _put(tree, following, node_of, nodes if has else node, box)
        tree[nodes, _BELOW] += has
        box = after
    return nodes + 1


@compiled
def _delete(tree, following, node_of, box):
    """Take a box out of its leaf, and out of the counts of the directories above."""
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
    tree[node, _SIZE] -= 1
    node_of[box] = -1
    while node >= 0 and tree[node, _AXIS] >= 0:
        above = tree[node, _ABOVE]
        part = tree[above, _FIRST]
        while tree[part, _AXIS] != tree[node, _AXIS]:
            part = tree[part, _NEXT]
        tree[part, _BELOW] -= 1
        node = above


@lean
def _match(codes, tree, following, at, size, cells, todo, out):
    """The boxes that an event is in, out[:first of what is returned]; also nodes, and boxes that
    were asked."""
    found, visited, asked = 0, 0, 0
    todo[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = np.int64(todo[top])
        visited += 1
        box = tree[node, _HEAD]
        while box >= 0:
            asked += 1
            if holds(cells, at[box], size[box], codes):
                out[found] = box
                found += 1
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
    return found, visited, asked
