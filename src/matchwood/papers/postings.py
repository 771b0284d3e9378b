"""Lists of rules that grow and shrink: which rules belong to a key, where keys are small numbers.

All lists are in one run of entries. A list that outgrows its room moves to the end with twice as
much; what moved leaves a hole, and holes are closed when the run is full.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, lean
from matchwood.papers.roster import roomy

Ints = NDArray[np.int32]

AT, SIZE, ROOM = range(3)  # of a list, in `lists`


class Postings:
    """Lists by key.

    >>> postings = Postings(np.array([1, 0, 1]), np.array([7, 8, 9], np.int32))
    >>> postings.put(3, 5), postings.drop(1, 7), postings.of(1).tolist(), postings.of(3).tolist()
    (None, 1, [9], [5])
    """

    def __init__(self, keys: NDArray[np.integer], values: Ints) -> None:
        """One entry for each key and value, in the order of keys."""
        self.lists = np.zeros((int(keys.max(initial=-1)) + 1, 3), np.int32)
        self.lists[:, SIZE] = np.bincount(keys, minlength=len(self.lists))
        self.lists[:, ROOM] = self.lists[:, SIZE]
        self.lists[1:, AT] = np.cumsum(self.lists[:-1, SIZE])
        self.entries = np.ascontiguousarray(values[np.argsort(keys, kind="stable")])
        self._used = len(self.entries)

    @property
    def bytes(self) -> int:
        return self.lists.nbytes + 4 * self._used

    def of(self, key: int) -> Ints:
        at, size, _ = self.lists[key].tolist()
        return self.entries[at : at + size]

    def put(self, key: int, value: int) -> None:
        """Add a value to the list of a key, which may be new."""
        self.lists = roomy(self.lists, key + 1)
        self.entries, self._used = _put(self.lists, self.entries, self._used, key, value)

    def drop(self, key: int, value: int) -> int:
        """Take a value out of a list, in which it is; how many are left there."""
        return int(_drop(self.lists, self.entries, key, value))


@compiled
def _put(lists, entries, used, key, value):
    mine = lists[key]
    if mine[SIZE] == mine[ROOM]:
        room = 2 * mine[ROOM] + 2
        if used + room > len(entries):
            total = np.int64(0)
            for other in range(len(lists)):
                total += lists[other, ROOM]
            larger = np.empty(total + total // 4 + 2 * room + 64, np.int32)
            used = 0
            for other in range(len(lists)):
                low, size = lists[other, AT], lists[other, SIZE]
                larger[used : used + size] = entries[low : low + size]
                lists[other, AT] = used
                used += lists[other, ROOM]
            entries = larger
        entries[used : used + mine[SIZE]] = entries[mine[AT] : mine[AT] + mine[SIZE]]
        mine[AT], mine[ROOM] = used, room
        used += room
    entries[mine[AT] + mine[SIZE]] = value
    mine[SIZE] += 1
    return entries, used


@lean
def _drop(lists, entries, key, value):
    mine = lists[key]
    for i in range(mine[AT], mine[AT] + mine[SIZE]):
        if entries[i] == value:
            mine[SIZE] -= 1
            entries[i] = entries[mine[AT] + mine[SIZE]]
            break
    return mine[SIZE]
