"""Scan with conjunction match (Fontoura et al. 2010, §5.2): only rules that have a true leaf.

The conjunction index finds the leaf-level conjunctions that are true, and rules that have one of
them are evaluated from the top, each in its tree, which is kept beside the index. The index tells
which leaves are true.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.fontoura import scan_conjunctions_kernels as kernels
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex, Annotations
from matchwood.lab.papers.fontoura.by_leaves import ByLeaves
from matchwood.lab.papers.fontoura.leaves import Leaves


class ScanConjunctions(ByLeaves):
    """Rules that have a true conjunction, evaluated one by one.

    >>> algorithm = ScanConjunctions({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    >>> algorithm.work.candidates
    1
    """

    name = "Scan with conjunction match"
    paper = "Fontoura et al. 2010, §5.2"

    def index_of(self, trees: Leaves) -> AnnotationIndex:
        return TreeIndex(trees, self.walk, self.share)


class TreeIndex(AnnotationIndex):
    """Conjunctions with the rules that they are leaves of, and the trees of rules.

    A tree is in prefix order: an operator is two words, its own and where its operands end, a leaf
    is its conjunction.
    """

    def __init__(self, trees: Leaves, walk: bool = False, share: bool = True) -> None:
        rule_of = np.repeat(np.arange(len(trees.start) - 1, dtype=np.int32), np.diff(trees.start))
        numbers = self.note(trees.conjunctions, rule_of[trees.words >= 0], walk=walk, share=share)
        operators = np.concatenate(([0], np.cumsum(trees.words < 0)))
        self._tree_start = trees.start + operators[trees.start]
        self._tree = np.empty(int(self._tree_start[-1]), np.int32)
        longest = int(np.diff(trees.start).max(initial=0))  # rule, in words
        self._deepest = kernels.lay_out(
            trees.words, trees.start, numbers, self._tree_start, self._tree,
            np.empty((longest + 1, kernels.STACK_COLUMNS), np.int64),
        )  # fmt: skip
        self._true = np.zeros(self.conjunctions, np.uint8)
        self._seen = np.zeros(len(trees.start) - 1, np.uint8)
        self._found = np.empty(0, np.int32)

    def sort(self, conjunctions: Int32Array) -> Annotations:
        """The rules of the conjunctions, in no order, each once per true leaf."""
        self._found = conjunctions
        return self.annotations(conjunctions)

    def evaluate(self, annotations: Annotations) -> Int32Array:
        out = np.empty(min(len(annotations), len(self._seen)), np.int32)
        count, self.candidates = kernels.scan(
            annotations, self._found, self._true, self._seen, self._tree_start, self._tree,
            np.empty((self._deepest + 1, kernels.STACK_COLUMNS), np.int64), out,
        )  # fmt: skip
        return out[:count]

    @property
    def bytes(self) -> int:
        arrays = (self._tree_start, self._tree, self._true, self._seen)
        return super().bytes + sum(array.nbytes for array in arrays)
