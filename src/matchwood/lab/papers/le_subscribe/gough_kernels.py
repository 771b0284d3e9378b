"""Kernels of Gough: matching, and building the tree level by level."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.lab.papers.shared.axes_kernels import MISSING

# The node of an empty set of rules: none can be true.
_DEAD = -1

# The low end where a rule does not have the attribute.
ANY = -1

# Bytes of an edge, which are where it begins and its node, and of a rule in a set.
EDGE_BYTES, MEMBER_BYTES = 8, 4


@lean
def walk(order, node_at, start, begins, child, rest, codes):
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
def _same(start, members, table, position, items, width):
    low = start[table[position]]
    if start[table[position] + 1] - low != width:
        return False
    for i in range(width):
        if members[low + i] != items[i]:
            return False
    return True


@inlined
def _position(start, members, table, items, width):
    """The position of a set in the table, or where it would go."""
    mixed = np.uint64(width)
    for i in range(width):
        mixed = (mixed ^ np.uint64(items[i])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = np.uint64(len(table) - 1)
    position = mixed & mask
    while table[position] >= 0 and not _same(start, members, table, position, items, width):
        position = (position + np.uint64(1)) & mask
    return position


@compiled
def _larger(array, room):
    """A copy of an array with more room."""
    larger = np.empty(room, array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _hashed(start, members, count, room):
    """A hash table of so many sets."""
    table = np.full(room, -1, np.int32)
    for number in range(count):
        items = members[start[number] : start[number + 1]]
        table[_position(start, members, table, items, len(items))] = number
    return table


@compiled
def _number_of(items, width, start, members, table, count):
    """The number of a set, which is added if it is new; then the arrays, some of which may have
    been replaced by larger ones, and the number of sets."""
    position = _position(start, members, table, items, width)
    if table[position] >= 0:
        return np.int64(table[position]), start, members, table, count
    at = start[count]
    if at + width > len(members):
        members = _larger(members, 2 * len(members) + width)
    members[at : at + width] = items[:width]
    if count + 2 >= len(start):
        start = _larger(start, 2 * len(start))
    start[count + 1] = at + width
    table[position] = count
    if 2 * (count + 1) > len(table):
        table = _hashed(start, members, count + 1, 4 * len(table))
    return np.int64(count), start, members, table, count + 1


@compiled
def _segments(rules, low, high):
    """The codes at which some rule begins or ceases to be possible, in ascending order."""
    ends = np.empty(2 * len(rules), np.int64)
    used = 0
    for rule in rules:
        if low[rule] != ANY:
            ends[used], ends[used + 1] = low[rule], high[rule] + 1
            used += 2
    return np.unique(ends[:used])


@inlined
def _possible(rules, low, high, code, items):
    """Write the rules that are possible with a code, which may be MISSING; how many they are."""
    width = 0
    for rule in rules:
        if low[rule] == ANY or low[rule] <= code <= high[rule]:
            items[width] = rule
            width += 1
    return width


@compiled
def build_level(set_start, sets, low, high, budget):
    """The edges of one level's nodes, and the sets of rules of the next, each once.

    Node n has the edges start[n] to start[n + 1], which begin at a code and lead to a node, and
    `rest`; sets without any element are _DEAD. Nothing is returned where edges and sets take more
    bytes than the budget.
    """
    nodes = len(set_start) - 1
    start = np.zeros(nodes + 1, np.int64)
    begins, child = np.empty(64, np.int32), np.empty(64, np.int32)
    rest = np.empty(nodes, np.int32)
    next_start, members = np.zeros(64, np.int64), np.empty(256, np.int32)
    table = np.full(128, -1, np.int32)
    widest = np.int64(1)
    for node in range(nodes):  # there may be none, where no rule is ever true
        widest = max(widest, set_start[node + 1] - set_start[node])
    items = np.empty(widest, np.int32)
    count, edges = 0, 0
    for node in range(nodes):
        rules = sets[set_start[node] : set_start[node + 1]]
        ends = _segments(rules, low, high)
        for i in range(-1, len(ends)):  # the rest, then the segments that begin at each end
            code = np.int64(MISSING) if i < 0 else ends[i]
            width = _possible(rules, low, high, code, items)
            target = np.int64(_DEAD)
            if width > 0:
                target, next_start, members, table, count = _number_of(
                    items, width, next_start, members, table, count
                )
            if MEMBER_BYTES * next_start[count] + EDGE_BYTES * edges > budget:
                return start[:0], begins[:0], child[:0], rest[:0], start[:0], members[:0]
            if i < 0:
                rest[node] = target
                continue
            if edges == len(begins):
                begins, child = _larger(begins, 2 * edges), _larger(child, 2 * edges)
            begins[edges], child[edges] = code, target
            edges += 1
        start[node + 1] = edges
    return (
        start, begins[:edges].copy(), child[:edges].copy(), rest, next_start[: count + 1].copy(),
        members[: next_start[count]].copy(),
    )  # fmt: skip
