"""Kernels of the expansion of rules into disjunctive normal form."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.kernels.programs import AND, FALSE, OR, TRUE, negation_of, operands_of, operator_of


@compiled
def expand(words, word_start, budget):
    """Read each rule from right to left, so that operands come before their operator.

    Normal forms stand one after the other as on a stack, `counts` saying how many conjunctions
    each has: an OR only adds up counts, an AND multiplies the last two until one is left.
    """
    start = np.zeros(1024, np.int64)
    literals = np.empty(4096, np.int32)
    rules = np.empty(1024, np.int32)
    counts = np.empty(1024, np.int64)
    done = 0  # conjunctions
    for rule in range(len(word_start) - 1):
        before = done
        top = 0
        for at in range(word_start[rule + 1] - 1, word_start[rule] - 1, -1):
            word = words[at]
            operator, operands = operator_of(word), operands_of(word)
            if word >= 0 or operator == TRUE or operator == FALSE:
                if top == len(counts):
                    counts = _larger(counts, top + 1)
                counts[top] = 0
                if word >= 0 or operator == TRUE:
                    if done + 2 > len(start):
                        start = _larger(start, done + 2)
                    if start[done] + 1 > len(literals):
                        literals = _larger(literals, start[done] + 1)
                    start[done + 1] = start[done]
                    if word >= 0:
                        literals[start[done]] = word
                        start[done + 1] += 1
                    done += 1
                    counts[top] = 1
                top += 1
            elif operator == OR:
                for _ in range(operands - 1):
                    top -= 1
                    counts[top - 1] += counts[top]
            elif operator == AND:
                for _ in range(operands - 1):
                    top -= 1
                    start, literals, made = _multiply(
                        start, literals, done, counts[top - 1], counts[top], budget
                    )
                    if made < 0:
                        return start, literals, rules, rule
                    done += made - counts[top - 1] - counts[top]
                    counts[top - 1] = made
        if done > len(rules):
            rules = _larger(rules, done)
        rules[before:done] = rule
        if start[done] > budget:
            return start, literals, rules, rule
    return start[: done + 1].copy(), literals[: start[done]].copy(), rules[:done].copy(), -1


@compiled
def _larger(array, least):
    larger = np.zeros(2 * least, array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _multiply(start, literals, done, left, right, budget):
    """The last `left` + `right` conjunctions replaced by the product of both; how many that is.

    The product is written behind them and then moved; -1 where it is over the budget.
    """
    first = done - right - left
    made = done
    for i in range(first, first + left):
        for j in range(first + left, done):
            width = start[i + 1] - start[i] + start[j + 1] - start[j]
            if start[made] + width > budget:
                return start, literals, -1
            if made + 2 > len(start):
                start = _larger(start, made + 2)
            if start[made] + width > len(literals):
                literals = _larger(literals, start[made] + width)
            end = _unite(literals, start[i], start[i + 1], start[j], start[j + 1], start[made])
            if end >= 0:
                start[made + 1] = end
                made += 1
    low, shift = start[done], start[done] - start[first]
    for i in range(low, start[made]):
        literals[i - shift] = literals[i]
    for i in range(done, made + 1):
        start[first + i - done] = start[i] - shift
    return start, literals, made - done


@lean
def _unite(literals, i, i_end, j, j_end, at):
    """Two sorted conjunctions as one; where it ends, -1 if a literal meets its negation."""
    begin = at
    while i < i_end or j < j_end:
        if j == j_end or (i < i_end and literals[i] <= literals[j]):
            literal = literals[i]
            i += 1
        else:
            literal = literals[j]
            j += 1
        if at > begin and literals[at - 1] == literal:
            continue
        if at > begin and literals[at - 1] == negation_of(literal):
            return -1
        literals[at] = literal
        at += 1
    return at


@lean
def once(rules, seen, out):
    """Write each rule to `out` once; returns how many. `seen` is zero before and after."""
    top = 0
    for rule in rules:
        if not seen[rule]:
            seen[rule] = 1
            out[top] = rule
            top += 1
    for i in range(top):
        seen[out[i]] = 0
    return top
