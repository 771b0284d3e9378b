"""Kernels of Interval ID: LABEL and MATCH."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, lean
from matchwood.kernels.programs import AND, operands_of, operator_of

# The paper's M: the end of every rule's line, and the most leaves that a rule may have.
MOST = (1 << 16) - 1


@codec
def pack_leaf(rule, begin, end):
    """The annotation of a leaf: | rule: 32 bits | begin: 16 bits | end: 16 bits |."""
    return np.uint64(rule) << np.uint64(32) | np.uint64(begin) << np.uint64(16) | np.uint64(end)


@codec
def rule_of(leaf):
    """The rule of an annotation."""
    return np.int64(leaf >> np.uint64(32))


@codec
def interval_of(leaf):
    """(begin, end) of an annotation."""
    most = np.uint64(MOST)
    return np.int64(leaf >> np.uint64(16) & most), np.int64(leaf & most)


@compiled
def count_leaves(words, start):
    """The leaves below each word, and the depth of the deepest rule."""
    sizes = np.ones(len(words), np.int64)
    depths = np.ones(len(words), np.int32)
    stack = np.empty(len(words), np.int64)
    deepest = 0
    for rule in range(len(start) - 1):
        top = 0
        for at in range(start[rule + 1] - 1, start[rule] - 1, -1):
            if words[at] < 0:
                sizes[at] = 0
                for _ in range(operands_of(words[at])):
                    top -= 1
                    sizes[at] += sizes[stack[top]]
                    depths[at] = max(depths[at], depths[stack[top]] + 1)
            stack[top] = at
            top += 1
        if start[rule + 1] > start[rule]:
            deepest = max(deepest, depths[start[rule]])
    return sizes, deepest


# Columns of an operator that `label` is inside of: the operator, how many operands it has, how many
# of them were begun, the bounds of its own interval, how many leaves of the rule lie to the left of
# it, and where the interval of its next operand begins.
_OPERATOR, _OPERANDS, _DONE, _BEGIN, _END, _LEFT, _CURRENT = range(7)


@lean
def label(words, start, sizes, most, stack, out):
    """LABEL, with a stack of the operators above a word for its recursion."""
    leaf = 0
    for rule in range(len(start) - 1):
        top, left = 0, 0
        for at in range(start[rule], start[rule + 1]):
            begin, end = 1, most
            if top > 0:
                node = stack[top - 1]
                begin, end = node[_BEGIN], node[_END]
                if node[_OPERATOR] == AND:
                    if node[_DONE] > 0:
                        begin = node[_CURRENT]
                    if node[_DONE] + 1 < node[_OPERANDS]:
                        if node[_DONE] == 0:
                            end = node[_LEFT] + sizes[at]
                        else:
                            end = node[_CURRENT] + sizes[at] - 1
                        node[_CURRENT] = end + 1
                node[_DONE] += 1
            if words[at] < 0:
                node = stack[top]
                node[_OPERATOR], node[_OPERANDS] = operator_of(words[at]), operands_of(words[at])
                node[_DONE], node[_BEGIN], node[_END], node[_LEFT] = 0, begin, end, left
                top += 1
            else:
                out[leaf] = pack_leaf(rule, begin, end)
                leaf += 1
                left += 1
                while top > 0 and stack[top - 1][_DONE] == stack[top - 1][_OPERANDS]:
                    top -= 1


@lean
def match(annotations, matched, mark, out):
    """MATCH for one rule after the other: the rules that are true, and the last mark.

    matched[i] is true of a rule if it holds the rule's mark, so that nothing need be cleared.
    """
    top = 0
    rule = -1
    for word in annotations:
        if rule_of(word) != rule:
            if rule >= 0 and matched[MOST] == mark:
                out[top] = rule
                top += 1
            rule = rule_of(word)
            mark += 1
            matched[0] = mark
        begin, end = interval_of(word)
        if matched[begin - 1] == mark:
            matched[end] = mark
    if rule >= 0 and matched[MOST] == mark:
        out[top] = rule
        top += 1
    return top, mark
