"""Inserting expressions into A-Tree: Ji and Jacobsen, SIGMOD 2021, §4.2, Algorithms 1 to 4.

`insert` is Algorithm 4, in three passes over the words of a rule, which are in prefix order:
generate the IDs and look expressions up; from the root down, as far as expressions are new,
reorganise them (Algorithm 2); from the leaves up, make nodes and adjust the tree to each
(Algorithm 3).
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import compiled, lean
from matchwood.kernels.programs import AND, NOT, OR, XNOR, operands_of, operator_of
from matchwood.lab.papers.atree.delete_kernels import delete
from matchwood.lab.papers.atree.tree_kernels import (
    ADJUST,
    ESTIMATED,
    EXPR_AT,
    EXPR_N,
    FIELDS,
    FREE_HEAD,
    HIGHEST,
    KIDS_AT,
    KIDS_N,
    LEAF,
    LEVEL,
    LITERAL,
    LIVE,
    MARK,
    NEXT,
    ON_DEMAND,
    OP,
    PAR_AT,
    PAR_N,
    POOL_TOP,
    REORGANIZE,
    RULE,
    SHARING,
    TOP,
    USES,
    WIDEST,
    WIDTH,
    access_child,
    brief,
    copy,
    find,
    joined,
    link,
    mark_bases,
    may_hold,
    mixed,
    new_mark,
    regrow,
    relevel,
    unlink,
    wakes,
    walk_base,
)


class InsertScratch(NamedTuple):
    """The scratch of one insertion: arrays by word of the rule, and for walks."""

    ids: NDArray[np.uint64]
    end: NDArray[np.int32]  # where the expression that begins here ends
    node: NDArray[np.int32]
    wanted: NDArray[np.uint8]  # whether the expression becomes a child, or a root
    cover_at: NDArray[np.int32]  # nodes that reorganisation put in the place of operands
    cover_n: NDArray[np.int32]
    covers: NDArray[np.int32]
    kids: NDArray[np.int32]
    path: NDArray[np.int32]
    step: NDArray[np.int32]
    climb: NDArray[np.int32]  # nodes from an operand upwards, and the next parent of each
    rung: NDArray[np.int32]


@compiled
def insert_all(tree, pool, words, start, numbers, first, space):
    """Insert rules from `first` on; returns the first that there was no room for, and the pool."""
    state = tree.state
    for i in range(first, len(numbers)):
        size = start[i + 1] - start[i]
        if (
            state[TOP] + size > len(tree.rows)
            or state[LIVE] + size > len(tree.table)
            or state[HIGHEST] + 2 * size + 4 > len(tree.levels)
            or max(state[WIDEST], size) + 8 > len(space.end)
        ):
            return i, pool
        rule_words = words[start[i] : start[i + 1]]
        node, pool = insert(tree, pool, rule_words, space)
        rule = numbers[i]
        tree.root[rule] = node
        before = tree.rows[node, RULE]
        tree.after[rule], tree.before[rule] = before, -1
        if before >= 0:
            tree.before[before] = rule
        tree.rows[node, RULE] = rule
    return len(numbers), pool


@compiled
def insert(tree, pool, words, space):
    """Algorithm 4: the node of an expression, used once more."""
    rows, state = tree.rows, tree.state
    _look_up(tree, pool, words, space)
    top = np.int64(0)
    for at in range(len(words)):
        space.wanted[at] = 0
    space.wanted[0] = 1
    for at in range(len(words)):
        if space.wanted[at] == 0 or space.node[at] >= 0 or words[at] >= 0:
            continue
        op, count = np.int64(operator_of(words[at])), np.int64(operands_of(words[at]))
        space.cover_at[at], space.cover_n[at] = top, 0
        child = at + 1
        for _ in range(count):
            space.wanted[child] = 1
            child = space.end[child]
        if state[REORGANIZE] and (op == AND or op == OR) and count > 2:
            top = _reorganize(tree, pool, at, op, count, space, top)
    for at in range(len(words) - 1, -1, -1):
        if space.wanted[at] == 0:
            continue
        if words[at] >= 0:
            space.node[at] = _leaf(tree, np.int64(words[at]))
        elif space.node[at] < 0:
            space.node[at], pool = _inner(tree, pool, words, at, space)
        else:
            rows[space.node[at], USES] += 1
    return space.node[0], pool


@lean
def _look_up(tree, pool, words, space):
    """generateID of every expression in a rule, and the node that it has already, or -1."""
    for at in range(len(words) - 1, -1, -1):
        if words[at] >= 0:
            space.ids[at] = mixed(words[at]) | np.uint64(1)
            space.end[at] = at + 1
            space.node[at] = tree.leaf_of[words[at]]
            continue
        op, count = np.int64(operator_of(words[at])), np.int64(operands_of(words[at]))
        child = at + 1
        known = True
        joint = space.ids[child]
        for i in range(count):
            if i > 0:
                joint = joined(op, joint, space.ids[child])
            space.kids[i] = space.node[child]
            known &= space.node[child] >= 0
            child = space.end[child]
        space.ids[at] = ~joint if op == NOT or op == XNOR else joint
        space.end[at] = child
        space.node[at] = -1
        if known and tree.state[SHARING]:
            if op != AND and op != OR:
                _sort(space.kids, count)
            space.node[at] = find(
                tree, pool, op, space.ids[at], space.kids, count, space.path, space.step
            )


@lean
def _sort(nodes, count):
    for i in range(1, count):
        node = nodes[i]
        j = i - 1
        while j >= 0 and nodes[j] > node:
            nodes[j + 1] = nodes[j]
            j -= 1
        nodes[j + 1] = node


@lean
def _reorganize(tree, pool, at, op, count, space, top):
    """Algorithm 2: cover operands by nodes of the same operator that are there, greedily.

    A node S must lie within the expression, and cover an operand that nothing covers yet.
    """
    rows = tree.rows
    covered = new_mark(rows, tree.state)
    bare = covered + 1
    child = at + 1
    known = np.int64(0)
    for _ in range(count):
        if space.node[child] >= 0:
            rows[space.node[child], MARK] = bare
            space.kids[known] = space.node[child]
            known += 1
        child = space.end[child]
    while True:
        best = _best_cover(tree, pool, op, count, known, covered, space)
        if best < 0:
            break
        walk_base(rows, pool, op, best, 0, bare, covered, space.path, space.step)
        space.covers[top] = best
        space.cover_n[at] += 1
        top += 1
    if space.cover_n[at]:
        child = at + 1
        for _ in range(count):
            if space.node[child] >= 0 and rows[space.node[child], MARK] == covered:
                space.wanted[child] = 0
            child = space.end[child]
    return top


@lean
def _best_cover(tree, pool, op, count, known, covered, space):
    """The node within the expression that has the most uncovered operands, or -1.

    A node lies above its operands, by way of others of its operator if it was reorganised itself.
    So the search goes up from each operand, through nodes within the expression, each once: what is
    above a node that has anything else has it, too.
    """
    rows = tree.rows
    wanted = brief(tree, op, count, space.kids, known)
    bare, counted, seen = covered + 1, covered + 2, new_mark(rows, tree.state)
    best, most = np.int64(-1), 0
    for i in range(known):
        if rows[space.kids[i], MARK] != bare:
            continue
        depth = 1
        space.climb[0], space.rung[0] = space.kids[i], 0
        while depth > 0:
            below, step = space.climb[depth - 1], space.rung[depth - 1]
            if step == rows[below, PAR_N]:
                depth -= 1
                continue
            space.rung[depth - 1] += 1
            node = np.int64(pool[rows[below, PAR_AT] + step])
            if rows[node, OP] != op or rows[node, MARK] == seen or rows[node, MARK] == bare:
                continue  # a bare one is an operand, as in `a or b or (a or c)` as written
            rows[node, MARK] = seen
            if rows[node, WIDTH] >= count or not may_hold(wanted, tree.brief[node]):
                continue
            hits, others = walk_base(
                rows, pool, op, node, covered, bare, counted, space.path, space.step
            )
            walk_base(rows, pool, op, node, covered, counted, bare, space.path, space.step)
            if others > 0:
                continue
            if hits > most:
                best, most = node, hits
            space.climb[depth], space.rung[depth] = node, 0
            depth += 1
    return best


@lean
def _new_node(tree, op, node_id):
    """A row for a node, without lists."""
    rows, state = tree.rows, tree.state
    node = state[FREE_HEAD]
    if node >= 0:
        state[FREE_HEAD] = rows[node, NEXT]
    else:
        node = state[TOP]
        state[TOP] += 1
    for field in range(FIELDS):
        rows[node, field] = 0
    tree.brief[node] = 0
    rows[node, OP] = op
    rows[node, USES] = 1
    rows[node, WIDTH] = 1
    rows[node, RULE] = -1
    rows[node, NEXT] = -1
    rows[node, LEVEL] = 1
    tree.levels[1] += 1
    tree.ids[node] = node_id
    state[LIVE] += 1
    return node


@lean
def _leaf(tree, literal):
    """The l-node of a predicate, used once more."""
    node = np.int64(tree.leaf_of[literal])
    if node >= 0:
        tree.rows[node, USES] += 1
        return node
    node = _new_node(tree, LEAF, mixed(literal) | np.uint64(1))
    tree.leaf_of[literal] = node
    tree.rows[node, LITERAL] = literal
    if tree.state[ESTIMATED]:
        tree.chance[node] = tree.literal_chance[literal]
    return node


@compiled
def _inner(tree, pool, words, at, space):
    """The node of an expression whose wanted operands have theirs: lines 7 to 14 of Algorithm 4."""
    rows, state, kids = tree.rows, tree.state, space.kids
    op = np.int64(operator_of(words[at]))
    both = op == AND or op == OR
    count = np.int64(0)
    for i in range(space.cover_at[at], space.cover_at[at] + space.cover_n[at]):
        kids[count] = space.covers[i]
        rows[kids[count], USES] += 1
        count += 1
    mark = new_mark(rows, state)
    child = at + 1
    for _ in range(operands_of(words[at])):
        if space.wanted[child]:
            node = np.int64(space.node[child])
            if both and rows[node, MARK] == mark:
                rows[node, USES] -= 1  # the same operand again
            else:
                rows[node, MARK] = mark
                kids[count] = node
                count += 1
        child = space.end[child]
    if not both:
        _sort(kids, count)
    if state[SHARING]:  # it may occur twice in this rule
        node = find(tree, pool, op, space.ids[at], kids, count, space.path, space.step)
        if node >= 0:
            rows[node, USES] += 1
            for i in range(count):
                pool = delete(tree, pool, kids[i])
            return node, pool
    node = _new_node(tree, op, space.ids[at])
    pool = _adopt(tree, pool, node, kids, count, space)
    place_in = mixed(tree.ids[node]) & np.uint64(len(tree.table) - 1)
    rows[node, NEXT] = tree.table[place_in]
    tree.table[place_in] = node
    if state[ADJUST] and both:
        pool = _self_adjust(tree, pool, node, space)
    return node, pool


@compiled
def _adopt(tree, pool, node, kids, count, space):
    """Give a new node its child expressions, which are its children."""
    rows, state = tree.rows, tree.state
    op = np.int64(rows[node, OP])
    if op == AND or op == OR:
        mark = new_mark(rows, state)
        rows[node, WIDTH] = mark_bases(rows, pool, op, kids, count, mark, space.path, space.step)
        state[WIDEST] = max(state[WIDEST], rows[node, WIDTH])
        tree.brief[node] = brief(tree, op, np.int64(rows[node, WIDTH]), kids, count)
    if op == AND and state[ON_DEMAND]:
        first = access_child(tree, node, kids, count)
        kids[0], kids[first] = kids[first], kids[0]
    if state[ESTIMATED]:
        chance = np.float32(1)
        for i in range(count):
            kid_chance = min(tree.chance[kids[i]], np.float32(1))
            chance *= kid_chance if op == AND else np.float32(1) - kid_chance
        tree.chance[node] = chance if op == AND else np.float32(1) - chance
    if state[POOL_TOP] + count > len(pool):
        pool = regrow(rows, pool, state, count, False)
    at = state[POOL_TOP]
    state[POOL_TOP] += count
    copy(kids, 0, pool, at, count)
    rows[node, EXPR_AT], rows[node, EXPR_N] = at, count
    rows[node, KIDS_AT], rows[node, KIDS_N] = at, count
    for i in range(count):
        pool = link(rows, pool, state, kids[i], node, wakes(state, op, i == 0))
    relevel(rows, pool, tree.levels, state, node)
    return pool


@compiled
def _self_adjust(tree, pool, new, space):
    """Algorithm 3: nodes of the same operator whose expression holds the new one use it."""
    rows, state = tree.rows, tree.state
    op, width = np.int64(rows[new, OP]), np.int64(rows[new, WIDTH])
    base = new_mark(rows, state)
    counted = base + 1
    walk_base(rows, pool, op, new, 0, -1, base, space.path, space.step)
    for i in range(rows[new, KIDS_N]):
        child = np.int64(pool[rows[new, KIDS_AT] + i])
        j = rows[child, PAR_N] - 1
        while j >= 0:  # backwards, so that removals do not move what is still to come
            parent = np.int64(pool[rows[child, PAR_AT] + j])
            j -= 1
            if not may_hold(tree.brief[parent], tree.brief[new]):
                continue
            if parent == new or rows[parent, WIDTH] <= width:
                continue
            hits, _ = walk_base(rows, pool, op, parent, 0, base, counted, space.path, space.step)
            walk_base(rows, pool, op, parent, 0, counted, base, space.path, space.step)
            if hits == width:
                pool = _update(tree, pool, parent, new, base)
    return pool


@compiled
def _update(tree, pool, parent, new, base):
    """The new node takes the place of those children of a node that it covers."""
    rows, state = tree.rows, tree.state
    size = rows[parent, KIDS_N]
    if state[POOL_TOP] + size > len(pool):
        pool = regrow(rows, pool, state, size, False)
    at = rows[parent, KIDS_AT]
    if at == rows[parent, EXPR_AT]:  # what it was made of stays
        to = state[POOL_TOP]
        state[POOL_TOP] += size
    else:
        to = at
    low, high = rows[new, KIDS_AT], rows[new, KIDS_AT] + rows[new, KIDS_N]
    first = pool[at]
    kept = 0
    for i in range(size):
        child = pool[at + i]
        is_covered = rows[child, MARK] == base
        if rows[child, OP] == rows[new, OP]:
            for j in range(low, high):
                is_covered |= pool[j] == child
        if is_covered:
            unlink(rows, pool, child, parent)
        else:
            pool[to + kept] = child
            kept += 1
    pool[to + kept] = new
    if kept == 0 or pool[to] != first:  # the access child is gone
        pool[to], pool[to + kept] = pool[to + kept], pool[to]
    rows[parent, KIDS_AT], rows[parent, KIDS_N] = to, kept + 1
    awake = wakes(state, rows[parent, OP], pool[to] == new)
    pool = link(rows, pool, state, new, parent, awake)
    relevel(rows, pool, tree.levels, state, parent)
    return pool
