"""Gough: a tree with a level for each attribute, of which an event follows one path.

Gough and Smith, *Efficient recognition of events in distributed systems*, ACSC 1995, as Fabret et
al., *Le Subscribe*, 2000, §3.1, Figure 3, describe it. A node stands for the rules that are still
possible. Its edges divide the values of the level's attribute where the intervals of those rules
begin and end; rules without the attribute continue along every edge, and along one more edge for
all other values and for events without the attribute. The leaves are sets of rules.

"In the worst-case there is a combinatorial explosion": nodes of a level with the same rules are
one, and `OverBudget` is raised when there are too many all the same. Changes need "constructing the
subscription tree from scratch".
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import gough_kernels as kernels
from matchwood.lab.papers.le_subscribe.gough_kernels import ANY
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, HIGH, LOW
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    FixedSubscriptions,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.protocol import OverBudget, Rules

# The most bytes of the edges of all levels, with the sets of rules of one level.
BUDGET = 1 << 28


class Gough(FixedSubscriptions):
    """Rules along all paths on which they may be true.

    >>> gough = Gough({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"})
    >>> sorted(gough.match({"price": 5, "kind": "toy"})), gough.work.nodes
    ([1, 2], 2)
    """

    name = "Gough"
    paper = "Gough, Smith 1995; Fabret et al. 2000, §3.1, Figure 3"
    updates = False
    budgeted = True

    def __init__(self, rules: Rules = (), budget: int = BUDGET) -> None:
        self.budget = budget
        super().__init__(rules)

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        rules = len(subscriptions.start) - 1
        asked = np.bincount(subscriptions.rows[:, AXIS], minlength=len(self._axes))
        # Attributes that many rules have come first: fewer rules continue along every edge.
        self._order = np.argsort(-asked, kind="stable").astype(np.int32)
        self._levels: list[tuple[Int32Array, Int32Array, Int32Array, Int32Array]] = []
        indexed = np.flatnonzero(np.diff(subscriptions.start)).astype(np.int32)
        start, members = np.array([0, len(indexed)], np.int64), indexed
        edges = 0
        for axis in self._order.tolist():
            low = np.full(rules, ANY, np.int32)
            high = np.full(rules, ANY, np.int32)
            on_axis = subscriptions.rows[:, AXIS] == axis
            low[subscriptions.owner[on_axis]] = subscriptions.rows[on_axis, LOW]
            high[subscriptions.owner[on_axis]] = subscriptions.rows[on_axis, HIGH]
            *level, start, members = kernels.build_level(
                start, members, low, high, self.budget - kernels.EDGE_BYTES * edges
            )
            if len(start) == 0:
                raise OverBudget(
                    f"the tree of {rules:,} rules takes more than {self.budget:,} bytes, from its "
                    f"level {len(self._levels) + 1} of {len(self._order)} on: take fewer rules, or "
                    "raise the budget"
                )
            self._levels.append(tuple(level))
            edges += len(level[1])
        self._join()
        self._leaf_start, self._leaves = start, members

    def _join(self) -> None:
        """The arrays of all levels as one; nodes and edges of a level follow those before."""
        self._node_at = np.cumsum([0, *(len(level[3]) for level in self._levels)])
        edge_at = np.cumsum([0, *(len(level[1]) for level in self._levels)])
        parts = zip(self._levels, edge_at, strict=False)
        starts = [level[0][:-1] + at for level, at in parts]
        empty = np.empty(0, np.int32)
        self._start = np.concatenate([*starts, edge_at[-1:]]).astype(np.int64)
        self._from, self._child, self._rest = (
            np.concatenate([empty, *(level[i] for level in self._levels)]) for i in (1, 2, 3)
        )
        self._levels.clear()

    def find(self, codes: Int32Array) -> Int32Array:
        leaf, levels = kernels.walk(
            self._order, self._node_at, self._start, self._from, self._child, self._rest, codes
        )
        self.worked(levels, levels, 0)
        if leaf < 0:
            return self._leaves[:0]
        rules = self._leaves[self._leaf_start[leaf] : self._leaf_start[leaf + 1]]
        self.worked(levels, levels, len(rules))
        return rules

    @property
    def index_bytes(self) -> int:
        arrays = (self._start, self._from, self._child, self._rest, self._node_at, self._order)
        return sum(array.nbytes for array in (*arrays, self._leaf_start, self._leaves))
