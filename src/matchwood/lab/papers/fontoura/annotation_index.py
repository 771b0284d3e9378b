"""The annotations database (Fontoura et al. 2010, Figure 1): where each conjunction occurs.

An `AnnotationIndex` is a conjunction index that keeps an annotation of every occurrence of a
conjunction: the rule and, in the algorithms of the paper, the position in the rule, packed into one
word that begins with the number of the rule, so that sorting words sorts
them by rule and position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.fontoura import annotation_index_kernels as kernels
from matchwood.lab.papers.fontoura.annotation_index_kernels import (
    DIGIT,
)
from matchwood.lab.papers.fontoura.conjunction_index import ConjunctionIndex, Conjunctions

Annotations = NDArray[Any]  # unsigned words of 64 bits, or numbers of rules
# Fewer words than this are sorted by comparison, not by digits.
_FEW = 1000


class AnnotationIndex(ABC):
    """An index that is built once from rules, numbered from 0; three steps find the true rules."""

    visited = 0  # entries of lists that the last `find` read
    candidates = 0  # rules that the last `evaluate` looked at

    def note(
        self,
        conjunctions: Conjunctions,
        annotations: Annotations,
        share: bool = True,
        walk: bool = False,
    ) -> Int32Array:
        """Index conjunctions with an annotation for each; returns the number of each.

        Called once, first. Equal conjunctions have one number, and their annotations are together.
        """
        self._index, numbers = ConjunctionIndex.of(conjunctions, share, walk)
        self._start = np.zeros(self._index.size + 1, np.int64)
        np.cumsum(np.bincount(numbers, minlength=self._index.size), out=self._start[1:])
        self._annotations = np.empty(len(numbers), annotations.dtype)
        kernels.group(numbers, annotations, self._start[:-1].copy(), self._annotations)
        return numbers

    @property
    def conjunctions(self) -> int:
        """The number of distinct conjunctions."""
        return self._index.size

    def find(self, true: Int32Array) -> Int32Array:
        """The conjunctions that are true where these literals are."""
        conjunctions = self._index.find(true)
        self.visited = self._index.visited
        return conjunctions

    def sort(self, conjunctions: Int32Array) -> Annotations:
        """The annotations of the conjunctions, in order."""
        return in_order(self.annotations(conjunctions))

    def annotations(self, conjunctions: Int32Array) -> Annotations:
        """The annotations of the conjunctions."""
        out = np.empty(
            kernels.count_annotations(conjunctions, self._start), self._annotations.dtype
        )
        kernels.collect(conjunctions, self._start, self._annotations, out)
        return out

    @abstractmethod
    def evaluate(self, annotations: Annotations) -> Int32Array:
        """The rules that are true, given the annotations that `sort` returned."""

    @property
    def bytes(self) -> int:
        """Bytes of its arrays."""
        return self._index.bytes + self._start.nbytes + self._annotations.nbytes

    @property
    def buffers(self) -> int:
        """Bytes of working space of a fixed size."""
        return 0


def in_order(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words in ascending order; many words are sorted digit by digit, from the lowest."""
    if len(words) < _FEW:
        words.sort()
        return words
    other = np.empty_like(words)
    moved = kernels.sort_by_digits(words, other, np.empty(1 << DIGIT, np.int64))
    return other if moved else words
