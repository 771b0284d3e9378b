"""Many lists that grow and shrink, in one array: the slots, buckets and cells of interval indexes.

Run r is items[at[r] : at[r] + size[r]], with room for `room[r]` items; a run without room moves to
the end of the array, and once there is no room either, all runs are compacted. Where runs are
keyed, each item has a key beside it; where they are ordered, items are in the order of their keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.boxes import runs_kernels as kernels
from matchwood.lab.papers.shared.rule_numbers import roomy


class Runs:
    """Lists of numbers, by number.

    >>> runs = Runs(2, ordered=True)
    >>> runs.fill(np.array([1, 1, 0]), np.array([9, 3, 5]), np.array([7, 8, 9]))
    >>> runs.insert(1, 4, 6)
    >>> runs.delete(1, 9, 7)
    >>> runs.of(1).tolist(), runs.size.tolist()
    ([8, 6], [1, 2])
    """

    def __init__(self, count: int, keyed: bool = True, ordered: bool = False) -> None:
        self.keyed, self.ordered = keyed or ordered, ordered
        self.at: Int64Array = np.zeros(count, np.int64)
        self.size: Int32Array = np.zeros(count, np.int32)
        self.room: Int32Array = np.zeros(count, np.int32)
        self.keys: Int32Array = np.empty(0, np.int32)
        self.items: Int32Array = np.empty(0, np.int32)
        self.used = 0
        self.count = count

    def fill(self, run: NDArray[np.integer], key: NDArray[np.integer], item: Int32Array) -> None:
        """Take the first items, each with its run and, where runs are keyed, its key."""
        self.size[:] = np.bincount(run, minlength=len(self.size))
        self.room[:] = self.size
        self.at[:] = np.cumsum(self.size, dtype=np.int64) - self.size
        self.used = len(item)
        self.items = np.empty(len(item), np.int32)
        self.keys = np.empty(len(item) if self.keyed else 0, np.int32)
        kernels.fill(self.at.copy(), self.keys, self.items, run, key, item)
        if self.ordered:
            kernels.sort(self.at, self.size, self.keys, self.items)

    def reserve(self, count: int) -> None:
        """Have at least so many runs."""
        self.count = max(count, self.count)
        self.at = roomy(self.at, count)
        self.size, self.room = roomy(self.size, count), roomy(self.room, count)

    def insert(self, run: int, key: int, item: int) -> None:
        self.keys, self.items, self.used = kernels.insert(
            self.at, self.size, self.room, self.keys, self.items, self.used,
            run, key, item, self.keyed, self.ordered,
        )  # fmt: skip

    def delete(self, run: int, key: int, item: int) -> None:
        """Remove an item, which is there with that key."""
        was_there = kernels.delete(
            self.at, self.size, self.keys, self.items, run, key, item, self.ordered
        )
        assert was_there, f"run {run} has no item {item}"

    def of(self, run: int) -> Int32Array:
        return self.items[self.at[run] : self.at[run] + self.size[run]]

    @property
    def bytes(self) -> int:
        return self.used * (8 if self.keyed else 4) + 16 * self.count
