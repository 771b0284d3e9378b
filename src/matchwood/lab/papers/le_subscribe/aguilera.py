"""Aguilera: a tree of tests with don't-care edges, of which an event follows several paths.

Aguilera, Strom, Sturman, Astley and Chandra, *Matching events in a content-based subscription
system*, PODC 1999, as Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 7, describe it. A node is
a test: the value of an attribute, with an edge for each value that rules equal it with, or one
comparison with a bound, with an edge for true. Its *-edge is for rules that do not care, and leads
on to the next test. A rule is a path: tests of values come first, by attribute, then those of
bounds, so that the tree does not depend on the order in which rules arrive. An edge ends in a
*state*, which has the rules that are true there and the first of its tests.

A node has many equalities but a single bound, so that bounds make long chains of *-edges, as the
paper says.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.le_subscribe import aguilera_kernels as kernels
from matchwood.lab.papers.le_subscribe.aguilera_kernels import BOUND, EDGE_COLUMNS, NONE
from matchwood.lab.papers.le_subscribe.postings import Postings
from matchwood.lab.papers.le_subscribe.predicate_clusters import keys_of
from matchwood.lab.papers.le_subscribe.predicate_keys import (
    EQUAL,
    cluster_of,
    code_of,
    comparison_of,
    pack_key,
)
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    SubscriptionAlgorithm,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.rule_numbers import roomy


class Aguilera(SubscriptionAlgorithm):
    """Rules as paths of tests.

    >>> rules = {1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"}
    >>> aguilera = Aguilera(rules)
    >>> sorted(aguilera.match({"price": 5, "kind": "toy"})), aguilera.work.nodes
    ([1, 2], 3)
    """

    name = "Aguilera"
    paper = "Aguilera et al. 1999; Fabret et al. 2000, §3.1, Figure 7"

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        keys, row = keys_of(subscriptions.rows)
        owner = subscriptions.owner[row]
        tests, values = _tests(keys)
        order = np.lexsort((tests, owner))
        tests, values = tests[order], values[order]
        rules = len(subscriptions.start) - 1
        start = np.r_[0, np.cumsum(np.bincount(owner, minlength=rules))].astype(np.int64)
        self._node_count, self._state_count, self._edge_count = 0, 1, 0
        self._test = np.empty(0, np.int64)  # of each node
        self._star = np.empty(0, np.int32)  # its *-edge
        self._true = np.empty(0, np.int32)  # where a bound that is true leads to
        self._first = np.full(1, NONE, np.int32)  # the first test of each state
        self._edges = np.full(
            (16, EDGE_COLUMNS), NONE, np.int64
        )  # (node, value) and state, by hash
        self._state = np.full(rules, NONE, np.int32)  # where the path of each rule ends
        states = self._walk(tests, values, start)
        indexed = np.flatnonzero(np.diff(subscriptions.start)).astype(np.int32)
        self._state[indexed] = states[indexed]
        self._ends = Postings(states[indexed], indexed)
        self._depth = int(np.diff(start).max(initial=0))

    def _walk(self, tests: Int64Array, values: Int32Array, start: Int64Array) -> Int32Array:
        """The states at which paths end; missing nodes are made."""
        room = self._node_count + len(tests)
        self._test, self._star = roomy(self._test, room), roomy(self._star, room)
        self._true = roomy(self._true, room, NONE)
        self._first = roomy(self._first, self._state_count + len(tests), NONE)
        if 2 * (self._edge_count + len(tests)) > len(self._edges):
            larger = 1 << (4 * (self._edge_count + len(tests)) - 1).bit_length()
            edges = np.full((larger, EDGE_COLUMNS), NONE, np.int64)
            kernels.copy_edges(self._edges, edges)
            self._edges = edges
        states = np.empty(len(start) - 1, np.int32)
        counts = np.array([self._node_count, self._state_count, self._edge_count], np.int64)
        kernels.add_paths(
            tests, values, start, self._test, self._star, self._true, self._first, self._edges,
            counts, states,
        )  # fmt: skip
        self._node_count, self._state_count, self._edge_count = counts.tolist()
        return states

    def take(self, number: int, rows: Int32Array) -> None:
        tests, values = _tests(keys_of(rows)[0])
        order = np.argsort(tests)
        start = np.array([0, len(order)], np.int64)
        state = int(self._walk(tests[order], values[order], start)[0])
        self._state = roomy(self._state, number + 1, NONE)
        self._state[number] = state
        self._ends.put(state, number)
        self._depth = max(self._depth, len(order))

    def drop(self, number: int, rows: Int32Array) -> None:
        """Remove the rule from its state; its path stays."""
        self._ends.drop(int(self._state[number]), number)

    def find(self, codes: Int32Array) -> Int32Array:
        out = np.empty(self._room, np.int32)
        stack = np.empty(self._state_count, np.int32)
        count, visited, tested = kernels.match(
            self._test, self._star, self._true, self._first, self._edges, self._ends.lists,
            self._ends.entries, codes, stack, out,
        )  # fmt: skip
        self.worked(tested, visited, count)
        return out[:count]

    @property
    def index_bytes(self) -> int:
        nodes = 16 * self._node_count + 4 * self._state_count
        return nodes + self._edges.nbytes + self._ends.bytes + self._state.nbytes


def _tests(keys: Int64Array) -> tuple[Int64Array, Int32Array]:
    """The test of each predicate, in the order of paths, and the code to compare with."""
    clusters = cluster_of(keys)
    equal = comparison_of(clusters) == EQUAL
    tests = np.where(equal, pack_key(clusters, 0), keys | BOUND)
    return tests, code_of(keys).astype(np.int32)
