"""Which predicates are true of an event: Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 2.

"The predicates are clustered by comparison operator and attribute." A cluster has the values of
its predicates in order, each once, and a list of the rules that each stands in (`pred_to_subs`).
A true equality is found by binary search; of the bounds, those on one side of the event's value
are all true, so that one search finds where they begin.

All clusters are one sorted array of keys: axis, operator, value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import inlined, lean
from matchwood.papers.conjunctive import FIRST, LAST
from matchwood.papers.postings import AT, SIZE, Postings
from matchwood.papers.subscriptions import AXIS, HIGH, LOW, Ints, Longs

EQUAL, LESS, GREATER = range(3)
_BITS = 31  # of a code in a key


class PredicateClusters:
    """Predicates in clusters, and the rules of each."""

    def __init__(self, rows: Ints, owner: Ints) -> None:
        keys, place = keys_of(rows)
        self.keys, numbers = np.unique(keys, return_inverse=True)
        self.numbers = np.arange(len(self.keys), dtype=np.int32)  # of predicates, by place
        self.postings = Postings(numbers, owner[place])
        self._satisfied = np.empty(len(self.keys) + 1, np.int32)

    @property
    def bytes(self) -> int:
        arrays = (self.keys, self.numbers, self._satisfied)
        return sum(array.nbytes for array in arrays) + self.postings.bytes

    def insert(self, rows: Ints, owner: int) -> int:
        """Add the predicates of a rule; how many there are."""
        keys, _ = keys_of(rows)
        for key in keys.tolist():
            place = int(np.searchsorted(self.keys, key))
            if place == len(self.keys) or self.keys[place] != key:
                number = len(self.keys)
                self.keys = np.insert(self.keys, place, key)
                self.numbers = np.insert(self.numbers, place, number)
            self.postings.put(int(self.numbers[place]), owner)
        return len(keys)

    def delete(self, rows: Ints, owner: int) -> None:
        """Take a rule out of the lists of its predicates; a predicate stays."""
        for place in np.searchsorted(self.keys, keys_of(rows)[0]).tolist():
            self.postings.drop(int(self.numbers[place]), owner)

    def satisfied(self, codes: Ints) -> Ints:
        """The predicates that are true of an event; the array is used again."""
        if len(self._satisfied) < len(self.keys):
            self._satisfied = np.empty(len(self.keys) * 5 // 4, np.int32)
        found = _satisfied(self.keys, self.numbers, codes, self._satisfied)
        return self._satisfied[:found]

    def count(self, satisfied: Ints, hits: NDArray[np.uint16]) -> int:
        """Count the true predicates of each rule; how many entries of lists were read."""
        lists, entries = self.postings.lists, self.postings.entries
        return int(_count(satisfied, lists, entries, hits))


def keys_of(rows: Ints) -> tuple[Longs, Longs]:
    """The keys of the predicates of rows, and the place of the row of each."""
    axis, low, high = rows[:, AXIS].astype(np.int64), rows[:, LOW], rows[:, HIGH]
    equal = low == high
    less = ~equal & ((high != LAST) | (low == FIRST))
    greater = ~equal & (low != FIRST)
    found = []
    for operator, which, bound in (
        (EQUAL, equal, low),
        (LESS, less, high),
        (GREATER, greater, low),
    ):
        found.append(((axis[which] * 3 + operator) << _BITS) | bound[which])
    place = np.concatenate([np.flatnonzero(which) for which in (equal, less, greater)])
    return np.concatenate(found), place


@inlined
def _first(keys, axis, operator, code):
    """The first place whose key is not below."""
    key = (np.int64(axis * 3 + operator) << _BITS) | np.int64(code)
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def _satisfied(keys, numbers, codes, out):
    """Step 1: eqpredmatch, lesspredmatch and greaterpredmatch for each attribute of the event."""
    top = 0
    for axis in range(len(codes)):
        code = np.int64(codes[axis])
        if code < 0:
            continue
        place = _first(keys, axis, EQUAL, code)
        for i in range(place, _first(keys, axis, EQUAL, code + 1)):
            out[top] = numbers[i]
            top += 1
        for i in range(_first(keys, axis, LESS, code), _first(keys, axis, GREATER, 0)):
            out[top] = numbers[i]
            top += 1
        last = _first(keys, axis, GREATER, code + 1)
        for i in range(_first(keys, axis, GREATER, 0), last):
            out[top] = numbers[i]
            top += 1
    return top


@lean
def _count(satisfied, lists, entries, hits):
    """Step 2, lines 8 to 12."""
    visited = 0
    for predicate in satisfied:
        at, size = lists[predicate, AT], lists[predicate, SIZE]
        visited += size
        for i in range(at, at + size):
            hits[entries[i]] += 1
    return visited
