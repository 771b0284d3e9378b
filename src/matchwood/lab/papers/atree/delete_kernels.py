"""Removing expressions from A-Tree: Ji and Jacobsen, SIGMOD 2021, §4.2.4, Algorithm 5."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.lab.papers.atree.tree_kernels import (
    EXPR_AT,
    EXPR_N,
    FREE,
    FREE_HEAD,
    KIDS_AT,
    KIDS_N,
    LEAF,
    LEVEL,
    LITERAL,
    LIVE,
    MARK,
    NEXT,
    OP,
    PAR_AT,
    PAR_N,
    POOL_TOP,
    RULE,
    TOP,
    USES,
    access_child,
    copy,
    link,
    mixed,
    new_mark,
    parent_index,
    push,
    regrow,
    relevel,
    unlink,
    wakes,
)


@compiled
def delete(tree, pool, node):
    """Algorithm 5: count one use less; an unused node is removed, then its child expressions."""
    rows, state = tree.rows, tree.state
    todo = np.empty(64, np.int32)
    todo[0] = node
    top = 1
    while top > 0:
        top -= 1
        node = todo[top]
        rows[node, USES] -= 1
        if rows[node, USES] > 0:
            continue
        if rows[node, OP] == LEAF:
            tree.leaf_of[rows[node, LITERAL]] = -1
        else:
            size, at = rows[node, EXPR_N], rows[node, EXPR_AT]
            if top + size > len(todo):
                larger = np.empty(2 * len(todo) + size, np.int32)
                copy(todo, 0, larger, 0, top)
                todo = larger
            copy(pool, at, todo, top, size)
            top += size
            pool = _remove(tree, pool, node)
            _forget(tree, node)
        tree.levels[rows[node, LEVEL]] -= 1
        rows[node, OP] = FREE
        rows[node, NEXT] = state[FREE_HEAD]
        state[FREE_HEAD] = node
        state[LIVE] -= 1
    return pool


@compiled
def _remove(tree, pool, node):
    """Parents that self-adjustment gave the node take its children; the children lose it."""
    rows, state = tree.rows, tree.state
    size = rows[node, KIDS_N]
    for p in range(rows[node, PAR_N]):
        parent = pool[rows[node, PAR_AT] + p]
        room = size + rows[parent, KIDS_N]
        if state[POOL_TOP] + room > len(pool):
            pool = regrow(rows, pool, state, room, False)
        at, to = rows[parent, KIDS_AT], state[POOL_TOP]
        state[POOL_TOP] += room
        mark = new_mark(rows, state)
        was_access = pool[at] == node
        kept = 0
        for i in range(rows[parent, KIDS_N]):
            if pool[at + i] != node:
                pool[to + kept] = pool[at + i]
                rows[pool[at + i], MARK] = mark
                kept += 1
        count = kept
        for i in range(size):
            child = pool[rows[node, KIDS_AT] + i]
            if rows[child, MARK] != mark:
                pool[to + count] = child
                count += 1
        rows[parent, KIDS_AT], rows[parent, KIDS_N] = to, count
        awake = wakes(state, rows[parent, OP], False)
        for i in range(kept, count):  # each step may replace the pool
            child = pool[rows[parent, KIDS_AT] + i]
            pool = link(rows, pool, state, child, parent, awake)
        if was_access and not awake:
            at = rows[parent, KIDS_AT]
            first = access_child(tree, parent, pool[at:], rows[parent, KIDS_N])
            pool[at], pool[at + first] = pool[at + first], pool[at]
            push(rows, pool, pool[at], parent_index(rows, pool, pool[at], parent))
        relevel(rows, pool, tree.levels, state, parent)
    for i in range(size):
        unlink(rows, pool, pool[rows[node, KIDS_AT] + i], node)
    return pool


@lean
def _forget(tree, node):
    """Take a node out of the expression-to-node table."""
    rows = tree.rows
    bucket = mixed(tree.ids[node]) & np.uint64(len(tree.table) - 1)
    if tree.table[bucket] == node:
        tree.table[bucket] = rows[node, NEXT]
        return
    other = tree.table[bucket]
    while rows[other, NEXT] != node:
        other = rows[other, NEXT]
    rows[other, NEXT] = rows[node, NEXT]


@lean
def rehash(tree):
    """Rebuild the chains in a larger table."""
    for node in range(tree.state[TOP]):
        op = tree.rows[node, OP]
        if op != FREE and op != LEAF:
            bucket = mixed(tree.ids[node]) & np.uint64(len(tree.table) - 1)
            tree.rows[node, NEXT] = tree.table[bucket]
            tree.table[bucket] = node


@compiled
def remove_rule(tree, pool, rule):
    """Remove a rule from its node, and the node if nothing else uses it."""
    node = tree.root[rule]
    before, after = tree.before[rule], tree.after[rule]
    if before >= 0:
        tree.after[before] = after
    else:
        tree.rows[node, RULE] = after
    if after >= 0:
        tree.before[after] = before
    return delete(tree, pool, node)
