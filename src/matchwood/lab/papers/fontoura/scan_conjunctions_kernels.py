"""Kernels of Scan with conjunction match: laying out trees, and evaluating them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.kernels.programs import AND, operands_of, operator_of

# Columns of an operator that `lay_out` is inside of: the position of the word that gets its end,
# and how many of its operands are still to come.
_END_AT, _TO_COME = range(2)

# Columns of an operator that `scan` is inside of: whether it is an `and`, and where it ends.
_IS_AND, _END = range(2)

# How many columns an operator has, in both cases.
STACK_COLUMNS = 2


@lean
def lay_out(words, start, numbers, tree_start, tree, stack):
    """Write the trees; returns the depth of the deepest."""
    leaf, deepest = 0, 0
    for rule in range(len(start) - 1):
        out = tree_start[rule]
        top = 0
        for at in range(start[rule], start[rule + 1]):
            if words[at] < 0:
                tree[out] = words[at]
                stack[top, _END_AT], stack[top, _TO_COME] = out + 1, operands_of(words[at])
                out += 2
                top += 1
                deepest = max(deepest, top)
                continue
            tree[out] = numbers[leaf]
            leaf += 1
            out += 1
            while top > 0:
                stack[top - 1, _TO_COME] -= 1
                if stack[top - 1, _TO_COME] > 0:
                    break
                top -= 1
                tree[stack[top, _END_AT]] = out - tree_start[rule]
    return deepest


@lean
def scan(rules, conjunctions, true, seen, tree_start, tree, stack, out):
    """The rules that are true, and how many were evaluated. `true` and `seen` are left at zero."""
    for c in conjunctions:
        true[c] = 1
    for rule in rules:
        seen[rule] = 1
    top, candidates = 0, 0
    for rule in range(len(seen)):  # in the order of trees, which uses the cache well
        if seen[rule]:
            seen[rule] = 0
            candidates += 1
            if _truth(tree, tree_start[rule], true, stack):
                out[top] = rule
                top += 1
    for c in conjunctions:
        true[c] = 0
    return top, candidates


@lean
def _truth(tree, begin, true, stack):
    """The truth of a tree, from the top; each operator is left as soon as it is decided."""
    at = begin
    top = 0
    while True:
        while tree[at] < 0:
            stack[top, _IS_AND] = operator_of(tree[at]) == AND
            stack[top, _END] = begin + tree[at + 1]
            at += 2
            top += 1
        value = true[tree[at]]
        at += 1
        while top > 0 and (value != stack[top - 1, _IS_AND] or at == stack[top - 1, _END]):
            top -= 1
            at = stack[top, _END]
        if top == 0:
            return value
