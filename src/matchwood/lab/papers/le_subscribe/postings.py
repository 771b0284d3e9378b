"""Lists of rules that grow and shrink: which rules belong to a key, where keys are small numbers.

All lists are in one array of entries. A list that outgrows its room moves to the end with twice as
much; the holes that are left behind are closed when the array is full.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import postings_kernels as kernels
from matchwood.lab.papers.le_subscribe.postings_kernels import (
    AT,
    ROOM,
    SIZE,
)
from matchwood.lab.papers.shared.rule_numbers import roomy


class Postings:
    """Lists by key.

    >>> postings = Postings(np.array([1, 0, 1]), np.array([7, 8, 9], np.int32))
    >>> postings.put(3, 5), postings.drop(1, 7), postings.of(1).tolist(), postings.of(3).tolist()
    (None, 1, [9], [5])
    """

    def __init__(self, keys: NDArray[np.integer], values: Int32Array) -> None:
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

    def of(self, key: int) -> Int32Array:
        at, size, _ = self.lists[key].tolist()
        return self.entries[at : at + size]

    def put(self, key: int, value: int) -> None:
        """Add a value to the list of a key, which may be new."""
        self.lists = roomy(self.lists, key + 1)
        self.entries, self._used = kernels.put(self.lists, self.entries, self._used, key, value)

    def drop(self, key: int, value: int) -> int:
        """Remove a value from a list, which has it; returns how many are left."""
        return int(kernels.drop(self.lists, self.entries, key, value))
