"""Scan with conjunction match (Fontoura et al. 2010, §5.2): only rules that have a true leaf.

The conjunction index finds the leaf-level conjunctions that are true, and rules that have one of
them are evaluated from the top, each in its tree, which is kept beside the index. What a leaf is
worth is known from the index.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean
from matchwood.index.program import AND
from matchwood.papers.annotations import Annotations, Index, Ints
from matchwood.papers.delta import Delta
from matchwood.papers.forms import Forms
from matchwood.papers.leaves import Leaves, leaves


class ScanConjunctions(Delta):
    """Rules that have a true conjunction, evaluated one by one.

    >>> algorithm = ScanConjunctions({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    >>> algorithm.work.candidates
    1
    """

    name = "Scan with conjunction match"
    paper = "Fontoura et al. 2010, §5.2"

    def index(self, forms: Forms) -> Index:
        return TreeIndex(leaves(forms), self.walk)


class TreeIndex(Index):
    """Conjunctions with the rules that they are leaves of, and the trees of rules.

    A tree is in prefix order: an operator is two words, its own and where its operands end, a leaf
    is its conjunction.
    """

    def __init__(self, given: Leaves, walk: bool = False) -> None:
        rule_of = np.repeat(np.arange(len(given.start) - 1, dtype=np.int32), np.diff(given.start))
        numbers = self.note(given.conjunctions, rule_of[given.words >= 0], walk=walk)
        operators = np.concatenate(([0], np.cumsum(given.words < 0)))
        self._tree_start = given.start + operators[given.start]
        self._tree = np.empty(int(self._tree_start[-1]), np.int32)
        self._deepest = _lay_out(
            given.words, given.start, numbers, self._tree_start, self._tree,
            np.empty((int(np.diff(given.start).max(initial=0)) + 1, 2), np.int64),
        )  # fmt: skip
        self._true = np.zeros(self.conjunctions, np.uint8)
        self._seen = np.zeros(len(given.start) - 1, np.uint8)
        self._found = np.empty(0, np.int32)

    def sort(self, conjunctions: Ints) -> Annotations:
        """The rules of the conjunctions, in no order, a rule once for each of its leaves."""
        self._found = conjunctions
        return self.annotations(conjunctions)

    def evaluate(self, annotations: Annotations) -> Ints:
        out = np.empty(min(len(annotations), len(self._seen)), np.int32)
        found, self.candidates = _scan(
            annotations, self._found, self._true, self._seen, self._tree_start, self._tree,
            np.empty((self._deepest + 1, 2), np.int64), out,
        )  # fmt: skip
        return out[:found]

    @property
    def bytes(self) -> int:
        arrays = (self._tree_start, self._tree, self._true, self._seen)
        return super().bytes + sum(array.nbytes for array in arrays)


@lean
def _lay_out(words, start, numbers, tree_start, tree, stack):
    """Writes the trees; the depth of the deepest."""
    leaf, deepest = 0, 0
    for rule in range(len(start) - 1):
        out = tree_start[rule]
        top = 0
        for at in range(start[rule], start[rule + 1]):
            if words[at] < 0:
                tree[out] = words[at]
                stack[top, 0], stack[top, 1] = out + 1, (-words[at] - 1) >> 3
                out += 2
                top += 1
                deepest = max(deepest, top)
                continue
            tree[out] = numbers[leaf]
            leaf += 1
            out += 1
            while top > 0:
                stack[top - 1, 1] -= 1
                if stack[top - 1, 1] > 0:
                    break
                top -= 1
                tree[stack[top, 0]] = out - tree_start[rule]
    return deepest


@lean
def _scan(rules, found, true, seen, tree_start, tree, stack, out):
    """The rules that are true, and how many were evaluated. `true` and `seen` are left at zero."""
    for c in found:
        true[c] = 1
    for rule in rules:
        seen[rule] = 1
    top, candidates = 0, 0
    for rule in range(len(seen)):  # in the order of trees, which is kind to caches
        if seen[rule]:
            seen[rule] = 0
            candidates += 1
            if _truth(tree, tree_start[rule], true, stack):
                out[top] = rule
                top += 1
    for c in found:
        true[c] = 0
    return top, candidates


@lean
def _truth(tree, begin, true, stack):
    """A tree from the top, leaving each operator as soon as it is decided."""
    at = begin
    top = 0
    while True:
        while tree[at] < 0:
            stack[top, 0], stack[top, 1] = (-tree[at] - 1) & 7 == AND, begin + tree[at + 1]
            at += 2
            top += 1
        value = true[tree[at]]
        at += 1
        while top > 0 and (value != stack[top - 1, 0] or at == stack[top - 1, 1]):
            top -= 1
            at = stack[top, 1]
        if top == 0:
            return value
