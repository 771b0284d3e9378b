"""Distinct tuples of small integers, numbered as they come: a hash table that kernels can read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import lean
from matchwood.papers.roster import roomy

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

_FREE = -1


class Tuples:
    """Tuple n is pool[start[n]:start[n + 1]]; `table` has the numbers by hash.

    >>> tuples = Tuples()
    >>> tuples.add([3, 1]), tuples.add([3]), tuples.add([3, 1]), len(tuples)
    (0, 1, 0, 2)
    """

    def __init__(self) -> None:
        self.table = np.full(16, _FREE, np.int32)
        self.start = np.zeros(9, np.int64)
        self.pool = np.zeros(16, np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        used = int(self.start[self._count])
        return self.table.nbytes + 8 * (self._count + 1) + 4 * used

    def add(self, items: Sequence[int]) -> int:
        """The number of a tuple, which may be new."""
        flat = np.array(items, np.int32)
        return int(self.add_all(np.array([0, len(flat)], np.int64), flat)[0])

    def add_all(self, start: Longs, flat: Ints) -> Ints:
        """The numbers of the tuples flat[start[i]:start[i + 1]]."""
        count = self._count + len(start) - 1
        self.start = roomy(self.start, count + 1)
        self.pool = roomy(self.pool, int(self.start[self._count]) + len(flat))
        if 2 * count > len(self.table):
            self.table = np.full(1 << (4 * count - 1).bit_length(), _FREE, np.int32)
            _fill(self.table, self.start, self.pool, self._count)
        numbers = np.empty(len(start) - 1, np.int32)
        self._count = _add_all(self.table, self.start, self.pool, self._count, start, flat, numbers)
        return numbers


@lean
def place_of(table, start, pool, items, width):
    """Where in the table items[:width] is, or where it would be put."""
    mixed = np.uint64(width)
    for i in range(width):
        mixed = (mixed ^ np.uint64(items[i])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = np.uint64(len(table) - 1)
    place = mixed & mask
    while table[place] != _FREE:
        low = start[table[place]]
        if start[table[place] + 1] - low == width:
            same = True
            for i in range(width):
                if pool[low + i] != items[i]:
                    same = False
                    break
            if same:
                break
        place = (place + np.uint64(1)) & mask
    return place


@lean
def _fill(table, start, pool, count):
    for number in range(count):
        low = start[number]
        items = pool[low : start[number + 1]]
        table[place_of(table, start, pool, items, len(items))] = number


@lean
def _add_all(table, start, pool, count, given, flat, numbers):
    for i in range(len(given) - 1):
        items = flat[given[i] : given[i + 1]]
        place = place_of(table, start, pool, items, len(items))
        if table[place] == _FREE:
            table[place] = count
            low = start[count]
            for j in range(len(items)):
                pool[low + j] = items[j]
            count += 1
            start[count] = low + len(items)
        numbers[i] = table[place]
    return count
