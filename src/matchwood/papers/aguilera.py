"""Aguilera: a tree of tests with don't-care edges, of which an event follows several paths.

Aguilera, Strom, Sturman, Astley and Chandra, *Matching events in a content-based subscription
system*, PODC 1999, as Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 7, describe it. A node is
a test: the value of an attribute, with an edge for each value that rules equal it with, or one
comparison with a bound, with an edge for true. Its *-edge is for rules that do not care, and leads
on to the next test. A rule is a path: tests of values come first, by attribute, then those of
bounds, so that the tree does not depend on the order in which rules arrive. A place where an edge
ends is a *state*: rules that are true there, and the first of its tests.

A node has many equalities but a single bound, so that bounds make long chains of *-edges, as the
paper says.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, inlined, lean
from matchwood.papers.postings import AT, SIZE, Postings
from matchwood.papers.predicate_clusters import EQUAL, LESS, keys_of
from matchwood.papers.roster import roomy
from matchwood.papers.subscriptions import Ints, Longs, Rows, Subscriptions

_NONE = -1
_BITS = 31  # of a value in a key, see `predicate_clusters`
_BOUND = 1 << 62  # tests of bounds come after those of values


class Aguilera(Subscriptions):
    """Rules as paths of tests.

    >>> rules = {1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"}
    >>> aguilera = Aguilera(rules)
    >>> sorted(aguilera.match({"price": 5, "kind": "toy"})), aguilera.work.nodes
    ([1, 2], 3)
    """

    name = "Aguilera"
    paper = "Aguilera et al. 1999; Fabret et al. 2000, §3.1, Figure 7"

    def lay_out(self, found: Rows) -> None:
        keys, place = keys_of(found.rows)
        owner = found.owner[place]
        tests, values = _tests(keys)
        order = np.lexsort((tests, owner))
        tests, values = tests[order], values[order]
        rules = len(found.start) - 1
        start = np.r_[0, np.cumsum(np.bincount(owner, minlength=rules))].astype(np.int64)
        self._node_count, self._state_count, self._edge_count = 0, 1, 0
        self._test = np.empty(0, np.int64)  # of each node
        self._star = np.empty(0, np.int32)  # its *-edge
        self._true = np.empty(0, np.int32)  # where a bound that is true leads to
        self._first = np.full(1, _NONE, np.int32)  # the first test of each state
        self._edges = np.full((16, 2), _NONE, np.int64)  # (node, value) and state, by hash
        self._state = np.full(rules, _NONE, np.int32)  # where the path of each rule ends
        states = self._walk(tests, values, start)
        some = np.flatnonzero(np.diff(found.start)).astype(np.int32)
        self._state[some] = states[some]
        self._ends = Postings(states[some], some)
        self._depth = int(np.diff(start).max(initial=0))

    def _walk(self, tests: Longs, values: Ints, start: Longs) -> Ints:
        """The states at which paths end; nodes that are missing are made."""
        room = self._node_count + len(tests)
        self._test, self._star = roomy(self._test, room), roomy(self._star, room)
        self._true = roomy(self._true, room, _NONE)
        self._first = roomy(self._first, self._state_count + len(tests), _NONE)
        if 2 * (self._edge_count + len(tests)) > len(self._edges):
            larger = 1 << (4 * (self._edge_count + len(tests)) - 1).bit_length()
            edges = np.full((larger, 2), _NONE, np.int64)
            _fill(self._edges, edges)
            self._edges = edges
        states = np.empty(len(start) - 1, np.int32)
        counts = np.array([self._node_count, self._state_count, self._edge_count], np.int64)
        _paths(
            tests, values, start, self._test, self._star, self._true, self._first, self._edges,
            counts, states,
        )  # fmt: skip
        self._node_count, self._state_count, self._edge_count = counts.tolist()
        return states

    def take(self, number: int, rows: Ints) -> None:
        tests, values = _tests(keys_of(rows)[0])
        order = np.argsort(tests)
        start = np.array([0, len(order)], np.int64)
        state = int(self._walk(tests[order], values[order], start)[0])
        self._state = roomy(self._state, number + 1, _NONE)
        self._state[number] = state
        self._ends.put(state, number)
        self._depth = max(self._depth, len(order))

    def drop(self, number: int, rows: Ints) -> None:
        """Its path stays."""
        self._ends.drop(int(self._state[number]), number)

    def find(self, codes: Ints) -> Ints:
        out = np.empty(self._room, np.int32)
        stack = np.empty(self._state_count, np.int32)
        found, visited, tested = _match(
            self._test, self._star, self._true, self._first, self._edges, self._ends.lists,
            self._ends.entries, codes, stack, out,
        )  # fmt: skip
        self.worked(tested, visited, found)
        return out[:found]

    @property
    def index_bytes(self) -> int:
        nodes = 16 * self._node_count + 4 * self._state_count
        return nodes + self._edges.nbytes + self._ends.bytes + self._state.nbytes


def _tests(keys: Longs) -> tuple[Longs, Ints]:
    """The test of each predicate, in the order of paths, and the value that it is to have."""
    equal = (keys >> _BITS) % 3 == EQUAL
    tests = np.where(equal, keys >> _BITS << _BITS, keys | _BOUND)
    return tests, (keys & ((1 << _BITS) - 1)).astype(np.int32)


@inlined
def _edge(edges, node, value):
    """The place of an edge, or where it would be put."""
    key = (np.int64(node) << 32) | np.int64(value)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mask = np.uint64(len(edges) - 1)
    place = (mixed ^ (mixed >> np.uint64(32))) & mask
    while edges[place, 0] != key and edges[place, 0] != _NONE:
        place = (place + np.uint64(1)) & mask
    return place


@lean
def _fill(edges, larger):
    for i in range(len(edges)):
        key = edges[i, 0]
        if key != _NONE:
            place = _edge(larger, key >> 32, key & 0xFFFFFFFF)
            larger[place, 0], larger[place, 1] = key, edges[i, 1]


@compiled
def _paths(tests, values, start, test, following, true, first, edges, counts, states):
    """Follow the path of each rule, making what is missing; counts: nodes, states, edges."""
    nodes, made, edge_count = counts[0], counts[1], counts[2]
    for rule in range(len(start) - 1):
        state = np.int64(0)
        for i in range(start[rule], start[rule + 1]):
            before = np.int64(_NONE)
            node = np.int64(first[state])
            while node != _NONE and test[node] < tests[i]:
                before = node
                node = np.int64(following[node])
            if node == _NONE or test[node] != tests[i]:
                test[nodes], following[nodes], true[nodes] = tests[i], node, _NONE
                node = nodes
                nodes += 1
                if before == _NONE:
                    first[state] = node
                else:
                    following[before] = node
            if tests[i] >= _BOUND:
                if true[node] == _NONE:
                    true[node], first[made] = made, _NONE
                    made += 1
                state = np.int64(true[node])
            else:
                place = _edge(edges, node, values[i])
                if edges[place, 0] == _NONE:
                    edges[place, 0] = (node << 32) | np.int64(values[i])
                    edges[place, 1], first[made] = made, _NONE
                    made += 1
                    edge_count += 1
                state = edges[place, 1]
        states[rule] = state
    counts[0], counts[1], counts[2] = nodes, made, edge_count


@lean
def _match(test, following, true, first, edges, lists, entries, codes, stack, out):
    """Rules that are true: out[:first of what is returned]; also nodes, and bounds tested."""
    found = 0
    visited = 0
    tested = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        state = stack[top]
        if state < len(lists):
            for i in range(lists[state, AT], lists[state, AT] + lists[state, SIZE]):
                out[found] = entries[i]
                found += 1
        node = first[state]
        while node != _NONE:
            visited += 1
            asked = test[node]
            cluster = (asked & (_BOUND - 1)) >> _BITS
            code = codes[cluster // 3]
            if code >= 0:
                tested += 1
                if asked < _BOUND:
                    place = _edge(edges, node, code)
                    if edges[place, 0] != _NONE:
                        stack[top] = edges[place, 1]
                        top += 1
                else:
                    bound = asked & ((1 << _BITS) - 1)
                    if (code <= bound) if cluster % 3 == LESS else (code >= bound):
                        stack[top] = true[node]
                        top += 1
            node = following[node]
    return found, visited, tested
