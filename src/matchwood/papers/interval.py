"""Interval ID (Fontoura et al. 2010, §4): leaves are intervals, and a rule is a line to cover.

LABEL (Algorithm 4) gives each leaf an interval of ⟨1, M⟩: operands of an OR have that of the OR,
operands of an AND share its interval out among them, in such a way that no two but first operands
of ANDs begin at one place. A rule is true where intervals of true leaves cover ⟨1, M⟩ without
overlap, which MATCH (Algorithm 5) finds in one pass over them in the order of where they begin.

As in the paper begin and end have 16 bits each, so that M, the most leaves of a rule, is 65,535;
a rule with more is refused. The annotation of a leaf is one word: rule, begin, end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, lean
from matchwood.index.program import AND
from matchwood.papers.annotations import Annotations, Index, Ints
from matchwood.papers.delta import Delta
from matchwood.papers.forms import Forms
from matchwood.papers.leaves import Leaves, leaves
from matchwood.papers.protocol import Unsupported

MOST = (1 << 16) - 1  # the paper's M


class IntervalId(Delta):
    """Conjunctions by index, and rules by the intervals that cover them.

    >>> algorithm = IntervalId({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    """

    name = "Interval ID"
    paper = "Fontoura et al. 2010, §4"

    def index(self, forms: Forms) -> Index:
        return IntervalIndex(leaves(forms), self.walk)


class IntervalIndex(Index):
    """Leaves by the interval that LABEL gives them."""

    def __init__(self, given: Leaves, walk: bool = False) -> None:
        self.note(given.conjunctions, label(given), walk=walk)
        self._matched = np.zeros(MOST + 1, np.int64)
        self._mark = 0

    def evaluate(self, annotations: Annotations) -> Ints:
        out = np.empty(len(annotations), np.int32)
        found, last = _match(annotations, self._matched, self._mark, out)
        self.candidates, self._mark = last - self._mark, last
        return out[:found]

    @property
    def bytes(self) -> int:
        return super().bytes + self._matched.nbytes


def label(given: Leaves, most: int = MOST) -> NDArray[np.uint64]:
    """The annotation of each leaf, rule << 32 | begin << 16 | end.

    >>> from matchwood.papers.conjunctions import Conjunctions
    >>> from matchwood.index.program import OR, operator_word
    >>> two, three, either = operator_word(AND, 2), operator_word(AND, 3), operator_word(OR, 3)
    >>> tree = np.array([either, two, 0, 1, 2, three, 3, 4, 5], np.int32)  # the paper's Figure 5
    >>> leaf = Conjunctions(np.arange(7), np.arange(6, dtype=np.int32))
    >>> words = label(Leaves(tree, np.array([0, 9]), leaf), most=10)
    >>> [(int(word) >> 16, int(word) & 0xFFFF) for word in words]
    [(1, 1), (2, 10), (1, 10), (1, 4), (5, 5), (6, 10)]
    """
    count = len(given.conjunctions.start) - 1
    sizes, deepest = _sizes(given.words, given.start)
    if sizes.max(initial=0) > most:
        raise Unsupported(
            f"a rule has {sizes.max():,} leaf conjunctions; an interval ID of 16 bits a bound "
            f"holds {most:,}"
        )
    words = np.empty(count, np.uint64)
    _label(given.words, given.start, sizes, most, np.empty((deepest + 1, 7), np.int64), words)
    return words


@compiled
def _sizes(words, start):
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
                for _ in range((-words[at] - 1) >> 3):
                    top -= 1
                    sizes[at] += sizes[stack[top]]
                    depths[at] = max(depths[at], depths[stack[top]] + 1)
            stack[top] = at
            top += 1
        if start[rule + 1] > start[rule]:
            deepest = max(deepest, depths[start[rule]])
    return sizes, deepest


_OPERATOR, _OPERANDS, _DONE, _BEGIN, _END, _LEFT, _CURRENT = range(7)


@lean
def _label(words, start, sizes, most, stack, out):
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
                node[_OPERATOR], node[_OPERANDS] = (-words[at] - 1) & 7, (-words[at] - 1) >> 3
                node[_DONE], node[_BEGIN], node[_END], node[_LEFT] = 0, begin, end, left
                top += 1
            else:
                out[leaf] = (np.int64(rule) << 32) | (begin << 16) | end
                leaf += 1
                left += 1
                while top > 0 and stack[top - 1][_DONE] == stack[top - 1][_OPERANDS]:
                    top -= 1


@lean
def _match(annotations, matched, mark, out):
    """MATCH for one rule after the other: the rules that are true, and the last mark.

    matched[i] is true of a rule if it holds the rule's mark, so that nothing need be cleared.
    """
    top = 0
    rule = -1
    for word in annotations:
        if np.int64(word >> np.uint64(32)) != rule:
            if rule >= 0 and matched[MOST] == mark:
                out[top] = rule
                top += 1
            rule = np.int64(word >> np.uint64(32))
            mark += 1
            matched[0] = mark
        if matched[np.int64((word >> np.uint64(16)) & np.uint64(0xFFFF)) - 1] == mark:
            matched[np.int64(word & np.uint64(0xFFFF))] = mark
    if rule >= 0 and matched[MOST] == mark:
        out[top] = rule
        top += 1
    return top, mark
