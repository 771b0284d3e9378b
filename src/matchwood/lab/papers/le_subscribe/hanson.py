"""Hanson: an interval binary search tree over the most selective predicate of each rule.

Hanson, Chaabouni, Kim and Wang, *A predicate matching algorithm for database rule systems*, SIGMOD
1990, as Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 6, describe it. An attribute has a tree
over the ends of the intervals that it holds. A node has three sets of marks: intervals that hold
of everything on its left, of its value, and of everything on its right; an interval is marked as
high up as possible, at O(log n) nodes. A search gathers the marks of the side that it takes, and
the rules that it finds have their other predicates tested.

The selectivity of a predicate is estimated as the part of its axis that it covers, where an
equality covers one of the values that rules mention. A new end becomes a leaf. A tree that is more
than twice as deep as it needs to be is built anew.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.le_subscribe import hanson_kernels as kernels
from matchwood.lab.papers.le_subscribe.hanson_kernels import NODE_COLUMNS, NONE
from matchwood.lab.papers.le_subscribe.postings import Postings
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, COLUMNS, HIGH, LOW
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    SubscriptionAlgorithm,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.axes_kernels import LAST
from matchwood.lab.papers.shared.rule_numbers import roomy


class Hanson(SubscriptionAlgorithm):
    """Rules by their most selective predicate.

    >>> hanson = Hanson({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"})
    >>> sorted(hanson.match({"price": 5, "kind": "toy"})), hanson.work.candidates
    ([1, 2], 2)
    """

    name = "Hanson"
    paper = "Hanson et al. 1990; Fabret et al. 2000, §3.1, Figure 6"

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        ends = np.unique(subscriptions.rows[:, [AXIS, LOW]], axis=0)
        self._values = np.bincount(ends[:, AXIS], minlength=len(self._axes)).astype(np.int64)
        sizes = np.diff(subscriptions.start)
        self._chosen = np.full(
            (len(sizes), COLUMNS), NONE, np.int32
        )  # its row, of each subscription
        self._chosen[sizes > 0] = subscriptions.rows[self._most_selective(subscriptions)]
        self._nodes = np.empty((0, NODE_COLUMNS), np.int32)
        self._node_count = 0
        self._roots = np.full(len(self._axes), NONE, np.int32)
        self._sizes = np.zeros(len(self._axes), np.int64)  # nodes of each tree
        self._marks = Postings(np.empty(0, np.int64), np.empty(0, np.int32))
        self._plant(np.unique(self._chosen[sizes > 0, AXIS]).tolist())

    def _most_selective(self, subscriptions: SubscriptionRows) -> Int64Array:
        """For each subscription that has rows, the one that is least likely to be true."""
        covered = (subscriptions.rows[:, HIGH] - subscriptions.rows[:, LOW]) / LAST
        share = np.maximum(covered, 1 / (self._values[subscriptions.rows[:, AXIS]] + 1))
        order = np.lexsort((share, subscriptions.owner))
        chosen: Int64Array = order[np.r_[True, np.diff(subscriptions.owner) > 0][: len(order)]]
        return chosen

    def _plant(self, axes: list[int]) -> None:
        """Balanced trees for some axes, over the ends of what is chosen there, with their marks."""
        if not axes:
            return
        planted = np.flatnonzero(np.isin(self._chosen[:, AXIS], axes)).astype(np.int32)
        for axis in axes:
            axis_rows = self._chosen[self._chosen[:, AXIS] == axis]
            ends = np.unique(axis_rows[:, LOW:])
            self._nodes = roomy(self._nodes, self._node_count + len(ends))
            self._roots[axis] = kernels.balance(
                self._nodes, self._node_count, ends.astype(np.int32)
            )
            self._node_count += len(ends)
            self._sizes[axis] = len(ends)
        keys, positions = kernels.mark_all(self._nodes, self._roots, self._chosen[planted])
        marked = planted[positions]
        if len(self._marks.lists) == 0:
            self._marks = Postings(keys, marked)
        else:
            for key, number in zip(keys.tolist(), marked.tolist(), strict=True):
                self._marks.put(key, number)

    def take(self, number: int, rows: Int32Array) -> None:
        if len(self._roots) < len(self._axes):
            self._roots = roomy(self._roots, len(self._axes), NONE)
            self._sizes = roomy(self._sizes, len(self._axes))
            self._values = roomy(self._values, len(self._axes))
        row = rows[self._most_selective(SubscriptionRows(np.array([0, len(rows)]), rows))[0]]
        axis, low, high = row.tolist()
        self._chosen = roomy(self._chosen, number + 1, NONE)
        self._chosen[number] = row
        depth = 0
        for end in {low, high}:
            self._nodes = roomy(self._nodes, self._node_count + 1)
            new, depth = kernels.grow(self._nodes, self._roots, self._node_count, axis, end)
            self._node_count += new
            self._sizes[axis] += new
        if depth > 2 * int(self._sizes[axis]).bit_length() + 8:
            self._roots[axis] = NONE
            self._plant([axis])
            return
        for key in self._keys(row).tolist():
            self._marks.put(key, number)

    def drop(self, number: int, rows: Int32Array) -> None:
        for key in self._keys(self._chosen[number]).tolist():
            self._marks.drop(key, number)
        self._chosen[number] = NONE

    def _keys(self, row: Int32Array) -> Int64Array:
        """The sets of marks that an interval is in."""
        keys: Int64Array = kernels.mark_all(self._nodes, self._roots, row.reshape(1, COLUMNS))[0]
        return keys

    def find(self, codes: Int32Array) -> Int32Array:
        out = np.empty(self._room, np.int32)
        count, visited, partly, tested = kernels.match(
            self._nodes, self._roots, self._marks.lists, self._marks.entries, self._chosen, codes,
            self.at, self.size, self.rows, out,
        )  # fmt: skip
        self.worked(tested, visited, partly)
        return out[:count]

    @property
    def index_bytes(self) -> int:
        trees = 12 * self._node_count + self._roots.nbytes + self._marks.bytes
        return trees + self._chosen.nbytes + self.rows_bytes + 8
