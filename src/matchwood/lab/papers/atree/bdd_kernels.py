"""Kernels of the shared decision diagram: its nodes, joins, sweeps and matching."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.kernels.programs import AND, TRUE, operands_of, operator_of

# Columns of a node: its variable, the node for false and for true, its result for the last event,
# and the next node in the chain of the unique table or of free nodes.
VARIABLE, LOW, HIGH, MEMO, _NEXT = range(5)
# The two nodes that are constants.
NEVER, ALWAYS = 0, 1
# The root of a number without a rule, and the variable of a free node.
GONE = -1
# Fields of the state: nodes ever used, the first free node, and nodes that are live.
_TOP, _FREE, LIVE = range(3)


@compiled
def number_variables(words, variable_of, count):
    """Number the new literals in order of appearance; returns the number of all."""
    for word in words:
        if word >= 0 and variable_of[word] < 0:
            variable_of[word] = count
            count += 1
    return count


@lean
def _bucket(variable, low, high, size):
    mixed = np.uint64(variable) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ np.uint64(low)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(high)) * np.uint64(0x94D049BB133111EB)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


@lean
def _node(rows, table, state, variable, low, high):
    """The one node with this variable and these branches; -1 where there is no room for it."""
    if low == high:
        return np.int64(low)
    bucket = _bucket(variable, low, high, len(table))
    node = np.int64(table[bucket])
    while node >= 0:
        row = rows[node]
        if row[VARIABLE] == variable and row[LOW] == low and row[HIGH] == high:
            return node
        node = np.int64(row[_NEXT])
    node = state[_FREE]
    if node >= 0:
        state[_FREE] = rows[node, _NEXT]
    elif state[_TOP] < len(rows):
        node = state[_TOP]
        state[_TOP] += 1
    else:
        return np.int64(-1)
    row = rows[node]
    row[VARIABLE], row[LOW], row[HIGH], row[MEMO] = variable, low, high, 0
    row[_NEXT] = table[bucket]
    table[bucket] = node
    return node


@lean
def _settled(op, left, right):
    """The result of a join where it does not depend on branches, otherwise -1."""
    absorbing = NEVER if op == AND else ALWAYS
    if left == absorbing or right == absorbing:
        return np.int64(absorbing)
    if left == right or right == 1 - absorbing:
        return left
    return right if left == 1 - absorbing else np.int64(-1)


@lean
def _join(rows, table, state, joins, op, left, right, space):
    """Bryant's apply: `and` or `or` of two nodes; -1 where there is no room for the result."""
    lefts, rights, stage, lows = space[0], space[1], space[2], space[3]
    lefts[0], rights[0], stage[0] = left, right, 0
    depth = 1
    result = np.int64(-1)
    while depth > 0:
        at = depth - 1
        left, right = lefts[at], rights[at]
        variable = min(rows[left, VARIABLE], rows[right, VARIABLE])
        memo = joins[_bucket(op, left, right, len(joins))]
        if stage[at] == 0:
            result = _settled(op, left, right)
            if result < 0 and memo[0] == op and memo[1] == left and memo[2] == right:
                result = np.int64(memo[3])
            if result >= 0:
                depth -= 1
                continue
            branch = LOW
        elif stage[at] == 1:
            lows[at] = result
            branch = HIGH
        else:
            result = _node(rows, table, state, variable, lows[at], result)
            if result < 0:
                return result
            memo[0], memo[1], memo[2], memo[3] = op, left, right, result
            depth -= 1
            continue
        stage[at] += 1
        a = rows[left, branch] if rows[left, VARIABLE] == variable else left
        b = rows[right, branch] if rows[right, VARIABLE] == variable else right
        lefts[depth], rights[depth], stage[depth] = max(a, b), min(a, b), 0
        depth += 1
    return result


@lean
def join_all(
    rows, table, state, joins, variable_of, words, start, numbers, first, root, space
):  # fmt: skip
    """Add rules from `first` on; returns the first that there was no room for."""
    operands = space[4]
    for i in range(first, len(numbers)):
        top = 0
        for at in range(start[i + 1] - 1, start[i] - 1, -1):
            word = words[at]
            if word >= 0:
                node = _node(rows, table, state, variable_of[word], NEVER, ALWAYS)
            else:
                op, count = np.int64(operator_of(word)), operands_of(word)
                if count == 0:
                    node = np.int64(ALWAYS if op == TRUE else NEVER)
                else:
                    # from the operand that was written last, whose variables come last
                    top -= count
                    node = operands[top]
                    for j in range(top + 1, top + count):
                        left, right = max(node, operands[j]), min(node, operands[j])
                        node = _join(rows, table, state, joins, op, left, right, space)
                        if node < 0:
                            return i
            if node < 0:
                return i
            operands[top] = node
            top += 1
        root[numbers[i]] = operands[0]
    return len(numbers)


@compiled
def sweep(rows, table, state, root):
    """Free the nodes that no root reaches."""
    reached = np.zeros(state[_TOP], np.uint8)
    reached[:2] = 1
    todo = np.empty(state[_TOP] + 2, np.int32)
    live = 0
    for first in root:
        if first < 0 or reached[first]:
            continue
        todo[0] = first
        reached[first] = 1
        top = 1
        while top > 0:
            top -= 1
            node = todo[top]
            live += 1
            for branch in (LOW, HIGH):
                child = rows[node, branch]
                if not reached[child]:
                    reached[child] = 1
                    todo[top] = child
                    top += 1
    state[LIVE] = live
    for node in range(2, state[_TOP]):
        if not reached[node]:
            rows[node, VARIABLE] = GONE
    table[:] = GONE
    rehash(rows, table, state)


@compiled
def compact(rows, state, root):
    """The nodes that roots reach, each before the one that follows if its variable is false."""
    number = np.full(state[_TOP], GONE, np.int32)
    number[0], number[1] = 0, 1
    order = np.empty(state[_TOP] + 2, np.int32)
    todo = np.empty(state[_TOP] + 2, np.int32)
    count = 2
    for first in root:
        if first < 0:
            continue
        todo[0] = first
        top = 1
        while top > 0:
            top -= 1
            node = todo[top]
            while number[node] < 0:
                number[node] = count
                order[count] = node
                count += 1
                if number[rows[node, HIGH]] < 0:
                    todo[top] = rows[node, HIGH]
                    top += 1
                node = rows[node, LOW]
    packed = np.empty((count, 5), np.int32)
    for new in range(2, count):
        old = order[new]
        packed[new, VARIABLE] = rows[old, VARIABLE]
        packed[new, LOW] = number[rows[old, LOW]]
        packed[new, HIGH] = number[rows[old, HIGH]]
    for rule in range(len(root)):
        if root[rule] >= 0:
            root[rule] = number[root[rule]]
    state[_TOP], state[LIVE] = count, count - 2
    return packed


@lean
def rehash(rows, table, state):
    """Rebuild the unique table and the list of free nodes."""
    state[_FREE] = GONE
    for node in range(state[_TOP] - 1, 1, -1):
        row = rows[node]
        if row[VARIABLE] < 0:
            row[_NEXT] = state[_FREE]
            state[_FREE] = node
        else:
            bucket = _bucket(row[VARIABLE], row[LOW], row[HIGH], len(table))
            row[_NEXT] = table[bucket]
            table[bucket] = node


@lean
def follow(rows, root, truth, event, path, out):
    """Write the true rules to `out`; returns how many, and how many nodes were visited."""
    match_count = 0
    visited = 0
    waiting = 2 * event
    for rule in range(len(root)):
        node = root[rule]
        if node < 0:
            continue
        depth = 0
        while node > ALWAYS and rows[node, MEMO] < waiting:
            path[depth] = node
            depth += 1
            node = rows[node, HIGH] if truth[rows[node, VARIABLE]] else rows[node, LOW]
        visited += depth
        result = node if node <= ALWAYS else rows[node, MEMO] - waiting
        for i in range(depth):
            rows[path[i], MEMO] = waiting + result
        if result:
            out[match_count] = rule
            match_count += 1
    return match_count, visited
