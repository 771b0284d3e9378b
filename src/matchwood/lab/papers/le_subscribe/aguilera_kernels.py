"""Kernels of Aguilera: adding paths to the tree of tests, and following them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, inlined, lean
from matchwood.lab.papers.le_subscribe.postings_kernels import AT, SIZE
from matchwood.lab.papers.le_subscribe.predicate_keys import (
    LESS,
    axis_of,
    cluster_of,
    code_of,
    comparison_of,
)

# The number that stands for no node, no state or no edge.
NONE = -1

# The bit of a test that is one bound. It is above all others, so that bounds are tested last.
#
#     test of a value    key of the cluster, with the code 0
#     test of a bound    BOUND | key of the bound              (see `predicate_keys`)
BOUND = 1 << 62

# Columns of the hash table of edges: the edge as `pack_edge` packs it, and the state it leads to.
_EDGE, _STATE = range(2)

# How many columns the hash table of edges has.
EDGE_COLUMNS = 2

# Positions of what `add_paths` counts: nodes, states and edges.
_NODES, _STATES, _EDGES = range(3)


@codec
def pack_edge(node, value):
    """An edge as the hash table keeps it: | node: 32 bits | value: 32 bits |."""
    return np.int64(node) << 32 | np.int64(value)


@codec
def unpack_edge(edge):
    """(node, value) of an edge."""
    return edge >> 32, edge & 0xFFFFFFFF


@inlined
def _edge(edges, node, value):
    """The position of an edge in the table, or where it would go."""
    key = pack_edge(node, value)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mask = np.uint64(len(edges) - 1)
    position = (mixed ^ (mixed >> np.uint64(32))) & mask
    while edges[position, _EDGE] != key and edges[position, _EDGE] != NONE:
        position = (position + np.uint64(1)) & mask
    return position


@lean
def copy_edges(edges, larger):
    """Put all edges of a table into a larger one."""
    for i in range(len(edges)):
        key = edges[i, _EDGE]
        if key != NONE:
            node, value = unpack_edge(key)
            position = _edge(larger, node, value)
            larger[position, _EDGE], larger[position, _STATE] = key, edges[i, _STATE]


@compiled
def add_paths(tests, values, start, test, following, true, first, edges, counts, states):
    """Follow the path of each rule, making what is missing; counts: nodes, states, edges."""
    nodes, made, edge_count = counts[_NODES], counts[_STATES], counts[_EDGES]
    for rule in range(len(start) - 1):
        state = np.int64(0)
        for i in range(start[rule], start[rule + 1]):
            before = np.int64(NONE)
            node = np.int64(first[state])
            while node != NONE and test[node] < tests[i]:
                before = node
                node = np.int64(following[node])
            if node == NONE or test[node] != tests[i]:
                test[nodes], following[nodes], true[nodes] = tests[i], node, NONE
                node = nodes
                nodes += 1
                if before == NONE:
                    first[state] = node
                else:
                    following[before] = node
            if tests[i] >= BOUND:
                if true[node] == NONE:
                    true[node], first[made] = made, NONE
                    made += 1
                state = np.int64(true[node])
            else:
                position = _edge(edges, node, values[i])
                if edges[position, _EDGE] == NONE:
                    edges[position, _EDGE] = pack_edge(node, values[i])
                    edges[position, _STATE], first[made] = made, NONE
                    made += 1
                    edge_count += 1
                state = edges[position, _STATE]
        states[rule] = state
    counts[_NODES], counts[_STATES], counts[_EDGES] = nodes, made, edge_count


@lean
def match(test, following, true, first, edges, lists, entries, codes, stack, out):
    """Write the true rules to `out`; returns how many, nodes visited, and tests made."""
    match_count = 0
    visited = 0
    tested = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        state = stack[top]
        if state < len(lists):
            for i in range(lists[state, AT], lists[state, AT] + lists[state, SIZE]):
                out[match_count] = entries[i]
                match_count += 1
        node = first[state]
        while node != NONE:
            visited += 1
            asked = test[node]
            cluster = cluster_of(asked & (BOUND - 1))
            code = codes[axis_of(cluster)]
            if code >= 0:
                tested += 1
                if asked < BOUND:
                    position = _edge(edges, node, code)
                    if edges[position, _EDGE] != NONE:
                        stack[top] = edges[position, _STATE]
                        top += 1
                else:
                    bound = code_of(asked)
                    if (code <= bound) if comparison_of(cluster) == LESS else (code >= bound):
                        stack[top] = true[node]
                        top += 1
            node = following[node]
    return match_count, visited, tested
