"""Dewey ID (Fontoura et al. 2010, §3): leaves know the path to them, and rules are rebuilt of it.

The ID of a leaf has a number for each edge on the way down from the root, an AND: which operand it
leads to, from 1 on, and below an AND whether that is the last one (the paper's *). Trees are not
kept: EVALUATEAND and EVALUATEOR (Algorithms 1–3) follow the IDs of the true leaves, in order, and
see from missing numbers, or from a missing *, that an operand of an AND has no true leaf at all.

IDs are packed into 32 bits, as in the paper, from the highest bit on. An operand n of b binary
digits is b ones, a zero and its digits after the first; the * is one more bit, below an AND; zeros
follow. So IDs are ordered as numbers, and begin with a one. Should an ID of a rule take more than
32 bits, the numbers of all of them are in a table, and the 32 bits, which begin with a zero, are a
place in it. The annotation of a leaf is one word: rule, ID.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, lean
from matchwood.index.program import AND
from matchwood.papers.annotations import Annotations, Index, Ints, Longs
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
    """Of each leaf rule << 32 | ID. A long ID i is steps[start[i]:start[i + 1]]."""

    words: NDArray[np.uint64]
    start: Longs
    steps: Ints  # 2 * operand + marked
    longest: int


class DeweyIndex(Index):
    """Leaves by their Dewey ID."""

    def __init__(self, given: Leaves, walk: bool = False) -> None:
        ids = annotate(given)
        super().__init__(given.conjunctions, ids.words, walk=walk)
        self._long = ids.start, ids.steps
        self._levels = tuple(np.zeros((5, ids.longest + 1), np.int32))

    def evaluate(self, annotations: Annotations) -> Ints:
        out = np.empty(len(annotations), np.int32)
        found, self.candidates = _evaluate(annotations, *self._long, self._levels, out)
        return out[:found]

    @property
    def bytes(self) -> int:
        return super().bytes + sum(array.nbytes for array in self._long)


def annotate(given: Leaves) -> DeweyIds:
    """The Dewey ID of each leaf.

    >>> from matchwood.papers.conjunctions import Conjunctions
    >>> from matchwood.index.program import OR, operator_word
    >>> two, three, either = operator_word(AND, 2), operator_word(AND, 3), operator_word(OR, 3)
    >>> tree = np.array([either, two, 0, 1, 2, three, 3, 4, 5], np.int32)  # the paper's Figure 2
    >>> leaf = Conjunctions(np.arange(7), np.arange(6, dtype=np.int32))
    >>> [spelled(word) for word in annotate(Leaves(tree, np.array([0, 9]), leaf)).words]
    ['1*.1.1', '1*.1.2*', '1*.2', '1*.3.1', '1*.3.2', '1*.3.3*']
    """
    words = np.empty(len(given.conjunctions.start) - 1, np.uint64)
    start, steps, longest = _annotate(given.words, given.start, words)
    return DeweyIds(words, start, steps, longest)


def spelled(word: int) -> str:
    """A packed ID as the paper writes it; long ones are their place in the table."""
    path = np.zeros(_BITS, np.int32)
    steps = path[: _unpack(np.uint64(word), path)].tolist()
    return ".".join(f"{step >> 1}{'*' if step & 1 else ''}" for step in steps)


@compiled
def _annotate(words, start, out):
    """The annotations of all leaves, the table of long IDs, and the length of the longest."""
    widest = 0
    for rule in range(len(start) - 1):
        widest = max(widest, start[rule + 1] - start[rule])
    path = np.empty(widest + 2, np.int32)
    stack = np.empty((widest + 1, 3), np.int64)  # operator, its operands, and those done
    long_start = np.zeros(16, np.int64)
    steps = np.empty(64, np.int32)
    leaf, places, longest = 0, 0, 0
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
                if long:
                    if places + 2 > len(long_start):
                        long_start = _larger(long_start, places + 2)
                    low = long_start[places]
                    if low + length > len(steps):
                        steps = _larger(steps, low + length)
                    steps[low : low + length] = path[:length]
                    long_start[places + 1] = low + length
                    packed = np.uint64(places)
                    places += 1
                else:
                    packed = _pack(path, length)
                    fits = fits and packed > 0
                out[leaf] = (np.uint64(rule) << np.uint64(_BITS)) | packed
                leaf += 1
                while top > 0 and stack[top - 1, 2] == stack[top - 1, 1]:
                    top -= 1
    return long_start[: places + 1].copy(), steps[: long_start[places]].copy(), longest


@inlined
def _operator(word):
    return (-word - 1) & 7 if word < 0 else -1


@compiled
def _larger(array, least):
    larger = np.zeros(2 * least, array.dtype)
    larger[: len(array)] = array
    return larger


@lean
def _pack(path, length):
    """The ID of a path; 0 where it takes more than 32 bits."""
    packed = np.uint64(0)
    bits = 0
    for level in range(length):
        operand = path[level] >> 1
        digits = 0
        while operand >> digits:
            digits += 1
        bits += 2 * digits + (level & 1 == 0)
        if bits > _BITS:
            return np.uint64(0)
        ones = ((1 << digits) - 1) << digits
        code = np.uint64(ones | (operand & ((1 << (digits - 1)) - 1)))
        packed = (packed << np.uint64(2 * digits)) | code
        if level & 1 == 0:
            packed = (packed << np.uint64(1)) | np.uint64(path[level] & 1)
    return packed << np.uint64(_BITS - bits)


@lean
def _unpack(packed, path):
    """The path of an ID; its length."""
    rest = np.int64(packed & np.uint64(0xFFFFFFFF))
    at = _BITS - 1
    length = 0
    while at >= 0 and (rest >> at) & 1:
        digits = 0
        while (rest >> at) & 1:
            digits += 1
            at -= 1
        at -= digits  # the zero, and all digits but the first
        step = 2 * ((1 << (digits - 1)) | ((rest >> (at + 1)) & ((1 << (digits - 1)) - 1)))
        if length & 1 == 0:
            step |= (rest >> at) & 1
            at -= 1
        path[length] = step
        length += 1
    return length


@lean
def _evaluate(annotations, long_start, steps, levels, out):
    """Algorithms 1–3 for one rule after the other: the rules that are true, and rules seen.

    A level of the path that is being followed has its step, whether its node is true as far as it
    has been explored, the operands explored and whether the last of them was marked: what the
    recursion holds in its calls. Even levels are ANDs. An AND on top that is false ends its rule.
    """
    path, new, result, explored, marked = levels
    found, seen, length = 0, 0, 0
    rule = np.int64(-1)
    for word in annotations:
        mine = np.int64(word >> np.uint64(_BITS))
        if mine != rule:
            if rule >= 0 and _close(path, result, marked, length, 0):
                out[found] = rule
                found += 1
            rule = mine
            seen += 1
            length = 0
            result[0], explored[0], marked[0] = 1, 0, 0
        elif not result[0]:
            continue
        if word & np.uint64(1 << (_BITS - 1)):
            new_length = _unpack(word, new)
        else:
            place = np.int64(word & np.uint64(0xFFFFFFFF))
            new_length = long_start[place + 1] - long_start[place]
            for i in range(new_length):
                new[i] = steps[long_start[place] + i]
        shared = 0
        while shared < length and new[shared] == path[shared]:
            shared += 1
        _close(path, result, marked, length, shared)
        length = new_length
        for level in range(shared, length):
            path[level] = new[level]
            if level & 1 == 0:
                explored[level] += 1
                if new[level] >> 1 != explored[level]:
                    result[level] = 0
                marked[level] = new[level] & 1
            if level + 1 < length:
                result[level + 1], explored[level + 1], marked[level + 1] = level & 1, 0, 0
            elif level & 1:
                result[level] = 1
    if rule >= 0 and _close(path, result, marked, length, 0):
        out[found] = rule
        found += 1
    return found, seen


@lean
def _close(path, result, marked, length, shared):
    """Leave the nodes below level `shared`, each telling the one above; is that one true?"""
    for level in range(length - 1, shared, -1):
        if level & 1:
            result[level - 1] &= result[level]
        else:
            result[level - 1] |= result[level] & marked[level]
    return result[shared] & (marked[shared] | (shared & 1))
