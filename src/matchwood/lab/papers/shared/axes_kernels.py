"""Kernels that turn programs into constraints on axes, and the codes that axes use."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import AND, FALSE, TRUE, atom_of, is_negated, operator_of

# The code of an event on an axis for which it has no value.
MISSING = -1

# The lowest code of an axis, which is the low end of an interval that has none of its own.
FIRST = 0

# Bits of a code.
BITS = 30

# The highest code of an axis, which is the high end of an interval that has none of its own.
LAST = 1 << BITS

# Why a rule is refused: it has an operator other than one `and`.
OTHER = 1

# Why a rule is refused: one of its predicates is not a set of intervals of values.
NO_INTERVAL = 2


@compiled
def first_refused(words, start, axis):
    """The first rule that is no conjunction of intervals, and why; -1 where there is none."""
    for rule in range(len(start) - 1):
        for i in range(start[rule], start[rule + 1]):
            word = words[i]
            if word >= 0:
                if axis[atom_of(word)] < 0:
                    return rule, NO_INTERVAL
            elif i > start[rule] or operator_of(word) not in (AND, TRUE, FALSE):
                return rule, OTHER
    return -1, 0


@compiled
def constraints(words, start, axis_of, atom_start, atom_low, atom_high):
    """The arrays of `Constraints`."""
    room = np.int64(len(start))
    for word in words:
        if word >= 0:
            room += atom_start[atom_of(word) + 1] - atom_start[atom_of(word)] + 1
    rule_start = np.zeros(len(start), np.int64)
    axis = np.empty(len(words) + 1, np.int32)
    span = np.zeros(len(words) + 2, np.int64)
    low = np.empty(room, np.int32)
    high = np.empty(room, np.int32)
    top = 0  # constraints
    end = np.int64(0)  # intervals
    for rule in range(len(start) - 1):
        word = words[start[rule]]
        if word < 0 and operator_of(word) == FALSE:
            axis[top] = -1
            top += 1
            span[top] = end
        literals = words[start[rule] + (word < 0) : start[rule + 1]].copy()
        for i in range(1, len(literals)):  # by axis; rules are short
            j = i
            while j > 0 and axis_of[atom_of(literals[j - 1])] > axis_of[atom_of(literals[j])]:
                literals[j - 1], literals[j] = literals[j], literals[j - 1]
                j -= 1
        for i in range(len(literals)):
            on = axis_of[atom_of(literals[i])]
            other_low, other_high = _intervals(literals[i], atom_start, atom_low, atom_high)
            if i > 0 and axis_of[atom_of(literals[i - 1])] == on:
                begin = span[top - 1]
                before_low, before_high = low[begin:end].copy(), high[begin:end].copy()
                end = begin
            else:
                axis[top] = on
                top += 1
                before_low, before_high = np.full(1, FIRST, np.int32), np.full(1, LAST, np.int32)
            a, b = 0, 0
            while a < len(before_low) and b < len(other_low):
                least = max(before_low[a], other_low[b])
                most = min(before_high[a], other_high[b])
                if least <= most:
                    low[end], high[end] = least, most
                    end += 1
                if before_high[a] < other_high[b]:
                    a += 1
                else:
                    b += 1
            span[top] = end
        rule_start[rule + 1] = top
    return (
        rule_start,
        axis[:top].copy(),
        span[: top + 1].copy(),
        low[:end].copy(),
        high[:end].copy(),
    )


@compiled
def _intervals(literal, start, low, high):
    """Where a literal is true: the intervals of its atom, or what is between and around them."""
    begin, end = start[atom_of(literal)], start[atom_of(literal) + 1]
    if not is_negated(literal):
        return low[begin:end].copy(), high[begin:end].copy()
    out_low = np.empty(end - begin + 1, np.int32)
    out_high = np.empty(end - begin + 1, np.int32)
    top = 0
    after = np.int64(FIRST)
    for i in range(begin, end):
        if low[i] > after:
            out_low[top], out_high[top] = after, low[i] - 1
            top += 1
        after = np.int64(high[i]) + 1
    if after <= LAST:
        out_low[top], out_high[top] = after, LAST
        top += 1
    return out_low[:top].copy(), out_high[:top].copy()
