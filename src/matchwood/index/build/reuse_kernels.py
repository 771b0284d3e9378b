"""Covers of operand sets by smaller nodes, and new numbers for nodes; `reuse` explains them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled

# Candidates that are tried per operand.
_TRIED = 32

# Operands of a node that is covered, at most; wider ones stay as they are.
_WIDEST = 4096


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
def cover_nodes(by_size, operator, start, operands, first):
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
def topological_numbers(start, operands, first):
    """A number for each node, above those of its operands."""
    count = len(start) - 1
    number = np.full(count, -1, np.int64)
    stack = np.empty(count + 1, np.int64)
    next_operand = start[:-1].copy()  # of each node
    numbered = 0
    for root in range(count):
        if number[root] >= 0:
            continue
        stack[0] = root
        top = 1
        while top > 0:
            node = stack[top - 1]
            descended = False
            while next_operand[node] < start[node + 1]:
                ref = operands[next_operand[node]]
                next_operand[node] += 1
                if ref >= first and number[ref - first] < 0:
                    stack[top] = ref - first
                    top += 1
                    descended = True
                    break
            if not descended:
                top -= 1
                number[node] = numbered
                numbered += 1
    return number


@compiled
def renumber_nodes(number, operator, start, operands, roots, first):
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
