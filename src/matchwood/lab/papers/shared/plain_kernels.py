"""Kernels that simplify rules, keeping `not`, `xor` and `xnor`."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import (
    AND,
    FALSE,
    NOT,
    OR,
    TRUE,
    XNOR,
    XOR,
    operands_of,
    operator_of,
    pack_operator,
)

# What an operand on the stack is: one of the two constants, or an expression that has words.
_FALSE, _TRUE, _OPEN = range(3)


@compiled
def simplify_all(program, start, words, ends, stack):
    """Each rule in postfix order, reversed: that is prefix order, operands from the last on."""
    begin, value = stack[0], stack[1]  # of each operand: its first word, and what it is
    for rule in range(len(start) - 1):
        at = ends[rule]
        top = 0
        for i in range(start[rule], start[rule + 1]):
            word = program[i]
            op, count = -1, 0
            if word < 0:
                op, count = operator_of(word), operands_of(word)
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
            words[at] = pack_operator(TRUE if value[0] == _TRUE else FALSE, 0)
            at += 1
        words[ends[rule] : at] = words[ends[rule] : at][::-1].copy()
        ends[rule + 1] = at


@compiled
def _negate(words, at):
    """Negate the expression that ends here; the end of what becomes of it."""
    word = words[at - 1]
    op = operator_of(word) if word < 0 else -1
    if op == NOT:
        return at - 1
    if op == XOR or op == XNOR:
        words[at - 1] = pack_operator(XOR + XNOR - op, operands_of(word))
        return at
    words[at] = pack_operator(NOT, 1)
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
        if last < 0 and operator_of(last) == op:
            count += operands_of(last) - 1
            high -= 1
        for k in range(low, high):
            words[to] = words[k]
            to += 1
    if count == 0:
        return to, 1 - absorbing
    if count > 1:
        words[to] = pack_operator(op, count)
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
    words[at] = pack_operator(XNOR if flips else XOR, count)
    return at + 1, _OPEN
