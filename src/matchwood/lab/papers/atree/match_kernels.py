"""Matching events with A-Tree: Ji and Jacobsen, SIGMOD 2021, §5, Algorithm 6.

`on_demand` has both optimisations of §5.2: false is never propagated, and an `and` is woken by its
access child alone and then looks at the others itself; results carry the signature of the event.
`propagate` sends every result to every parent: with zero suppression only true, otherwise false as
well, and undefined never. There a node counts its true and its false operands.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.programs import AND, NOT, OR, XOR, negation_of
from matchwood.lab.papers.atree.tree_kernels import (
    HIGHEST,
    KIDS_AT,
    KIDS_N,
    LEAF,
    LEVEL,
    OP,
    PAR_AT,
    PUSHED,
    RULE,
)

# The truth of a node, as far as it is known.
_UNDEFINED, _FALSE, _TRUE = 0, 1, 2


@inlined
def _open_queues(levels, highest, queue_at, tail):
    """One queue per level, one after the other: each has room for all nodes of its level."""
    at = 0
    for level in range(highest + 1):
        queue_at[level] = at
        tail[level] = at
        at += levels[level]


@inlined
def _emit(rows, after, node, out, match_count):
    rule = rows[node, RULE]
    while rule >= 0:
        out[match_count] = rule
        match_count += 1
        rule = after[rule]
    return match_count


@inlined
def _wake(rows, pool, node, waiting, signature, queue, tail):
    """Queue the parents that the node wakes, each once."""
    low = rows[node, PAR_AT]
    for i in range(low, low + rows[node, PUSHED]):
        parent = pool[i]
        if signature[parent] < waiting:
            signature[parent] = waiting
            level = rows[parent, LEVEL]
            queue[tail[level]] = parent
            tail[level] += 1


@lean
def on_demand(
    rows, pool, leaf_of, levels, after, state, true, signature, event, queue, queue_at, tail, out
):
    """Write the true rules to `out`; returns how many, nodes visited, and nodes of rules.

    The signature of a node is 2 * event when it waits in a queue, one more when it is true.
    """
    highest = state[HIGHEST]
    _open_queues(levels, highest, queue_at, tail)
    waiting = 2 * event
    match_count = 0
    visited = 0
    candidates = 0
    for literal in true:
        node = leaf_of[literal]
        if node < 0:
            continue
        visited += 1
        candidates += rows[node, RULE] >= 0
        signature[node] = waiting + 1
        match_count = _emit(rows, after, node, out, match_count)
        _wake(rows, pool, node, waiting, signature, queue, tail)
    for level in range(2, highest + 1):
        i = queue_at[level]
        while i < tail[level]:
            node = queue[i]
            i += 1
            visited += 1
            candidates += rows[node, RULE] >= 0
            if rows[node, OP] == AND:
                low = rows[node, KIDS_AT]
                j = low + 1
                high = low + rows[node, KIDS_N]
                while j < high and signature[pool[j]] == waiting + 1:
                    j += 1
                if j < high:
                    continue
            signature[node] = waiting + 1
            match_count = _emit(rows, after, node, out, match_count)
            _wake(rows, pool, node, waiting, signature, queue, tail)
    return match_count, visited, candidates


@inlined
def _evaluate(rows, node, trues, falses):
    """Table 2: the result of a node, by how many of its operands are true and false."""
    op, count = rows[node, OP], rows[node, KIDS_N]
    if op == AND:
        if falses[node]:
            return _FALSE
        return _TRUE if trues[node] == count else _UNDEFINED
    if op == OR:
        if trues[node]:
            return _TRUE
        return _FALSE if falses[node] == count else _UNDEFINED
    if op == LEAF:
        return _TRUE if trues[node] else _FALSE
    if trues[node] + falses[node] < count:
        return _UNDEFINED
    if op == NOT:
        return _FALSE if trues[node] else _TRUE
    return _TRUE if (trues[node] & 1) == (op == XOR) else _FALSE


@lean
def propagate(
    rows, pool, leaf_of, levels, after, state, true, suppress, trues, falses, queue, queue_at, tail,
    out,
):  # fmt: skip
    """As `on_demand`; without `suppress` false results are propagated too."""
    highest = state[HIGHEST]
    _open_queues(levels, highest, queue_at, tail)
    match_count = 0
    visited = 0
    candidates = 0
    for literal in true:
        node = leaf_of[literal]
        if node >= 0:
            trues[node] = 1
            queue[tail[1]] = node
            tail[1] += 1
        node = leaf_of[negation_of(literal)]
        if node >= 0 and not suppress:
            falses[node] = 1
            queue[tail[1]] = node
            tail[1] += 1
    for level in range(1, highest + 1):
        i = queue_at[level]
        while i < tail[level]:
            node = queue[i]
            i += 1
            visited += 1
            candidates += rows[node, RULE] >= 0
            result = _evaluate(rows, node, trues, falses)
            trues[node] = 0
            falses[node] = 0
            if result == _UNDEFINED or (suppress and result == _FALSE):
                continue
            if result == _TRUE:
                match_count = _emit(rows, after, node, out, match_count)
            low = rows[node, PAR_AT]
            for j in range(low, low + rows[node, PUSHED]):
                parent = pool[j]
                if trues[parent] + falses[parent] == 0:
                    at = rows[parent, LEVEL]
                    queue[tail[at]] = parent
                    tail[at] += 1
                if result == _TRUE:
                    trues[parent] += 1
                else:
                    falses[parent] += 1
    return match_count, visited, candidates
