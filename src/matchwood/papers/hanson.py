"""Hanson: an interval binary search tree over the most selective predicate of each rule.

Hanson, Chaabouni, Kim and Wang, *A predicate matching algorithm for database rule systems*, SIGMOD
1990, as Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 6, describe it. An attribute has a tree
over the ends of the intervals that it holds. A node has three sets of marks: intervals that hold
of everything on its left, of its value, and of everything on its right; an interval is marked as
high up as possible, at O(log n) nodes. A search gathers the marks of the side that it takes, and
the rules it finds have all their predicates tested.

How selective a predicate is, is estimated: the part of its axis that it covers, where an equality
covers one of the values that rules mention. An end that is new becomes a leaf. A tree that has
grown deeper than twice what it needs is built anew.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, lean
from matchwood.papers.conjunctive import FIRST, LAST
from matchwood.papers.postings import AT, SIZE, Postings
from matchwood.papers.roster import roomy
from matchwood.papers.subscriptions import AXIS, HIGH, LOW, Ints, Longs, Rows, Subscriptions

_VALUE, _LEFT, _RIGHT = range(3)  # of a node
_BELOW, _EQUAL, _ABOVE = range(3)  # its sets of marks
_NONE = -1
_DEEPEST = 4096  # nodes on a path; a tree is built anew long before


class Hanson(Subscriptions):
    """Rules by their most selective predicate.

    >>> hanson = Hanson({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"})
    >>> sorted(hanson.match({"price": 5, "kind": "toy"})), hanson.work.candidates
    ([1, 2], 2)
    """

    name = "Hanson"
    paper = "Hanson et al. 1990; Fabret et al. 2000, §3.1, Figure 6"

    def lay_out(self, found: Rows) -> None:
        ends = np.unique(found.rows[:, [AXIS, LOW]], axis=0)
        self._values = np.bincount(ends[:, AXIS], minlength=len(self._axes)).astype(np.int64)
        sizes = np.diff(found.start)
        self._chosen = np.full((len(sizes), 3), _NONE, np.int32)  # its row, of each subscription
        self._chosen[sizes > 0] = found.rows[self._most_selective(found)]
        self._nodes = np.empty((0, 3), np.int32)
        self._node_count = 0
        self._roots = np.full(len(self._axes), _NONE, np.int32)
        self._sizes = np.zeros(len(self._axes), np.int64)  # nodes of each tree
        self._marks = Postings(np.empty(0, np.int64), np.empty(0, np.int32))
        self._plant(np.unique(self._chosen[sizes > 0, AXIS]).tolist())

    def _most_selective(self, found: Rows) -> Longs:
        """The row of each subscription that has any, of which the least is expected to be true."""
        covered = (found.rows[:, HIGH] - found.rows[:, LOW]) / LAST
        share = np.maximum(covered, 1 / (self._values[found.rows[:, AXIS]] + 1))
        order = np.lexsort((share, found.owner))
        chosen: Longs = order[np.r_[True, np.diff(found.owner) > 0][: len(order)]]
        return chosen

    def _plant(self, axes: list[int]) -> None:
        """Balanced trees for some axes, over the ends of what is chosen there, with their marks."""
        if not axes:
            return
        mine = np.flatnonzero(np.isin(self._chosen[:, AXIS], axes)).astype(np.int32)
        for axis in axes:
            some = self._chosen[self._chosen[:, AXIS] == axis]
            ends = np.unique(some[:, LOW:])
            self._nodes = roomy(self._nodes, self._node_count + len(ends))
            self._roots[axis] = _balance(self._nodes, self._node_count, ends.astype(np.int32))
            self._node_count += len(ends)
            self._sizes[axis] = len(ends)
        keys, places = _mark_all(self._nodes, self._roots, self._chosen[mine])
        marked = mine[places]
        if len(self._marks.lists) == 0:
            self._marks = Postings(keys, marked)
        else:
            for key, number in zip(keys.tolist(), marked.tolist(), strict=True):
                self._marks.put(key, number)

    def take(self, number: int, rows: Ints) -> None:
        if len(self._roots) < len(self._axes):
            self._roots = roomy(self._roots, len(self._axes), _NONE)
            self._sizes = roomy(self._sizes, len(self._axes))
            self._values = roomy(self._values, len(self._axes))
        row = rows[self._most_selective(Rows(np.array([0, len(rows)]), rows))[0]]
        axis, low, high = row.tolist()
        self._chosen = roomy(self._chosen, number + 1, _NONE)
        self._chosen[number] = row
        depth = 0
        for end in {low, high}:
            self._nodes = roomy(self._nodes, self._node_count + 1)
            new, depth = _grow(self._nodes, self._roots, self._node_count, axis, end)
            self._node_count += new
            self._sizes[axis] += new
        if depth > 2 * int(self._sizes[axis]).bit_length() + 8:
            self._roots[axis] = _NONE
            self._plant([axis])
            return
        for key in self._keys(row).tolist():
            self._marks.put(key, number)

    def drop(self, number: int, rows: Ints) -> None:
        for key in self._keys(self._chosen[number]).tolist():
            self._marks.drop(key, number)
        self._chosen[number] = _NONE

    def _keys(self, row: Ints) -> Longs:
        """The sets of marks that an interval is in."""
        keys: Longs = _mark_all(self._nodes, self._roots, row.reshape(1, 3))[0]
        return keys

    def find(self, codes: Ints) -> Ints:
        out = np.empty(self._room, np.int32)
        found, visited, partly, tested = _match(
            self._nodes, self._roots, self._marks.lists, self._marks.entries, codes, self.at,
            self.size, self.rows, out,
        )  # fmt: skip
        self.worked(tested, visited, partly)
        return out[:found]

    @property
    def index_bytes(self) -> int:
        trees = 12 * self._node_count + self._roots.nbytes + self._marks.bytes
        return trees + self._chosen.nbytes + self.rows_bytes + 8


@compiled
def _balance(nodes, first, values):
    """A balanced tree over sorted values, in nodes from `first` on; its root."""
    spans = np.empty((128, 3), np.int64)  # low, high, and the parent's side that asks
    spans[0, 0], spans[0, 1], spans[0, 2] = 0, len(values), -1
    top = 1
    root = np.int64(_NONE)
    while top > 0:
        top -= 1
        low, high, asked = spans[top, 0], spans[top, 1], spans[top, 2]
        node = np.int64(_NONE)
        if low < high:
            middle = (low + high) >> 1
            node = first + middle
            nodes[node, _VALUE] = values[middle]
            spans[top, 1], spans[top, 2] = middle, 2 * node
            spans[top + 1, 0], spans[top + 1, 1] = middle + 1, high
            spans[top + 1, 2] = 2 * node + 1
            top += 2
        if asked < 0:
            root = node
        else:
            nodes[asked >> 1, _LEFT if asked & 1 == 0 else _RIGHT] = node
    return root


@lean
def _grow(nodes, roots, count, axis, value):
    """A leaf for a value that no node has; whether it is new, and the depth at which it is."""
    at = roots[axis]
    depth = 1
    parent = _NONE
    side = _LEFT
    while at != _NONE and nodes[at, _VALUE] != value:
        parent = at
        side = _LEFT if value < nodes[at, _VALUE] else _RIGHT
        at = nodes[at, side]
        depth += 1
    if at != _NONE:
        return 0, depth
    nodes[count, _VALUE] = value
    nodes[count, _LEFT], nodes[count, _RIGHT] = _NONE, _NONE
    if parent == _NONE:
        roots[axis] = count
    else:
        nodes[parent, side] = count
    return 1, depth


@compiled
def _mark_all(nodes, roots, rows):
    """The sets of marks of intervals, as 3 * node + set, and the place of the interval of each."""
    keys = np.empty(16 * len(rows) + 64, np.int64)
    places = np.empty(len(keys), np.int32)
    todo = np.empty((_DEEPEST, 3), np.int64)  # a node, and what values lie below it
    top = 0
    for place in range(len(rows)):
        low, high = rows[place, LOW], rows[place, HIGH]
        todo[0, 0], todo[0, 1], todo[0, 2] = roots[rows[place, AXIS]], FIRST, LAST
        left = 1
        while left > 0:
            left -= 1
            node, first, last = todo[left, 0], todo[left, 1], todo[left, 2]
            value = np.int64(nodes[node, _VALUE])
            if top + 3 > len(keys):
                larger = np.empty(2 * len(keys), np.int64)
                larger[:top] = keys[:top]
                larger_places = np.empty(2 * len(keys), np.int32)
                larger_places[:top] = places[:top]
                keys, places = larger, larger_places
            for side in range(3):
                begin = (first, value, value + 1)[side]
                end = (value - 1, value, last)[side]
                if begin > end or high < begin or low > end:
                    continue
                if low <= begin and end <= high:
                    keys[top], places[top] = 3 * node + side, place
                    top += 1
                else:
                    child = nodes[node, _LEFT if side == _BELOW else _RIGHT]
                    todo[left, 0], todo[left, 1], todo[left, 2] = child, begin, end
                    left += 1
    return keys[:top].copy(), places[:top].copy()


@lean
def _match(nodes, roots, lists, entries, codes, at, size, rows, out):
    """Rules that are true: out[:first of what is returned]; also nodes, candidates, predicates."""
    partly = 0
    visited = 0
    for axis in range(min(len(roots), len(codes))):  # step 1: partially satisfied subscriptions
        code = codes[axis]
        node = roots[axis] if code >= 0 else _NONE
        while node != _NONE:
            visited += 1
            value = nodes[node, _VALUE]
            marks = _EQUAL
            child = _NONE
            if code < value:
                marks, child = _BELOW, nodes[node, _LEFT]
            elif code > value:
                marks, child = _ABOVE, nodes[node, _RIGHT]
            key = 3 * node + marks
            if key < len(lists):
                for i in range(lists[key, AT], lists[key, AT] + lists[key, SIZE]):
                    out[partly] = entries[i]
                    partly += 1
            node = child
    found = 0
    tested = 0
    for i in range(partly):  # step 2: other predicates
        rule = out[i]
        true = True
        for row in range(at[rule], at[rule] + size[rule]):
            tested += 1
            code = codes[rows[row, AXIS]]
            if code < rows[row, LOW] or code > rows[row, HIGH]:
                true = False
                break
        if true:
            out[found] = rule
            found += 1
    return found, visited, partly, tested
