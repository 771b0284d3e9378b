"""Kernels that read rules as they were written, down to conjunctions at one depth."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.kernels.programs import (
    AND,
    FALSE,
    NOT,
    OR,
    negation_of,
    operands_of,
    operator_of,
    pack_operator,
)

# Columns of a word that is still to be written: the end of its subtree in the program, and whether
# it is negated.
_AT, _NEGATED = range(2)


@compiled
def write(program, start, form, form_start, words, out_start):
    """Each rule in prefix order, as it was written; returns how many words were used.

    A rule that has other operators than `and`, `or` and `not` is copied from its form.
    """
    widest = 0
    for rule in range(len(start) - 1):
        widest = max(widest, start[rule + 1] - start[rule])
    begin = np.empty(widest + 1, np.int64)
    todo = np.empty((widest + 1, 2), np.int64)
    used = 0
    for rule in range(len(start) - 1):
        low, high = start[rule], start[rule + 1]
        if _plain(program, low, high):
            _find_operands(program, low, high, begin, todo)
            used = _write_rule(program, low, high, begin, todo, words, used)
        else:
            for i in range(form_start[rule], form_start[rule + 1]):
                words[used] = form[i]
                used += 1
        out_start[rule + 1] = used
    return used


@lean
def _plain(program, low, high):
    """Whether a rule has no operator but `and`, `or` and `not`."""
    for at in range(low, high):
        if program[at] < 0:
            operator = operator_of(program[at])
            if operator != AND and operator != OR and operator != NOT:
                return False
    return True


@lean
def _find_operands(program, low, high, begin, stack):
    """For each word of a rule, from 0 on, where the words of its subtree begin."""
    top = 0
    for at in range(low, high):
        first = at - low
        if program[at] < 0:
            top -= operands_of(program[at])
            first = stack[top, _AT]
        begin[at - low] = first
        stack[top, _AT] = first
        top += 1


@lean
def _write_rule(program, low, high, begin, todo, words, used):
    """A rule in prefix order, its operands in the order of the text, without `not`."""
    todo[0, _AT], todo[0, _NEGATED] = high - low - 1, 0
    top = 1
    while top > 0:
        top -= 1
        at, negated = todo[top, _AT], todo[top, _NEGATED]
        word = program[low + at]
        if word >= 0:
            words[used] = negation_of(word) if negated else word
            used += 1
            continue
        operator, operands = operator_of(word), operands_of(word)
        if operator == NOT:
            negated = 1 - negated
        else:
            if negated:
                operator = OR if operator == AND else AND
            words[used] = pack_operator(operator, operands)
            used += 1
        at -= 1
        for _ in range(operands):  # the last one first, so that the first one is taken first
            todo[top, _AT], todo[top, _NEGATED] = at, negated
            top += 1
            at = begin[at] - 1
    return used


# Columns of an operator that `leaves_at` is inside of: the operator, its level, and how many of its
# operands are still to come.
_OPERATOR, _LEVEL, _TO_COME = range(3)


@compiled
def leaves_at(depth, form, form_start, words, start, leaf_start, literals):
    """Fill the arrays of `Leaves`; returns the numbers of words and of leaves.

    Even levels are ANDs, odd ones are ORs; an operator below one of its own kind is an operand of
    one of the other kind that has no other operand.
    """
    widest = 0
    for rule in range(len(form_start) - 1):
        widest = max(widest, form_start[rule + 1] - form_start[rule])
    stack = np.empty((widest + 1, 3), np.int64)
    used, leaf, at_literal = 0, 0, 0
    for rule in range(len(form_start) - 1):
        top = 0
        at = form_start[rule]
        while at < form_start[rule + 1]:
            word = form[at]
            at += 1
            if word < 0 and operator_of(word) == FALSE:
                continue
            level = stack[top - 1, _LEVEL] + 1 if top > 0 else 0
            size = 1 if word >= 0 else _literals_of(form, at, word)
            is_leaf = word >= 0 or (size == operands_of(word) and top > 0 and level >= depth)
            is_leaf = is_leaf or operands_of(word) == 0  # `true`
            if is_leaf:
                if word >= 0:
                    at -= 1
                at_literal = _take(form, at, size, literals, at_literal)
                at += size
                words[used] = leaf
                used += 1
                leaf += 1
                leaf_start[leaf] = at_literal
                while top > 0:
                    stack[top - 1, _TO_COME] -= 1
                    if stack[top - 1, _TO_COME] > 0:
                        break
                    top -= 1
                continue
            operator = operator_of(word)
            if top > 0 and stack[top - 1, _OPERATOR] == operator:
                words[used] = pack_operator(OR if operator == AND else AND, 1)
                used += 1
                level += 1
            elif top == 0 and operator == OR:
                level = 1  # below an AND that is put on top
            words[used] = word
            used += 1
            stack[top, _OPERATOR], stack[top, _LEVEL] = operator, level
            stack[top, _TO_COME] = operands_of(word)
            top += 1
        start[rule + 1] = used
    return used, leaf


@lean
def _literals_of(form, at, word):
    """How many literals an AND begins with; -1 for an OR."""
    if operator_of(word) == OR:
        return -1
    count = 0
    while count < operands_of(word) and form[at + count] >= 0:
        count += 1
    return count


@lean
def _take(form, at, size, literals, end):
    """Append literals in ascending order, each once; returns where they end."""
    begin = end
    for i in range(at, at + size):
        literal = form[i]
        j = end
        while j > begin and literals[j - 1] > literal:
            j -= 1
        if j > begin and literals[j - 1] == literal:
            continue
        for k in range(end, j, -1):
            literals[k] = literals[k - 1]
        literals[j] = literal
        end += 1
    return end
