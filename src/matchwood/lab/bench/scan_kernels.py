"""Scan: rules as prefix words, laid out and then evaluated one after the other.

    operator | kind 4 | index of the word after its last operand 60 |
    test     | kind 4 | slot 16 | low 22 | high 22 |
    constant | kind 4 | 0 60 |

A test of kind _EXACT, of a literal of several intervals, is followed by that literal.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, inlined, lean
from matchwood.kernels.programs import ALWAYS, AND, atom_of, is_negated
from matchwood.kernels.records import (
    FAMILY_HIGH,
    FAMILY_LOW,
    IV_END,
    IV_START,
    SLOT,
    pack_interval,
    word_high,
    word_low,
)

# Kinds of words: two operators, two tests and two constants.
_AND, _OR, _TEST, _EXACT, _TRUE, _FALSE = range(6)

# The most words of one rule: nodes that are shared inside a rule (chains of `xor`) are written out
# once per use.
_MAX_WORDS = 1 << 22

# Bits of a word below its kind.
_KIND_SHIFT = 60

# The bits of an operator that hold the index of the word after its last operand.
_END_MASK = (1 << _KIND_SHIFT) - 1

# Bits of a test below its slot: the low and the high code, each of 22 bits.
_SLOT_SHIFT = 44

# Bits of a test that hold its slot.
_SLOT_BITS = 16

# The bits of a slot, once they are the lowest bits.
_SLOT_MASK = (1 << _SLOT_BITS) - 1

# How many slots a test can tell apart: slots are numbered below this.
MAX_SLOTS = 1 << _SLOT_BITS

# Columns of what `lay_out_rules` has still to do: a reference to lay out, and, where an operator is
# to be closed instead, the index of its word.
_REFERENCE, _OPENED = range(2)


@codec
def _pack_operator(kind):
    """The word of an operator, whose end is added once it is known, or of a constant."""
    return np.int64(kind) << _KIND_SHIFT


@codec
def _pack_test(kind, slot, low, high):
    """The word of a test; slots are below MAX_SLOTS, which `rule_scan.lay_out` checks."""
    return (
        np.int64(kind) << _KIND_SHIFT
        | np.int64(slot) << _SLOT_SHIFT
        | pack_interval(0, 0, low, high)
    )


@codec
def _kind(word):
    return word >> _KIND_SHIFT


@codec
def _end(word):
    return word & _END_MASK


@codec
def _slot(word):
    return (word >> _SLOT_SHIFT) & _SLOT_MASK


@compiled
def lay_out_rules(operator, start, operands, first, roots, atom, low, high, words, out):
    """Write the words of all rules, or, if `words` is empty, count them."""
    writing = len(words) > 0
    todo = np.empty((1 << 20, 2), np.int64)
    at = np.int64(0)
    for rule in range(len(roots)):
        begin = at
        todo[0, _REFERENCE], todo[0, _OPENED] = roots[rule], -1
        top = 1
        while top > 0:
            top -= 1
            ref, opened = todo[top, _REFERENCE], todo[top, _OPENED]
            if opened >= 0:
                if writing:
                    words[opened] |= at
                continue
            if at - begin > _MAX_WORDS or top + 2 > len(todo) - 70000:
                raise ValueError("a rule is too large to scan")
            if ref < 0:
                if writing:
                    words[at] = _pack_operator(_TRUE if ref == ALWAYS else _FALSE)
                at += 1
            elif ref < first:
                word = _test(ref, atom, low, high)
                if writing:
                    words[at] = word
                at += 1
                if _kind(word) == _EXACT:
                    if writing:
                        words[at] = ref
                    at += 1
            else:
                node = ref - first
                if writing:
                    words[at] = _pack_operator(_AND if operator[node] == AND else _OR)
                todo[top, _REFERENCE], todo[top, _OPENED] = 0, at
                top += 1
                at += 1
                for i in range(start[node + 1] - 1, start[node] - 1, -1):
                    todo[top, _REFERENCE], todo[top, _OPENED] = operands[i], -1
                    top += 1
        if writing:
            out[rule + 1] = at
    return at


@compiled
def _test(ref, atom, low, high):
    """The word of an interval test; for a literal with several intervals, a test of their hull."""
    row = atom[atom_of(ref)]
    first, last = row[IV_START], row[IV_END]
    kind, a, b = np.int64(_TEST), np.int64(1), np.int64(0)
    if last > first:
        a, b = np.int64(low[first]), np.int64(high[last - 1])
    if is_negated(ref):
        kind, a, b = np.int64(_EXACT), np.int64(row[FAMILY_LOW]), np.int64(row[FAMILY_HIGH])
    elif last - first > 1:
        kind = np.int64(_EXACT)
    return _pack_test(kind, row[SLOT], a, b)


@inlined
def _exact(ref, codes, atom, low, high):
    row = atom[atom_of(ref)]
    code = codes[row[SLOT]]
    negated = is_negated(ref)
    if negated and (code < row[FAMILY_LOW] or code > row[FAMILY_HIGH]):
        return False
    for i in range(row[IV_START], row[IV_END]):
        if low[i] <= code <= high[i]:
            return not negated
    return negated == 1


@lean
def scan(words, start, atom, low, high, codes, out, open_operators):
    """Write the rules that are true of the codes to `out`; returns how many they are.

    `open_operators` is scratch.
    """
    true_rules = 0
    kinds, ends = open_operators[0], open_operators[1]
    for rule in range(len(start) - 1):
        at = start[rule]
        top = 0
        truth = False
        while True:
            word = words[at]
            at += 1
            kind = _kind(word)
            if kind <= _OR:
                kinds[top], ends[top] = kind, _end(word)
                top += 1
                continue
            if kind <= _EXACT:
                code = codes[_slot(word)]
                truth = word_low(word) <= code <= word_high(word)
                if kind == _EXACT:
                    if truth:
                        truth = _exact(words[at], codes, atom, low, high)
                    at += 1
            else:
                truth = kind == _TRUE
            while top > 0:
                if truth == (kinds[top - 1] == _OR):
                    at = ends[top - 1]
                elif at < ends[top - 1]:
                    break
                top -= 1
            if top == 0:
                break
        if truth:
            out[true_rules] = rule
            true_rules += 1
    return true_rules
