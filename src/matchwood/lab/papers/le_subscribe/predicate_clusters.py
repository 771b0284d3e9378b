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

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.le_subscribe import predicate_clusters_kernels as kernels
from matchwood.lab.papers.le_subscribe.postings import Postings
from matchwood.lab.papers.le_subscribe.predicate_keys import (
    EQUAL,
    GREATER,
    LESS,
    pack_cluster,
    pack_key,
)
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, HIGH, LOW
from matchwood.lab.papers.shared.axes_kernels import FIRST, LAST


class PredicateClusters:
    """Predicates in clusters, and the rules of each."""

    def __init__(self, rows: Int32Array, owner: Int32Array) -> None:
        keys, row = keys_of(rows)
        self.keys, numbers = np.unique(keys, return_inverse=True)
        self.numbers = np.arange(len(self.keys), dtype=np.int32)  # the predicate of each key
        self.postings = Postings(numbers, owner[row])
        self._satisfied = np.empty(len(self.keys) + 1, np.int32)

    @property
    def bytes(self) -> int:
        arrays = (self.keys, self.numbers, self._satisfied)
        return sum(array.nbytes for array in arrays) + self.postings.bytes

    def insert(self, rows: Int32Array, owner: int) -> int:
        """Add the predicates of a rule; returns how many there are."""
        keys, _ = keys_of(rows)
        for key in keys.tolist():
            position = int(np.searchsorted(self.keys, key))
            if position == len(self.keys) or self.keys[position] != key:
                number = len(self.keys)
                self.keys = np.insert(self.keys, position, key)
                self.numbers = np.insert(self.numbers, position, number)
            self.postings.put(int(self.numbers[position]), owner)
        return len(keys)

    def delete(self, rows: Int32Array, owner: int) -> None:
        """Remove a rule from the lists of its predicates; the predicates stay."""
        for position in np.searchsorted(self.keys, keys_of(rows)[0]).tolist():
            self.postings.drop(int(self.numbers[position]), owner)

    def satisfied(self, codes: Int32Array) -> Int32Array:
        """The predicates that are true of an event; the next call overwrites the array."""
        if len(self._satisfied) < len(self.keys):
            self._satisfied = np.empty(len(self.keys) * 5 // 4, np.int32)
        count = kernels.find_satisfied(self.keys, self.numbers, codes, self._satisfied)
        return self._satisfied[:count]

    def count(self, satisfied: Int32Array, hits: NDArray[np.uint16]) -> int:
        """Count the true predicates of each rule; returns how many entries of lists were read."""
        lists, entries = self.postings.lists, self.postings.entries
        return int(kernels.count(satisfied, lists, entries, hits))

    def forget(self, satisfied: Int32Array, visited: int, hits: NDArray[np.uint16]) -> None:
        """Set counts back to 0: those that were raised, or all if as many entries were read.

        So an event that few predicates are true of takes no longer where there are more rules.
        """
        if visited >= len(hits):
            hits[:] = 0
        else:
            kernels.forget(satisfied, self.postings.lists, self.postings.entries, hits)


def keys_of(rows: Int32Array) -> tuple[Int64Array, Int64Array]:
    """The keys of the predicates of rows, and the index of the row of each."""
    axis, low, high = rows[:, AXIS].astype(np.int64), rows[:, LOW], rows[:, HIGH]
    equal = low == high
    less = ~equal & ((high != LAST) | (low == FIRST))
    greater = ~equal & (low != FIRST)
    keys = []
    for operator, selected, bound in (
        (EQUAL, equal, low),
        (LESS, less, high),
        (GREATER, greater, low),
    ):
        keys.append(pack_key(pack_cluster(axis[selected], operator), bound[selected]))
    row = np.concatenate([np.flatnonzero(selected) for selected in (equal, less, greater)])
    return np.concatenate(keys), row
