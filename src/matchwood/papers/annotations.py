"""The annotations database (Fontoura et al. 2010, Figure 1): where each conjunction occurs.

An `Index` is a conjunction index with something noted of every occurrence of a conjunction: the
rule, and in the algorithms of the paper its place in the rule, packed into one word that begins
with the number of the rule, so that sorted words are by rule and place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import lean
from matchwood.papers.conjunctions import ConjunctionIndex, Conjunctions

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Annotations = NDArray[Any]  # unsigned words of 64 bits, or numbers of rules
_FEW = 1000  # words, for which counting digits does not pay
_DIGIT = 11  # bits


class Index(ABC):
    """What is built once from some rules, which are numbered from 0; three steps find the true."""

    visited = 0  # entries of lists that the last `find` read
    candidates = 0  # rules that the last `evaluate` looked at

    def note(
        self,
        conjunctions: Conjunctions,
        annotations: Annotations,
        share: bool = True,
        walk: bool = False,
    ) -> Ints:
        """Index conjunctions with an annotation for each; what number each of them has.

        Called once, first. Equal conjunctions have one number, and their annotations are together.
        """
        self._index, numbers = ConjunctionIndex.of(conjunctions, share, walk)
        self._start = np.zeros(self._index.size + 1, np.int64)
        np.cumsum(np.bincount(numbers, minlength=self._index.size), out=self._start[1:])
        self._annotations = np.empty(len(numbers), annotations.dtype)
        _place(numbers, annotations, self._start[:-1].copy(), self._annotations)
        return numbers

    @property
    def conjunctions(self) -> int:
        """How many distinct ones there are."""
        return self._index.size

    def find(self, true: Ints) -> Ints:
        """The conjunctions that are true where these literals are."""
        found = self._index.find(true)
        self.visited = self._index.visited
        return found

    def sort(self, conjunctions: Ints) -> Annotations:
        """The annotations of the conjunctions, in order."""
        return in_order(self.annotations(conjunctions))

    def annotations(self, conjunctions: Ints) -> Annotations:
        """The annotations of the conjunctions."""
        out = np.empty(_total(conjunctions, self._start), self._annotations.dtype)
        _collect(conjunctions, self._start, self._annotations, out)
        return out

    @abstractmethod
    def evaluate(self, annotations: Annotations) -> Ints:
        """The rules that are true, from what `sort` gave."""

    @property
    def bytes(self) -> int:
        """Of its arrays."""
        return self._index.bytes + self._start.nbytes + self._annotations.nbytes


def in_order(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words in ascending order: by digits, from the lowest, where there are many."""
    if len(words) < _FEW:
        words.sort()
        return words
    other = np.empty_like(words)
    moved = _by_digits(words, other, np.empty(1 << _DIGIT, np.int64))
    return other if moved else words


@lean
def _by_digits(words, other, end):
    """Sorts by one digit after the other, each time into the other array; whether it ends there.

    Digits that are the same in all words are left out.
    """
    different = np.uint64(0)
    for word in words:
        different |= word ^ words[0]
    moved = False
    mask = np.uint64((1 << _DIGIT) - 1)
    for digit in range(0, 64, _DIGIT):
        shift = np.uint64(digit)
        if (different >> shift) & mask == 0:
            continue
        end[:] = 0
        for word in words:
            end[(word >> shift) & mask] += 1
        total = 0
        for i in range(len(end)):
            count = end[i]
            end[i] = total
            total += count
        for word in words:
            place = (word >> shift) & mask
            other[end[place]] = word
            end[place] += 1
        words, other = other, words
        moved = not moved
    return moved


@lean
def _place(numbers, annotations, end, out):
    """Annotations by conjunction; `end` moves through those of each."""
    for i in range(len(numbers)):
        out[end[numbers[i]]] = annotations[i]
        end[numbers[i]] += 1


@lean
def _total(conjunctions, start):
    total = 0
    for c in conjunctions:
        total += start[c + 1] - start[c]
    return total


@lean
def _collect(conjunctions, start, annotations, out):
    top = 0
    for c in conjunctions:
        for i in range(start[c], start[c + 1]):
            out[top] = annotations[i]
            top += 1
