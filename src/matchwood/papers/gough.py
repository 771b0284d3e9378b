"""Gough: a tree with a level for each attribute, of which an event follows one path.

Gough and Smith, *Efficient recognition of events in distributed systems*, ACSC 1995, as Fabret et
al., *Le Subscribe*, 2000, §3.1, Figure 3, describe it. A node stands for the rules that are still
possible. Its edges part the values of the level's attribute where the intervals of those rules
begin and end; rules that do not ask for the attribute go on along every edge, and along the one
that is left for all other values and for events without it. The leaves are sets of rules.

"In the worst-case there is a combinatorial explosion": nodes of a level with the same rules are
one, and `OverBudget` says when it is too much all the same. Changes need "constructing the
subscription tree from scratch".
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, inlined, lean
from matchwood.papers.protocol import Algorithm, OverBudget, Rules
from matchwood.papers.subscriptions import AXIS, HIGH, LOW, Ints, Rows, Subscriptions

_DEAD = -1  # no rule is possible
_ANY = -1  # the low end where a rule does not ask
BUDGET = 1 << 25  # rules in the sets of one level, edges of all levels


class Gough(Subscriptions):
    """Rules along all paths on which they may be true.

    >>> gough = Gough({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"})
    >>> sorted(gough.match({"price": 5, "kind": "toy"})), gough.work.nodes
    ([1, 2], 2)
    """

    name = "Gough"
    paper = "Gough, Smith 1995; Fabret et al. 2000, §3.1, Figure 3"
    updates = False

    def __init__(self, rules: Rules = (), budget: int = BUDGET) -> None:
        self.budget = budget
        super().__init__(rules)

    add = Algorithm.add
    remove = Algorithm.remove

    def lay_out(self, found: Rows) -> None:
        rules = len(found.start) - 1
        asked = np.bincount(found.rows[:, AXIS], minlength=len(self._axes))
        # What many rules ask for comes first: fewer go along every edge.
        self._order = np.argsort(-asked, kind="stable").astype(np.int32)
        self._levels: list[tuple[Ints, Ints, Ints, Ints]] = []
        some = np.flatnonzero(np.diff(found.start)).astype(np.int32)
        start, members = np.array([0, len(some)], np.int64), some
        edges = 0
        for axis in self._order.tolist():
            low = np.full(rules, _ANY, np.int32)
            high = np.full(rules, _ANY, np.int32)
            mine = found.rows[:, AXIS] == axis
            low[found.owner[mine]] = found.rows[mine, LOW]
            high[found.owner[mine]] = found.rows[mine, HIGH]
            *level, start, members = _level(start, members, low, high, self.budget - edges)
            if len(start) == 0:
                raise OverBudget(
                    f"the tree of {rules:,} rules has more than {self.budget:,} edges, or rules at "
                    f"one of its levels, from its level {len(self._levels) + 1} of "
                    f"{len(self._order)} on: take fewer rules, or raise the budget"
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

    def take(self, number: int, rows: Ints) -> None:
        raise NotImplementedError  # never asked for: `add` refuses

    def drop(self, number: int, rows: Ints) -> None:
        raise NotImplementedError

    def find(self, codes: Ints) -> Ints:
        leaf, levels = _walk(
            self._order, self._node_at, self._start, self._from, self._child, self._rest, codes
        )
        self.worked(levels, levels, 0)
        if leaf < 0:
            return self._leaves[:0]
        found = self._leaves[self._leaf_start[leaf] : self._leaf_start[leaf + 1]]
        self.worked(levels, levels, len(found))
        return found

    @property
    def index_bytes(self) -> int:
        arrays = (self._start, self._from, self._child, self._rest, self._node_at, self._order)
        return sum(array.nbytes for array in (*arrays, self._leaf_start, self._leaves))


@lean
def _walk(order, node_at, start, begins, child, rest, codes):
    """The leaf of an event, or below zero; and how many levels it went down."""
    node = np.int64(0)
    for level in range(len(order)):
        at = node_at[level] + node
        code = codes[order[level]]
        low, high = start[at], start[at + 1]
        first = low
        while low < high:  # the last edge that does not begin above the code
            middle = (low + high) >> 1
            if begins[middle] <= code:
                low = middle + 1
            else:
                high = middle
        node = np.int64(rest[at]) if code < 0 or low == first else np.int64(child[low - 1])
        if node < 0:
            return node, level + 1
    return node, len(order)


@inlined
def _same(start, members, table, place, items, width):
    low = start[table[place]]
    if start[table[place] + 1] - low != width:
        return False
    for i in range(width):
        if members[low + i] != items[i]:
            return False
    return True


@inlined
def _place(start, members, table, items, width):
    """Where in the table a set is, or where it would be put."""
    mixed = np.uint64(width)
    for i in range(width):
        mixed = (mixed ^ np.uint64(items[i])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = np.uint64(len(table) - 1)
    place = mixed & mask
    while table[place] >= 0 and not _same(start, members, table, place, items, width):
        place = (place + np.uint64(1)) & mask
    return place


@compiled
def _level(set_start, sets, low, high, budget):
    """The edges of one level's nodes, and the sets of rules of the next, each once.

    Node n has the edges start[n] to start[n + 1], which begin at a code and lead to a node, and
    `rest`; sets without any element are _DEAD. Nothing is returned where it is over budget.
    """
    nodes = len(set_start) - 1
    start = np.zeros(nodes + 1, np.int64)
    begins = np.empty(64, np.int32)
    child = np.empty(64, np.int32)
    rest = np.empty(nodes, np.int32)
    next_start = np.zeros(64, np.int64)
    members = np.empty(256, np.int32)
    table = np.full(128, -1, np.int32)
    widest = np.int64(1)
    for node in range(nodes):  # there may be none, where no rule is ever true
        widest = max(widest, set_start[node + 1] - set_start[node])
    items = np.empty(widest, np.int32)
    count = 0
    edges = 0
    for node in range(nodes):
        mine = sets[set_start[node] : set_start[node + 1]]
        ends = np.empty(2 * len(mine), np.int64)
        asking = 0
        for rule in mine:
            if low[rule] != _ANY:
                ends[2 * asking], ends[2 * asking + 1] = low[rule], high[rule] + 1
                asking += 1
        ends = np.unique(ends[: 2 * asking])
        for i in range(-1, len(ends)):  # the rest, then the segments that begin at each end
            width = 0
            for rule in mine:
                if low[rule] == _ANY or (i >= 0 and low[rule] <= ends[i] <= high[rule]):
                    items[width] = rule
                    width += 1
            found = np.int64(_DEAD)
            if width > 0:
                place = _place(next_start, members, table, items, width)
                found = np.int64(table[place])
                if found < 0:
                    found = count
                    at = next_start[count]
                    if at + width > budget:
                        return start[:0], begins[:0], child[:0], rest[:0], start[:0], members[:0]
                    if at + width > len(members):
                        larger = np.empty(2 * len(members) + width, np.int32)
                        larger[:at] = members[:at]
                        members = larger
                    members[at : at + width] = items[:width]
                    count += 1
                    if count + 1 >= len(next_start):
                        longer = np.zeros(2 * len(next_start), np.int64)
                        longer[:count] = next_start[:count]
                        next_start = longer
                    next_start[count] = at + width
                    table[place] = found
                    if 2 * count > len(table):
                        table = np.full(4 * len(table), -1, np.int32)
                        for s in range(count):
                            part = members[next_start[s] : next_start[s + 1]]
                            table[_place(next_start, members, table, part, len(part))] = s
            if i < 0:
                rest[node] = found
                continue
            if edges >= budget:
                return start[:0], begins[:0], child[:0], rest[:0], start[:0], members[:0]
            if edges == len(begins):
                more = np.empty(2 * edges, np.int32)
                more[:edges] = begins
                begins = more
                more_children = np.empty(2 * edges, np.int32)
                more_children[:edges] = child
                child = more_children
            begins[edges], child[edges] = ends[i], found
            edges += 1
        start[node + 1] = edges
    return (
        start, begins[:edges].copy(), child[:edges].copy(), rest, next_start[: count + 1].copy(),
        members[: next_start[count]].copy(),
    )  # fmt: skip
