"""Distinct tuples of small integers, numbered as they come: a hash table that kernels can read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.le_subscribe import tuples_kernels as kernels
from matchwood.lab.papers.le_subscribe.tuples_kernels import (
    FREE,
)
from matchwood.lab.papers.shared.rule_numbers import roomy


class Tuples:
    """Tuple n is pool[start[n]:start[n + 1]]; `table` has the numbers by hash.

    >>> tuples = Tuples()
    >>> tuples.add([3, 1]), tuples.add([3]), tuples.add([3, 1]), len(tuples)
    (0, 1, 0, 2)
    """

    def __init__(self) -> None:
        self.table = np.full(16, FREE, np.int32)
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

    def add_all(self, start: Int64Array, flat: Int32Array) -> Int32Array:
        """The numbers of the tuples flat[start[i]:start[i + 1]]."""
        count = self._count + len(start) - 1
        self.start = roomy(self.start, count + 1)
        self.pool = roomy(self.pool, int(self.start[self._count]) + len(flat))
        if 2 * count > len(self.table):
            self.table = np.full(1 << (4 * count - 1).bit_length(), FREE, np.int32)
            kernels.fill_table(self.table, self.start, self.pool, self._count)
        numbers = np.empty(len(start) - 1, np.int32)
        self._count = kernels.add_all(
            self.table, self.start, self.pool, self._count, start, flat, numbers
        )
        return numbers
