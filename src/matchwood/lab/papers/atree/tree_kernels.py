"""The nodes of A-Tree: Ji and Jacobsen, SIGMOD 2021, §4.1 and §4.2.1.

A node is a row of numbers. Its lists (the child expressions that it was made of, its children,
its parents) are in one pool of words; a list that outgrows its room moves to the pool's end. The
children start out as the child expressions, in the same place, until self-adjustment or a deletion
changes them. `use_count` counts child expressions, as in the paper: self-adjustment adds no use,
and when a node is removed that others have as a child, they take over its children.

With propagation on demand an `and` node is woken by its first child alone, the access child. The
first PUSHED parents in a node's list are those that it wakes; the others follow, because levels
and deletions need them.

A node's *base* is its set of child expressions, where children of the same operator, which come
from reorganisation, are replaced by theirs. Two nodes are compared by their IDs and their bases.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import compiled, lean
from matchwood.kernels.programs import AND, OR

# The columns of a node. `ATreeArrays.rows` has one row per node.
OP, LEVEL, USES, WIDTH, EXPR_AT, EXPR_N, KIDS_AT, KIDS_N = range(8)
PAR_AT, PAR_N, PAR_ROOM, PUSHED, RULE, NEXT, LITERAL, MARK = range(8, 16)

# How many columns a node has.
FIELDS = 16

# Values of OP that are no operator: a predicate, and a free row.
LEAF, FREE = 8, 9

# The largest width in a *brief*, which is a base in one word of 64 bits:
#
#     | traits: 56 bits | width: 6 bits | operator: 2 bits |
#
# All widths from this one on are written as this one.
WIDE = 63

# The bits of a brief that hold the traits.
TRAITS = np.uint64(~255 & (1 << 64) - 1)

# The bits of a brief that hold width and operator.
_SIZE_BITS = np.uint64(255)

# The bits of a brief that hold the operator.
_OPERATOR_BITS = np.uint64(3)

# The positions of counters and switches in the state of a tree.
TOP, FREE_HEAD, LIVE, POOL_TOP, MARKS, HIGHEST, WIDEST, SHARING, REORGANIZE, ADJUST = range(10)
ON_DEMAND, ESTIMATED = range(10, 12)

# How many counters and switches the state of a tree has.
STATE = 12


class ATreeArrays(NamedTuple):
    """All arrays of a tree except its pool, which kernels replace by a larger one."""

    rows: NDArray[np.int32]  # one row per node
    ids: NDArray[np.uint64]  # generated ID of each node
    brief: NDArray[np.uint64]  # the brief of each `and` and `or`
    chance: NDArray[np.float32]  # probability of each node; empty unless access is estimated
    table: NDArray[np.int32]  # expression-to-node: first node of a chain, linked by NEXT
    leaf_of: NDArray[np.int32]  # node of each literal
    literal_chance: NDArray[np.float32]
    levels: NDArray[np.int64]  # nodes on each level
    root: NDArray[np.int32]  # by rule: its node, and its neighbours among that node's rules
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    state: NDArray[np.int64]


@lean
def mixed(value):
    """A hash of a word: each bit of it affects all bits."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@lean
def joined(op, left, right):
    """One more operand into an ID: and, or, xor as add, multiply, xor (§4.2.1)."""
    if op == AND:
        return left + right
    if op == OR:
        return left * right
    return left ^ right


# Lists


@lean
def copy(source, low, target, at, size):
    """Copy words; a loop, because Numba takes seconds to compile an assignment of slices."""
    for i in range(size):
        target[at + i] = source[low + i]


@compiled
def regrow(rows, pool, state, extra, tight):
    """Copy all lists to a new pool, without the holes that moved lists left."""
    total = np.int64(0)
    for node in range(state[TOP]):
        if rows[node, OP] != FREE:
            total += rows[node, EXPR_N]
            if rows[node, KIDS_AT] != rows[node, EXPR_AT]:
                total += rows[node, KIDS_N]
            if tight:
                rows[node, PAR_ROOM] = rows[node, PAR_N]
            total += rows[node, PAR_ROOM]
    larger = np.empty(total if tight else total + total // 2 + extra + 1024, np.int32)
    at = 0
    for node in range(state[TOP]):
        if rows[node, OP] == FREE:
            continue
        old, size = rows[node, EXPR_AT], rows[node, EXPR_N]
        copy(pool, old, larger, at, size)
        rows[node, EXPR_AT] = at
        if rows[node, KIDS_AT] == old:
            rows[node, KIDS_AT] = at
            at += size
        else:
            at += size
            old, size = rows[node, KIDS_AT], rows[node, KIDS_N]
            copy(pool, old, larger, at, size)
            rows[node, KIDS_AT] = at
            at += size
        old, size = rows[node, PAR_AT], rows[node, PAR_N]
        copy(pool, old, larger, at, size)
        rows[node, PAR_AT] = at
        at += rows[node, PAR_ROOM]
    state[POOL_TOP] = at
    return larger


@compiled
def link(rows, pool, state, child, parent, pushed):
    """Add a parent; those that are woken stay before those that are not."""
    if rows[child, PAR_N] == rows[child, PAR_ROOM]:
        room = 2 * rows[child, PAR_ROOM] + 2
        if state[POOL_TOP] + room > len(pool):
            pool = regrow(rows, pool, state, room, False)
        old, size, at = rows[child, PAR_AT], rows[child, PAR_N], state[POOL_TOP]
        copy(pool, old, pool, at, size)
        rows[child, PAR_AT], rows[child, PAR_ROOM] = at, room
        state[POOL_TOP] += room
    at = rows[child, PAR_AT]
    pool[at + rows[child, PAR_N]] = parent
    rows[child, PAR_N] += 1
    if pushed:
        push(rows, pool, child, rows[child, PAR_N] - 1)
    return pool


@lean
def push(rows, pool, child, i):
    """Move parent i to those that are woken."""
    at, to = rows[child, PAR_AT], rows[child, PUSHED]
    pool[at + i], pool[at + to] = pool[at + to], pool[at + i]
    rows[child, PUSHED] += 1


@lean
def parent_index(rows, pool, child, parent):
    """The index of a parent in its child's list, or -1."""
    at = rows[child, PAR_AT]
    for i in range(rows[child, PAR_N]):
        if pool[at + i] == parent:
            return i
    return -1


@lean
def unlink(rows, pool, child, parent):
    """Remove a parent from a child's list."""
    i = parent_index(rows, pool, child, parent)
    at = rows[child, PAR_AT]
    if i < rows[child, PUSHED]:
        rows[child, PUSHED] -= 1
        pool[at + i] = pool[at + rows[child, PUSHED]]
        i = rows[child, PUSHED]
    rows[child, PAR_N] -= 1
    pool[at + i] = pool[at + rows[child, PAR_N]]


# Bases


@lean
def new_mark(rows, state):
    """A mark that no node has; nor do nodes have the three after it."""
    state[MARKS] += 4
    if state[MARKS] > 2_000_000_000:
        for node in range(state[TOP]):
            rows[node, MARK] = 0
        state[MARKS] = 4
    return state[MARKS]


@lean
def walk_base(rows, pool, op, node, low, mark, to, path, step):
    """Give the nodes of a base that have `mark`, or all if it is below 0, the mark `to`.

    Returns how many got it, and how many have a mark below `low`: an earlier one.
    """
    hits = 0
    others = 0
    depth = 1
    path[0], step[0] = node, 0
    while depth > 0:
        node = path[depth - 1]
        if rows[node, OP] != op:
            old = rows[node, MARK]
            if old != to and (mark < 0 or old == mark):
                rows[node, MARK] = to
                hits += 1
            elif old < low:
                others += 1
            depth -= 1
        elif step[depth - 1] == rows[node, EXPR_N]:
            depth -= 1
        else:
            path[depth] = pool[rows[node, EXPR_AT] + step[depth - 1]]
            step[depth - 1] += 1
            step[depth] = 0
            depth += 1
    return hits, others


@lean
def trait(node_id):
    """One of the upper 56 bits of a word, for what a base may hold."""
    return np.uint64(1) << (np.uint64(8) + mixed(node_id) % np.uint64(56))


@lean
def _pack_brief(op, width):
    """A brief without traits."""
    return np.uint64(op | min(width, WIDE) << 2)


@lean
def _brief_width(word):
    """The width that a brief gives."""
    return np.int64((word & _SIZE_BITS) >> np.uint64(2))


@lean
def brief(tree, op, width, kids, count):
    """Operator, width and traits of a base in one word: what most candidates are ruled out by."""
    word = _pack_brief(op, width)
    for i in range(count):
        if tree.rows[kids[i], OP] == op:
            word |= tree.brief[kids[i]] & TRAITS
        else:
            word |= trait(tree.ids[kids[i]])
    return word


@lean
def may_hold(larger, smaller):
    """Whether one node's base may contain another's, by their briefs."""
    if (larger ^ smaller) & _OPERATOR_BITS or smaller & ~larger & TRAITS:
        return False
    return (larger & _SIZE_BITS) > (smaller & _SIZE_BITS) or _brief_width(larger) == WIDE


@lean
def mark_bases(rows, pool, op, nodes, count, mark, path, step):
    """Mark the bases of nodes[:count]; how many nodes they have together."""
    width = 0
    for i in range(count):
        hits, _ = walk_base(rows, pool, op, np.int64(nodes[i]), 0, -1, mark, path, step)
        width += hits
    return width


@lean
def find(tree, pool, op, node_id, kids, count, path, step):
    """The node of an expression, by its ID and its contents; -1 where there is none."""
    rows, ids = tree.rows, tree.ids
    node = np.int64(tree.table[mixed(node_id) & np.uint64(len(tree.table) - 1)])
    mark, width = np.int64(-1), 0
    while node >= 0:
        if ids[node] == node_id and rows[node, OP] == op:
            if op == AND or op == OR:
                if mark < 0:
                    mark = new_mark(rows, tree.state)
                    width = mark_bases(rows, pool, op, kids, count, mark, path, step)
                if rows[node, WIDTH] == width:
                    _, others = walk_base(rows, pool, op, node, mark, mark, mark, path, step)
                    if others == 0:
                        return node
            elif rows[node, EXPR_N] == count:
                at = rows[node, EXPR_AT]
                same = True
                for i in range(count):
                    if pool[at + i] != kids[i]:
                        same = False
                if same:
                    return node
        node = np.int64(rows[node, NEXT])
    return np.int64(-1)


# Levels and access


@compiled
def relevel(rows, pool, levels, state, node):
    """level = 1 + the highest level of a child, here and above (§4.1)."""
    todo = np.empty(64, np.int32)
    todo[0] = node
    top = 1
    while top > 0:
        top -= 1
        node = todo[top]
        level = 0
        at = rows[node, KIDS_AT]
        for i in range(at, at + rows[node, KIDS_N]):
            level = max(level, rows[pool[i], LEVEL])
        level += 1
        if level == rows[node, LEVEL]:
            continue
        levels[rows[node, LEVEL]] -= 1
        levels[level] += 1
        rows[node, LEVEL] = level
        state[HIGHEST] = max(state[HIGHEST], level)
        size, at = rows[node, PAR_N], rows[node, PAR_AT]
        if top + size > len(todo):
            larger = np.empty(2 * len(todo) + size, np.int32)
            copy(todo, 0, larger, 0, top)
            todo = larger
        copy(pool, at, todo, top, size)
        top += size


@lean
def access_child(tree, node, kids, count):
    """Which of the children wakes an `and`: any (§5.2.2), or the one least likely to be true."""
    if tree.state[ESTIMATED] == 0:
        return np.int64(mixed(tree.ids[node]) % np.uint64(count))
    best = 0
    for i in range(1, count):
        if tree.chance[kids[i]] < tree.chance[kids[best]]:
            best = i
    return np.int64(best)


@lean
def wakes(state, op, first):
    """Whether a parent is woken by this child: not an `and`, or its access child."""
    return op != AND or state[ON_DEMAND] == 0 or first
