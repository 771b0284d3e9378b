"""Rules as they are written, for algorithms that know `not`, `xor` and `xnor` themselves.

Operands of their node's own operator are taken apart for `and` and `or`; constants and double
negations go. Words are those of `forms`, in prefix order. An `xnor` is the negation of the `xor`
of the same operands, however many there are.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled
from matchwood.index.program import AND, FALSE, NOT, OR, TRUE, XNOR, XOR
from matchwood.papers.forms import Forms, Ints, Longs

_FALSE, _TRUE, _OPEN = 0, 1, 2  # what an operand is: a constant, or words


def plain(program: Ints, start: Longs) -> Forms:
    """Rule i is words[start[i]:start[i + 1]], from postfix programs."""
    longest = int(np.diff(start).max(initial=0))
    words = np.empty(len(program) + longest + 1, np.int32)
    ends = np.zeros(len(start), np.int64)
    _all(program, start, words, ends, np.empty((2, longest + 1), np.int64))
    return Forms(words[: ends[-1]].copy(), ends)


@compiled
def _all(program, start, words, ends, stack):
    """Each rule in postfix order, reversed: that is prefix order, operands from the last on."""
    begin, value = stack[0], stack[1]  # of each operand: its first word, and what it is
    for rule in range(len(start) - 1):
        at = ends[rule]
        top = 0
        for i in range(start[rule], start[rule + 1]):
            word = program[i]
            op, count = -1, 0
            if word < 0:
                op, count = (-word - 1) & 7, (-word - 1) >> 3
            base = top - count
            first = begin[base] if count else at
            result = _OPEN
            if op < 0:
                words[at] = word
                at += 1
            elif op == TRUE or op == FALSE:
                result = _TRUE if op == TRUE else _FALSE
            elif op == NOT:
                result = value[base]
                if result == _OPEN:
                    at = _negate(words, at)
                else:
                    result = 1 - result
            elif op == AND or op == OR:
                at, result = _both(words, op, base, top, begin, value, at)
            else:
                at, result = _parity(words, op, base, top, value, at)
            begin[base], value[base] = first, result
            top = base + 1
        if value[0] != _OPEN:
            words[at] = -(TRUE if value[0] == _TRUE else FALSE) - 1
            at += 1
        words[ends[rule] : at] = words[ends[rule] : at][::-1].copy()
        ends[rule + 1] = at


@compiled
def _negate(words, at):
    """Negate the expression that ends here; the end of what becomes of it."""
    word = words[at - 1]
    op = (-word - 1) & 7 if word < 0 else -1
    if op == NOT:
        return at - 1
    if op == XOR or op == XNOR:
        words[at - 1] = -((-word - 1) + XOR + XNOR - 2 * op) - 1
        return at
    words[at] = -(8 + NOT) - 1
    return at + 1


@compiled
def _both(words, op, base, top, begin, value, at):
    """`and` or `or` over the operands on the stack: its end, and what it is."""
    absorbing = _FALSE if op == AND else _TRUE
    to = begin[base]
    count = 0
    for j in range(base, top):
        if value[j] == absorbing:
            return begin[base], absorbing
        if value[j] != _OPEN:
            continue
        low, high = begin[j], begin[j + 1] if j + 1 < top else at
        last = words[high - 1]
        count += 1
        if last < 0 and (-last - 1) & 7 == op:
            count += ((-last - 1) >> 3) - 1
            high -= 1
        for k in range(low, high):
            words[to] = words[k]
            to += 1
    if count == 0:
        return to, 1 - absorbing
    if count > 1:
        words[to] = -(count * 8 + op) - 1
        to += 1
    return to, _OPEN


@compiled
def _parity(words, op, base, top, value, at):
    """`xor` or `xnor`, where n operands of an `xnor` are n - 1 negations."""
    flips = (top - base - 1) & 1 if op == XNOR else 0
    count = 0
    for j in range(base, top):
        if value[j] == _OPEN:
            count += 1
        else:
            flips ^= value[j]
    if count == 0:
        return at, flips
    if count == 1:
        return (_negate(words, at) if flips else at), _OPEN
    words[at] = -(count * 8 + (XNOR if flips else XOR)) - 1
    return at + 1, _OPEN
