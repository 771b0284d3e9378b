"""The conjunction index: inverted lists of conjunctions, kept apart by their number of predicates.

The k-index of Whang et al., *Indexing Boolean expressions*, PVLDB 2(1), 2009, which Fontoura et
al., SIGMOD 2010, §2.1 and §5.2, find their leaf-level conjunctions with. A conjunction is a set of
literals; equal ones are one. Conjunctions are numbered by size, so that the part of a list that
belongs to size k is one stretch of it, in the order of numbers.

There a list belongs to an attribute and a value, and a ∉ predicate rejects conjunctions, because
it is true of a missing attribute. Here a list belongs to a literal: the true literals of an event
are looked up as for all algorithms (`predicate_lookup`), and a ∉ predicate is a negated literal
like any other, true only if the attribute is there. So an event has as many lists as true literals,
many more than attributes, and two ways of reading them make sense:

- *counting*: each entry takes one from the count of literals that its conjunction still lacks; a
  conjunction that lacks none is found. This is the default.
- *walking*, the paper's own: for each size k the lists are kept in the order of their current
  entries. Where the first and the k-th are of one conjunction it is found, else those before the
  k-th skip to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura import conjunction_index_kernels as kernels


class Conjunctions(NamedTuple):
    """Conjunction i is literals[start[i]:start[i + 1]], in ascending order."""

    start: Int64Array
    literals: Int32Array


class ConjunctionIndex:
    """Finds the conjunctions that are true, given the true literals.

    >>> conjunctions = Conjunctions(np.array([0, 2, 3, 5]), np.array([0, 4, 2, 0, 4], np.int32))
    >>> index, numbers = ConjunctionIndex.of(conjunctions)
    >>> numbers.tolist(), index.size  # the first and the last are equal
    ([1, 0, 1], 2)
    >>> index.find(np.array([4, 0], np.int32)).tolist()
    [1]
    """

    visited = 0  # entries that the last `find` read

    def __init__(self, conjunctions: Conjunctions, walk: bool = False) -> None:
        """Conjunctions in the order of their sizes; `of` takes them in any order."""
        sizes = np.diff(conjunctions.start)
        self.size = len(sizes)
        self.walk = walk
        longest = int(sizes.max(initial=0))
        self._first = np.searchsorted(sizes, np.arange(longest + 2)).astype(np.int64)  # of size k
        counts = sizes[:0] if walk else sizes  # a walk counts nothing
        self._left = counts.astype(np.uint16 if longest < 1 << 16 else np.uint32)
        self._keys, self._start, self._entries = _lists(conjunctions)

    @classmethod
    def of(
        cls, conjunctions: Conjunctions, share: bool = True, walk: bool = False
    ) -> tuple[ConjunctionIndex, Int32Array]:
        """An index, and the number in it of each conjunction that is given."""
        numbers = np.arange(len(conjunctions.start) - 1, dtype=np.int32)
        if share:
            firsts, numbers = kernels.distinct(conjunctions.start, conjunctions.literals)
            conjunctions = _taken(conjunctions, firsts)
        order = np.argsort(np.diff(conjunctions.start), kind="stable")
        number_of = np.empty(len(order), np.int32)
        number_of[order] = np.arange(len(order), dtype=np.int32)
        return cls(_taken(conjunctions, order), walk), number_of[numbers]

    @property
    def bytes(self) -> int:
        arrays = (self._first, self._left, self._keys, self._start, self._entries)
        return sum(array.nbytes for array in arrays)

    def find(self, true: Int32Array) -> Int32Array:
        """The conjunctions of which all literals are true; each literal is given once."""
        lists = np.empty((len(true), kernels.LIST_COLUMNS), np.int64)
        entries = kernels.begin_lists(true, self._keys, self._start, lists)
        true_conjunctions = np.empty(min(entries, self.size) + int(self._first[1]), np.int32)
        if self.walk:
            count, self.visited = kernels.walk(lists, self._entries, self._first, true_conjunctions)
        else:
            count = kernels.count_down(
                lists, self._entries, self._first, self._left, true_conjunctions
            )
            self.visited = entries
        return true_conjunctions[:count]


def _taken(conjunctions: Conjunctions, chosen: NDArray[np.integer]) -> Conjunctions:
    start = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(np.diff(conjunctions.start)[chosen], out=start[1:])
    literals = np.empty(int(start[-1]), np.int32)
    kernels.copy(conjunctions.start, conjunctions.literals, chosen, start, literals)
    return Conjunctions(start, literals)


def _lists(conjunctions: Conjunctions) -> tuple[Int32Array, Int64Array, Int32Array]:
    """Keys, start and entries of the inverted lists.

    A literal is the number of its list, and there are no keys; where few of those below the
    largest have a list, as in a small delta index, the list is found among sorted keys.
    """
    literals = conjunctions.literals
    keys = np.empty(0, np.int32)
    room = int(literals.max(initial=-1)) + 1
    if 8 * len(literals) < room:
        keys, places = np.unique(literals, return_inverse=True)
        literals, room = places.astype(np.int32), len(keys)
    start = np.zeros(room + 1, np.int64)
    np.cumsum(np.bincount(literals, minlength=room), out=start[1:])
    entries = np.empty(len(literals), np.int32)
    kernels.invert(conjunctions.start, literals, start[:-1].copy(), entries)
    return keys, start, entries
