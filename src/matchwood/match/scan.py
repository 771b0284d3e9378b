"""Scan: every rule in turn, each tree on its own, leaving it as soon as its truth is settled.

The obvious matcher, compiled as well as the fast one: what speed is measured against, and a
second answer to test it with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, lean
from matchwood.index.atoms import AtomArrays
from matchwood.index.nodes import ALWAYS, Shared
from matchwood.index.program import AND

_AND, _OR, _TEST, _EXACT, _TRUE, _FALSE = range(6)
_MAX_WORDS = 1 << 22  # of one rule: sharing inside a rule (xor chains) is undone here


class Scan(NamedTuple):
    """Rules as prefix words: kind << 60 | end of an operator's operands, or an interval test."""

    words: NDArray[np.int64]
    start: NDArray[np.int64]
    atom: NDArray[np.int32]  # slot, first and last code of the family, bounds of the intervals
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def lay_out(shared: Shared, atoms: AtomArrays) -> Scan:
    """The words of all rules; only rules without opaque predicates can be scanned."""
    if (atoms.opaque >= 0).any() or (len(atoms.slot) and atoms.slot.max() >= 1 << 16):
        raise ValueError("Scan knows interval predicates only, over at most 65,536 slots")
    atom = np.stack(
        [atoms.slot, atoms.family_low, atoms.family_high, atoms.start[:-1], atoms.start[1:]], 1
    ).astype(np.int32)
    args = (shared.operator, shared.start, shared.operands, shared.first, shared.roots)
    room = _lay_out(
        *args, atom, atoms.low, atoms.high, np.empty(0, np.int64), np.empty(0, np.int64)
    )
    words = np.empty(room, np.int64)
    start = np.zeros(len(shared.roots) + 1, np.int64)
    _lay_out(*args, atom, atoms.low, atoms.high, words, start)
    return Scan(words, start, np.ascontiguousarray(atom), atoms.low, atoms.high)


@compiled
def _lay_out(operator, start, operands, first, roots, atom, low, high, words, out):
    """Writes the words, or, given no room, counts them."""
    writing = len(words) > 0
    todo = np.empty((1 << 20, 2), np.int64)
    at = np.int64(0)
    for rule in range(len(roots)):
        begin = at
        todo[0, 0], todo[0, 1] = roots[rule], -1
        top = 1
        while top > 0:
            top -= 1
            ref, opened = todo[top, 0], todo[top, 1]
            if opened >= 0:
                if writing:
                    words[opened] |= at
                continue
            if at - begin > _MAX_WORDS or top + 2 > len(todo) - 70000:
                raise ValueError("a rule is too large to scan")
            if ref < 0:
                if writing:
                    words[at] = np.int64(_TRUE if ref == ALWAYS else _FALSE) << 60
                at += 1
            elif ref < first:
                word = _test(ref, atom, low, high)
                if writing:
                    words[at] = word
                at += 1
                if word >> 60 == _EXACT:
                    if writing:
                        words[at] = ref
                    at += 1
            else:
                node = ref - first
                if writing:
                    words[at] = np.int64(_AND if operator[node] == AND else _OR) << 60
                todo[top, 0], todo[top, 1] = 0, at
                top += 1
                at += 1
                for i in range(start[node + 1] - 1, start[node] - 1, -1):
                    todo[top, 0], todo[top, 1] = operands[i], -1
                    top += 1
        if writing:
            out[rule + 1] = at
    return at


@compiled
def _test(ref, atom, low, high):
    """An interval test; of a literal with several intervals only a first one, of their hull."""
    row = atom[ref >> 1]
    first, last = row[3], row[4]
    kind, a, b = np.int64(_TEST), np.int64(1), np.int64(0)
    if last > first:
        a, b = np.int64(low[first]), np.int64(high[last - 1])
    if ref & 1:
        kind, a, b = np.int64(_EXACT), np.int64(row[1]), np.int64(row[2])
    elif last - first > 1:
        kind = np.int64(_EXACT)
    return kind << 60 | np.int64(row[0]) << 44 | a << 22 | b


@inlined
def _exact(ref, codes, atom, low, high):
    row = atom[ref >> 1]
    code = codes[row[0]]
    negated = ref & 1
    if negated and (code < row[1] or code > row[2]):
        return False
    for i in range(row[3], row[4]):
        if low[i] <= code <= high[i]:
            return not negated
    return negated == 1


@lean
def scan(words, start, atom, low, high, codes, out, open_operators):
    """The rules that are true of the codes: out[:returned]; `open_operators` is scratch."""
    found = 0
    kinds, ends = open_operators[0], open_operators[1]
    for rule in range(len(start) - 1):
        at = start[rule]
        top = 0
        truth = False
        while True:
            word = words[at]
            at += 1
            kind = word >> 60
            if kind <= _OR:
                kinds[top], ends[top] = kind, word & ((1 << 60) - 1)
                top += 1
                continue
            if kind <= _EXACT:
                code = codes[(word >> 44) & 0xFFFF]
                truth = (word >> 22) & 0x3FFFFF <= code <= word & 0x3FFFFF
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
            out[found] = rule
            found += 1
    return found
