"""Reorganisation by content: a node takes up smaller ones of its operator as they are.

`a or b or c or d` uses the node `a or b or c` where there is one, whoever wrote it: a greedy cover
of a node's operands by the nodes that are subsets of it, the largest first. Nodes are looked at
smaller operand sets first, so the result does not depend on the order in which rules came, and
nothing has to be adjusted when a smaller rule comes after a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.nodes import Shared

MAX_OPERANDS = 8_000
_TRIED = 32  # candidates looked at for each operand
_WIDEST = 4096  # operands of a node that is covered


def reuse(shared: Shared) -> Shared:
    """The same nodes over fewer operands, in an order in which operands still come first."""
    count = len(shared.operator)
    if count < 2:
        return shared
    sizes = np.diff(shared.start)
    by_size = np.argsort(sizes, kind="stable")
    start, operands = _cover(by_size, shared.operator, shared.start, shared.operands, shared.first)
    number = _order(start, operands, shared.first)
    return Shared(
        shared.first,
        *_renumber(number, shared.operator, start, operands, shared.roots, shared.first),
    )


def narrow(shared: Shared, most: int = MAX_OPERANDS) -> Shared:
    """No node with more operands than a record can count: wide ones become nodes of nodes."""
    sizes = np.diff(shared.start)
    if not (sizes > most).any():
        return shared
    operator = shared.operator.tolist()
    lists = np.split(shared.operands, shared.start[1:-1])
    for node in np.flatnonzero(sizes > most).tolist():
        refs: NDArray[Any] = lists[node]
        while len(refs) > most:
            pieces = np.array_split(refs, -(-len(refs) // most))
            refs = shared.first + np.arange(len(operator), len(operator) + len(pieces))
            operator += [operator[node]] * len(pieces)
            lists += pieces
        lists[node] = refs.astype(np.int32)
    start = np.concatenate([[0], np.cumsum([len(refs) for refs in lists])]).astype(np.int64)
    operands = np.concatenate(lists).astype(np.int32)
    kinds = np.array(operator, np.uint8)
    number = _order(start, operands, shared.first)
    return Shared(
        shared.first, *_renumber(number, kinds, start, operands, shared.roots, shared.first)
    )


@compiled
def _subset(small, large, start, operands):
    """Whether all operands of one node are operands of another; both are sorted."""
    i, j = start[small], start[large]
    i_end, j_end = start[small + 1], start[large + 1]
    while i < i_end:
        while j < j_end and operands[j] < operands[i]:
            j += 1
        if j == j_end or operands[j] != operands[i]:
            return False
        i += 1
        j += 1
    return True


@compiled
def _cover(by_size, operator, start, operands, first):
    """New operands of every node, given that smaller nodes come first in `by_size`."""
    count = len(operator)
    uses = np.zeros(first + count, np.int32)
    for i in range(start[count]):
        uses[operands[i]] += 1
    # nodes by operator and rarest operand, as linked lists
    head = np.full((2, first + count), -1, np.int32)
    after = np.full(count, -1, np.int32)
    new_operands = operands.copy()
    size = np.empty(count, np.int64)
    candidates = np.empty(_WIDEST, np.int32)
    covered = np.zeros(_WIDEST, np.uint8)
    for at in range(count):
        node = by_size[at]
        low, high = start[node], start[node + 1]
        kind = operator[node] & 1
        size[node] = high - low
        if 2 < high - low <= _WIDEST:
            found = 0
            for i in range(low, high):
                other = head[kind, operands[i]]
                tried = 0
                while other >= 0 and tried < _TRIED and found < _WIDEST:
                    if start[other + 1] - start[other] < high - low:
                        if _subset(other, node, start, operands):
                            candidates[found] = other
                            found += 1
                    other = after[other]
                    tried += 1
            if found > 0:
                size[node] = _greedy(
                    node, candidates[:found], covered, start, operands, new_operands, first
                )
        rarest = operands[low]
        for i in range(low, high):
            if uses[operands[i]] < uses[rarest]:
                rarest = operands[i]
        after[node] = head[kind, rarest]
        head[kind, rarest] = node
    total = np.int64(0)
    for node in range(count):
        total += size[node]
    new_start = np.zeros(count + 1, np.int64)
    packed = np.empty(total, np.int32)
    for node in range(count):
        new_start[node + 1] = new_start[node] + size[node]
        for i in range(size[node]):
            packed[new_start[node] + i] = new_operands[start[node] + i]
    return new_start, packed


@compiled
def _greedy(node, candidates, covered, start, operands, new_operands, first):
    """Cover the operands of a node by candidates, most still uncovered first; how many remain."""
    low, high = start[node], start[node + 1]
    for i in range(high - low):
        covered[i] = 0
    taken = 0
    while True:
        best, gain = -1, 1
        for other in candidates:
            mine = 0
            j = low
            for i in range(start[other], start[other + 1]):
                while operands[j] < operands[i]:
                    j += 1
                mine += 1 - covered[j - low]
            if mine > gain or (mine == gain and best >= 0 and other < best):
                best, gain = other, mine
        if best < 0:
            break
        j = low
        for i in range(start[best], start[best + 1]):
            while operands[j] < operands[i]:
                j += 1
            covered[j - low] = 1
        new_operands[low + taken] = first + best
        taken += 1
    # what was taken stands first for now; operands still uncovered follow
    for i in range(high - low):
        if not covered[i]:
            new_operands[low + taken] = operands[low + i]
            taken += 1
    return taken


@compiled
def _order(start, operands, first):
    """A number for each node, above those of its operands."""
    count = len(start) - 1
    number = np.full(count, -1, np.int64)
    stack = np.empty(count + 1, np.int64)
    place = start[:-1].copy()
    given = 0
    for root in range(count):
        if number[root] >= 0:
            continue
        stack[0] = root
        top = 1
        while top > 0:
            node = stack[top - 1]
            descended = False
            while place[node] < start[node + 1]:
                ref = operands[place[node]]
                place[node] += 1
                if ref >= first and number[ref - first] < 0:
                    stack[top] = ref - first
                    top += 1
                    descended = True
                    break
            if not descended:
                top -= 1
                number[node] = given
                given += 1
    return number


@compiled
def _renumber(number, operator, start, operands, roots, first):
    count = len(operator)
    old = np.empty(count, np.int64)
    for node in range(count):
        old[number[node]] = node
    new_operator = np.empty(count, np.uint8)
    new_start = np.zeros(count + 1, np.int64)
    new_operands = np.empty(start[count], np.int32)
    at = 0
    for node in range(count):
        new_operator[node] = operator[old[node]]
        for i in range(start[old[node]], start[old[node] + 1]):
            ref = operands[i]
            new_operands[at] = ref if ref < first else first + number[ref - first]
            at += 1
        new_start[node + 1] = at
    new_roots = np.empty(len(roots), np.int32)
    for rule in range(len(roots)):
        ref = roots[rule]
        new_roots[rule] = ref if ref < first else first + number[ref - first]
    return new_operator, new_start, new_operands, new_roots
