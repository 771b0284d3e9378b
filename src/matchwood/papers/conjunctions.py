"""The conjunction index: inverted lists of conjunctions, kept apart by their number of predicates.

The k-index of Whang et al., *Indexing Boolean expressions*, PVLDB 2(1), 2009, which Fontoura et
al., SIGMOD 2010, §2.1 and §5.2, find their leaf-level conjunctions with. A conjunction is a set of
literals; equal ones are one. Conjunctions are numbered by size, so that the part of a list that
belongs to size k is one stretch of it, in the order of numbers.

There a list belongs to an attribute and a value, and a ∉ predicate rejects conjunctions, because
it is true of a missing attribute. Here a list belongs to a literal: which are true of an event is
looked up as for all algorithms (`predicates`), and a ∉ predicate is a negated literal like any
other, true only of an attribute that is there. So an event has as many lists as true literals,
many more than pairs, and two ways of reading them make sense:

- *counting*: each entry takes one from what its conjunction still lacks; those that come to
  nothing are found. This is the default.
- *walking*, the paper's own: for each size k the lists are kept in the order of their current
  entries. Where the first and the k-th are of one conjunction it is found, else those before the
  k-th skip to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, lean

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Conjunctions(NamedTuple):
    """Conjunction i is literals[start[i]:start[i + 1]], in ascending order."""

    start: Longs
    literals: Ints


class ConjunctionIndex:
    """Which of many conjunctions are true where these literals are.

    >>> given = Conjunctions(np.array([0, 2, 3, 5]), np.array([0, 4, 2, 0, 4], np.int32))
    >>> index, numbers = ConjunctionIndex.of(given)
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
        self._left = sizes.astype(np.uint16 if longest < 1 << 16 else np.uint32)
        self._keys, self._start, self._entries = _lists(conjunctions)

    @classmethod
    def of(
        cls, given: Conjunctions, share: bool = True, walk: bool = False
    ) -> tuple[ConjunctionIndex, Ints]:
        """An index, and the number in it of each conjunction that is given."""
        numbers = np.arange(len(given.start) - 1, dtype=np.int32)
        if share:
            firsts, numbers = _distinct(given.start, given.literals)
            given = _taken(given, firsts)
        order = np.argsort(np.diff(given.start), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return cls(_taken(given, order), walk), place[numbers]

    @property
    def bytes(self) -> int:
        arrays = (self._first, self._left, self._keys, self._start, self._entries)
        return sum(array.nbytes for array in arrays)

    def find(self, true: Ints) -> Ints:
        """The conjunctions of which all literals are true; each literal is given once."""
        lists = np.empty((len(true), 2), np.int64)
        entries = _begin(true, self._keys, self._start, lists)
        found = np.empty(min(entries, self.size) + int(self._first[1]), np.int32)
        if self.walk:
            count, self.visited = _walk(lists, self._entries, self._first, found)
        else:
            count = _count(lists, self._entries, self._first, self._left, found)
            self.visited = entries
        return found[:count]


def _taken(given: Conjunctions, which: NDArray[np.integer]) -> Conjunctions:
    start = np.zeros(len(which) + 1, np.int64)
    np.cumsum(np.diff(given.start)[which], out=start[1:])
    literals = np.empty(int(start[-1]), np.int32)
    _copy(given.start, given.literals, which, start, literals)
    return Conjunctions(start, literals)


def _lists(conjunctions: Conjunctions) -> tuple[Ints, Longs, Ints]:
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
    _invert(conjunctions.start, literals, start[:-1].copy(), entries)
    return keys, start, entries


@compiled
def _distinct(start, literals):
    """The first of each set of equal conjunctions, and for each conjunction which set is its."""
    size = 16
    while size < 2 * len(start):
        size *= 2
    table = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    firsts = np.empty(len(start) - 1, np.int64)
    numbers = np.empty(len(start) - 1, np.int32)
    count = 0
    for c in range(len(start) - 1):
        low, width = start[c], start[c + 1] - start[c]
        mixed = np.uint64(width)
        for i in range(low, low + width):
            mixed = (mixed ^ np.uint64(literals[i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        place = mixed & mask
        while table[place] >= 0:
            other = start[firsts[table[place]]]
            same = start[firsts[table[place]] + 1] - other == width
            i = 0
            while same and i < width:
                same = literals[low + i] == literals[other + i]
                i += 1
            if same:
                break
            place = (place + np.uint64(1)) & mask
        if table[place] < 0:
            table[place] = count
            firsts[count] = c
            count += 1
        numbers[c] = table[place]
    return firsts[:count].copy(), numbers


@lean
def _copy(start, literals, which, new_start, out):
    for i in range(len(which)):
        low = start[which[i]]
        for j in range(new_start[i + 1] - new_start[i]):
            out[new_start[i] + j] = literals[low + j]


@lean
def _invert(start, lists, end, entries):
    """Conjunctions to inverted lists, in order of conjunctions; `end` moves through each list."""
    for c in range(len(start) - 1):
        for i in range(start[c], start[c + 1]):
            entries[end[lists[i]]] = c
            end[lists[i]] += 1


@lean
def _begin(true, keys, start, lists):
    """The bounds of the list of each literal, empty where it has none; entries of all."""
    entries = 0
    for i in range(len(true)):
        place = np.int64(true[i])
        if len(keys) > 0:
            low, high = np.int64(0), np.int64(len(keys))
            while low < high:
                middle = (low + high) >> 1
                if keys[middle] < place:
                    low = middle + 1
                else:
                    high = middle
            place = low if low < len(keys) and keys[low] == place else np.int64(len(start))
        if place + 1 < len(start):
            lists[i, 0], lists[i, 1] = start[place], start[place + 1]
        else:
            lists[i, 0], lists[i, 1] = 0, 0
        entries += lists[i, 1] - lists[i, 0]
    return entries


@lean
def _count(lists, entries, first, left, found):
    """Take one from `left` for each entry, note what comes to nothing, and give all back."""
    top = 0
    for c in range(first[1]):  # of size 0: true of every event
        found[top] = c
        top += 1
    for i in range(len(lists)):
        for j in range(lists[i, 0], lists[i, 1]):
            c = entries[j]
            left[c] -= 1
            if left[c] == 0:
                found[top] = c
                top += 1
    for i in range(len(lists)):
        for j in range(lists[i, 0], lists[i, 1]):
            left[entries[j]] += 1
    return top


@compiled
def _walk(lists, entries, first, found):
    """The walk of Whang et al. over the lists of each size k in turn; found, and entries read.

    `heap` holds current entry << 32 | list, so that its k smallest are the first k lists of the
    sorted order there.
    """
    top = 0
    visited = 0
    for c in range(first[1]):
        found[top] = c
        top += 1
    heap = np.empty(len(lists), np.int64)
    popped = np.empty(len(first), np.int64)
    for k in range(1, len(first) - 1):
        size = 0
        for i in range(len(lists)):
            if lists[i, 0] < lists[i, 1] and entries[lists[i, 0]] < first[k + 1]:
                size = _push(heap, size, (np.int64(entries[lists[i, 0]]) << 32) | i)
        while size >= k:
            for p in range(k):
                popped[p] = heap[0]
                size = _pop(heap, size)
            goal = popped[k - 1] >> 32
            if popped[0] >> 32 == goal:
                found[top] = goal
                top += 1
                goal += 1
            for p in range(k):
                i = popped[p] & 0xFFFFFFFF
                visited += 1
                at = _skip(entries, lists[i, 0], lists[i, 1], goal)
                lists[i, 0] = at
                if at < lists[i, 1] and entries[at] < first[k + 1]:
                    size = _push(heap, size, (np.int64(entries[at]) << 32) | i)
        for h in range(size):  # fewer lists than k are left: on to the next size
            i = heap[h] & 0xFFFFFFFF
            lists[i, 0] = _skip(entries, lists[i, 0], lists[i, 1], first[k + 1])
    return top, visited


@lean
def _skip(entries, low, high, goal):
    """The first place from low on whose entry is not below the goal: steps double, then halve."""
    step = 1
    while low + step < high and entries[low + step] < goal:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) >> 1
        if entries[middle] < goal:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def _push(heap, size, value):
    place = size
    while place > 0 and heap[(place - 1) >> 1] > value:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = value
    return size + 1


@lean
def _pop(heap, size):
    """Drop the smallest."""
    value = heap[size - 1]
    size -= 1
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value
    return size
