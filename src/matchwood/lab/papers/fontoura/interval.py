"""Interval ID (Fontoura et al. 2010, §4): leaves are intervals, and a rule is a line to cover.

LABEL (Algorithm 4) gives each leaf an interval of ⟨1, M⟩: operands of an OR have that of the OR,
operands of an AND divide its interval among them, such that only first operands of ANDs may begin
at the same point. A rule is true where intervals of true leaves cover ⟨1, M⟩ without overlap, which
MATCH (Algorithm 5) finds in one pass over them, ordered by where they begin.

As in the paper begin and end have 16 bits each, so that M, the most leaves of a rule, is 65,535;
a rule with more is refused. The annotation of a leaf is one word: rule, begin, end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.fontoura import interval_kernels as kernels
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex, Annotations
from matchwood.lab.papers.fontoura.by_leaves import ByLeaves
from matchwood.lab.papers.fontoura.interval_kernels import (
    MOST,
)
from matchwood.lab.papers.fontoura.leaves import Leaves
from matchwood.lab.papers.shared.protocol import Unsupported


class IntervalId(ByLeaves):
    """Conjunctions by index, and rules by the intervals that cover them.

    >>> algorithm = IntervalId({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    """

    name = "Interval ID"
    paper = "Fontoura et al. 2010, §4"

    def index_of(self, trees: Leaves) -> AnnotationIndex:
        return IntervalIndex(trees, self.walk, self.share)


class IntervalIndex(AnnotationIndex):
    """Leaves by the interval that LABEL gives them."""

    def __init__(self, trees: Leaves, walk: bool = False, share: bool = True) -> None:
        self.note(trees.conjunctions, label(trees), walk=walk, share=share)
        self._matched = np.zeros(MOST + 1, np.int64)
        self._mark = 0

    def evaluate(self, annotations: Annotations) -> Int32Array:
        out = np.empty(len(annotations), np.int32)
        count, last = kernels.match(annotations, self._matched, self._mark, out)
        self.candidates, self._mark = last - self._mark, last
        return out[:count]

    @property
    def buffers(self) -> int:
        return self._matched.nbytes


def label(trees: Leaves, most: int = MOST) -> NDArray[np.uint64]:
    """The annotation of each leaf (see `pack_leaf`).

    >>> from matchwood.lab.papers.fontoura.conjunction_index import Conjunctions
    >>> from matchwood.kernels.programs import AND, OR, pack_operator
    >>> two, three, either = pack_operator(AND, 2), pack_operator(AND, 3), pack_operator(OR, 3)
    >>> tree = np.array([either, two, 0, 1, 2, three, 3, 4, 5], np.int32)  # the paper's Figure 5
    >>> leaf = Conjunctions(np.arange(7), np.arange(6, dtype=np.int32))
    >>> words = label(Leaves(tree, np.array([0, 9]), leaf), most=10)
    >>> [tuple(map(int, kernels.interval_of(word))) for word in words]
    [(1, 1), (2, 10), (1, 10), (1, 4), (5, 5), (6, 10)]
    """
    count = len(trees.conjunctions.start) - 1
    sizes, deepest = kernels.count_leaves(trees.words, trees.start)
    if sizes.max(initial=0) > most:
        raise Unsupported(
            f"a rule has {sizes.max():,} leaf conjunctions; an interval ID of 16 bits per bound "
            f"holds {most:,}"
        )
    words = np.empty(count, np.uint64)
    kernels.label(
        trees.words, trees.start, sizes, most, np.empty((deepest + 1, 7), np.int64), words
    )
    return words
