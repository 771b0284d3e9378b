"""Dewey ID (Fontoura et al. 2010, §3): leaves know the path to them, and rules are rebuilt of it.

The ID of a leaf has a number for each edge on the way down from the root, an AND: which operand it
leads to, from 1 on, and below an AND whether that is the last one (the paper's *). Trees are not
kept: EVALUATEAND and EVALUATEOR (Algorithms 1–3) follow the IDs of the true leaves, in order, and
see from missing numbers, or from a missing *, that an operand of an AND has no true leaf at all.

IDs are packed into 32 bits, as in the paper, from the highest bit on. An operand n of b binary
digits is b ones, a zero and its digits after the first; the * is one more bit, below an AND; zeros
follow. So IDs are ordered as numbers, and begin with a one. Should an ID of a rule take more than
32 bits, all of the rule's are in a table, packed alike, with at least one zero behind each, and the
32 bits, which begin with a zero, are a place in it. The annotation of a leaf is one word: rule, ID.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, lean
from matchwood.index.program import AND
from matchwood.papers.annotations import Annotations, Index, Ints
from matchwood.papers.delta import Delta
from matchwood.papers.forms import Forms
from matchwood.papers.leaves import Leaves, leaves

_BITS = 32


class DeweyId(Delta):
    """Conjunctions by index, and rules by the Dewey IDs of those that are true.

    >>> algorithm = DeweyId({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    """

    name = "Dewey ID"
    paper = "Fontoura et al. 2010, §3"

    def index(self, forms: Forms) -> Index:
        return DeweyIndex(leaves(forms), self.walk)


class DeweyIds(NamedTuple):
    """Of each leaf rule << 32 | ID, the table of long IDs, and the length of the longest."""

    words: NDArray[np.uint64]
    table: NDArray[np.uint32]
    longest: int


class DeweyIndex(Index):
    """Leaves by their Dewey ID."""

    def __init__(self, given: Leaves, walk: bool = False) -> None:
        ids = annotate(given)
        self.note(given.conjunctions, ids.words, walk=walk)
        self._table = ids.table
        self._levels = tuple(np.zeros((4, ids.longest + 1), np.int32))

    def evaluate(self, annotations: Annotations) -> Ints:
        out = np.empty(len(annotations), np.int32)
        found, self.candidates = _evaluate(annotations, self._table, self._levels, out)
        return out[:found]

    @property
    def bytes(self) -> int:
        return super().bytes + self._table.nbytes


def annotate(given: Leaves) -> DeweyIds:
    """The Dewey ID of each leaf.

    >>> from matchwood.papers.conjunctions import Conjunctions
    >>> from matchwood.index.program import OR, operator_word
    >>> two, three, either = operator_word(AND, 2), operator_word(AND, 3), operator_word(OR, 3)
    >>> tree = np.array([either, two, 0, 1, 2, three, 3, 4, 5], np.int32)  # the paper's Figure 2
    >>> leaf = Conjunctions(np.arange(7), np.arange(6, dtype=np.int32))
    >>> spelled(annotate(Leaves(tree, np.array([0, 9]), leaf)))
    ['1*.1.1', '1*.1.2*', '1*.2', '1*.3.1', '1*.3.2', '1*.3.3*']
    """
    words = np.empty(len(given.conjunctions.start) - 1, np.uint64)
    table, longest = _annotate(given.words, given.start, words)
    return DeweyIds(words, table, longest)


def spelled(ids: DeweyIds) -> list[str]:
    """IDs as the paper writes them."""
    found = []
    for word in ids.words:
        steps: list[str] = []
        at, window, valid = _open(word, ids.table)
        window = np.uint64(window)
        while window >> np.uint64(63):
            step, at, window, valid = _next(at, window, valid, ids.table, len(steps) & 1 == 0)
            window = np.uint64(window)
            steps.append(f"{int(step) >> 1}{'*' if int(step) & 1 else ''}")
        found.append(".".join(steps))
    return found


@compiled
def _annotate(words, start, out):
    """Writes the annotations of all leaves; the table of long IDs, and how long the longest is."""
    widest = 0
    for rule in range(len(start) - 1):
        widest = max(widest, start[rule + 1] - start[rule])
    path = np.empty(widest + 2, np.int32)
    stack = np.empty((widest + 1, 3), np.int64)  # operator, its operands, and those done
    table = np.zeros(64, np.uint32)
    used, leaf, longest = 0, 0, 0
    for rule in range(len(start) - 1):
        first = leaf
        fits = True
        for long in range(2):  # once more, into the table, if an ID is too long
            if long and fits:
                break
            leaf = first
            top, base = 0, 0
            if start[rule] < start[rule + 1] and _operator(words[start[rule]]) != AND:
                path[0] = 3  # an AND is put on top of all else: 1*
                base = 1
            for at in range(start[rule], start[rule + 1]):
                if top > 0:
                    stack[top - 1, 2] += 1
                    done = stack[top - 1, 2]
                    last = stack[top - 1, 0] == AND and done == stack[top - 1, 1]
                    path[base + top - 1] = 2 * done + last
                if words[at] < 0:
                    stack[top, 0], stack[top, 1] = _operator(words[at]), (-words[at] - 1) >> 3
                    stack[top, 2] = 0
                    top += 1
                    continue
                length = base + top
                longest = max(longest, length)
                if used + length * 2 + 4 > len(table):
                    table = _larger(table, used + length * 2 + 4)
                bits = _pack(path, length, table, used)
                packed = table[used]
                if long:
                    packed = used
                    used += bits // _BITS + 1
                fits = fits and bits <= _BITS
                out[leaf] = (np.uint64(rule) << np.uint64(_BITS)) | np.uint64(packed)
                leaf += 1
                while top > 0 and stack[top - 1, 2] == stack[top - 1, 1]:
                    top -= 1
    return table[: used + 2].copy(), longest


@inlined
def _operator(word):
    return (-word - 1) & 7 if word < 0 else -1


@compiled
def _larger(array, least):
    larger = np.zeros(2 * least, array.dtype)
    larger[: len(array)] = array
    return larger


@lean
def _pack(path, length, table, at):
    """Write the ID of a path from table[at] on, with zeros behind it; how many bits it takes.

    A step takes at most two words of the table: operands are below 2 ** 31.
    """
    window = np.uint64(0)  # its upper bits are not yet written
    valid, bits = 0, 0
    for level in range(length):
        operand = path[level] >> 1
        digits = 0
        while operand >> digits:
            digits += 1
        below = operand & ((1 << (digits - 1)) - 1)
        marks = level & 1 == 0
        for part in range(2):  # the ones and a zero, then the digits and the mark
            if part == 0:
                value, width = (1 << (digits + 1)) - 2, digits + 1
            elif marks:
                value, width = 2 * below + (path[level] & 1), digits
            else:
                value, width = below, digits - 1
            if width > 0:
                window |= np.uint64(value) << np.uint64(64 - valid - width)
            valid += width
            bits += width
            if valid >= _BITS:
                table[at] = window >> np.uint64(_BITS)
                window <<= np.uint64(_BITS)
                valid -= _BITS
                at += 1
    table[at] = window >> np.uint64(_BITS)
    return bits


def _short() -> NDArray[np.uint8]:
    """By the next 8 bits of an ID: operand << 4 | bits, if it is below 16, else 0."""
    short = np.zeros(256, np.uint8)
    for operand in range(1, 16):
        digits = operand.bit_length()
        code = ((1 << digits) - 1) << digits | operand - (1 << digits - 1)
        free = 8 - 2 * digits
        short[code << free : (code + 1) << free] = operand << 4 | 2 * digits
    return short


_SHORT = _short()
_ENOUGH = 1 << 20  # valid bits of an ID that is not in the table, as far as reading goes on


@inlined
def _open(word, table):
    """Where to read on in the table, the next bits of an ID from the highest on, and how many."""
    low = word << np.uint64(_BITS)
    if low >> np.uint64(63):
        return np.int64(0), low, np.int64(_ENOUGH)
    at = np.int64(low >> np.uint64(_BITS))
    window = np.uint64(table[at]) << np.uint64(_BITS)
    return at + 2, window | np.uint64(table[at + 1]), np.int64(64)


@inlined
def _next(at, window, valid, table, marks):
    """The next step, 2 * operand + marked, and what is read after it; 33 bits or more are valid."""
    entry = np.int64(_SHORT[window >> np.uint64(56)])
    if entry:
        operand = entry >> 4
        window <<= np.uint64(entry & 15)
        valid -= entry & 15
    else:
        digits = np.int64(0)
        while window >> np.uint64(63):
            digits += 1
            window <<= np.uint64(1)
        window <<= np.uint64(1)
        valid -= digits + 1
        at, window, valid = _refill(at, window, valid, table)
        below = np.int64(window >> np.uint64(65 - digits))
        operand = (np.int64(1) << (digits - 1)) | below
        window <<= np.uint64(digits - 1)
        valid -= digits - 1
    step = 2 * operand
    if marks:
        step |= np.int64(window >> np.uint64(63))
        window <<= np.uint64(1)
        valid -= 1
    at, window, valid = _refill(at, window, valid, table)
    return step, at, window, valid


@inlined
def _refill(at, window, valid, table):
    if valid <= _BITS:
        if at < len(table):
            window |= np.uint64(table[at]) << np.uint64(_BITS - valid)
        at += 1
        valid += _BITS
    return at, window, valid


@lean
def _evaluate(annotations, table, levels, out):
    """Algorithms 1–3 for one rule after the other: the rules that are true, and rules seen.

    A level of the path that is being followed has its step, whether its node is true as far as it
    has been explored, the operands explored and whether the last of them was marked: what the
    recursion holds in its calls. Even levels are ANDs. IDs below a node that is decided, an AND
    that is false or an OR that is true, are not read to their end.
    """
    path, result, explored, marked = levels
    found, seen, length = 0, 0, 0
    rule = np.int64(-1)
    for word in annotations:
        mine = np.int64(word >> np.uint64(_BITS))
        if mine != rule:
            if rule >= 0 and _close(result, marked, length, 0):
                out[found] = rule
                found += 1
            rule = mine
            seen += 1
            length = 0
            result[0], explored[0], marked[0] = 1, 0, 0
        at, window, valid = _open(word, table)
        level = 0
        known = True  # the path so far is the one that is being followed
        while result[level] != level & 1:
            step, at, window, valid = _next(at, window, valid, table, level & 1 == 0)
            if known and level < length and path[level] == step:
                level += 1
                continue
            if known:
                _close(result, marked, length, level)
                known = False
            path[level] = step
            length = level + 1
            leaf = window >> np.uint64(63) == 0
            if level & 1:
                result[level] |= leaf
            else:
                explored[level] += 1
                marked[level] = step & 1
                result[level] &= step >> 1 == explored[level]
            if leaf or result[level] == level & 1:
                break
            level += 1
            result[level], explored[level], marked[level] = 1 - (level & 1), 0, 0
    if rule >= 0 and _close(result, marked, length, 0):
        out[found] = rule
        found += 1
    return found, seen


@lean
def _close(result, marked, length, shared):
    """Leave the nodes below level `shared`, each telling the one above; is that one true?"""
    for level in range(length - 1, shared, -1):
        if level & 1:
            result[level - 1] &= result[level]
        else:
            result[level - 1] |= result[level] & marked[level]
    return result[shared] & (marked[shared] | (shared & 1))
