"""Many lists that grow and shrink, in one array: the slots, buckets and cells of interval indexes.

Run r is items[at[r]] and `size[r]` behind it, with room for `room[r]`; a run without room moves to
the end, and once there is none at the end either, holes are closed. Where runs are keyed, each item
has a key beside it; where they are ordered, items are in the order of their keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, lean
from matchwood.papers.roster import roomy

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


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
        self.at: Longs = np.zeros(count, np.int64)
        self.size: Ints = np.zeros(count, np.int32)
        self.room: Ints = np.zeros(count, np.int32)
        self.keys: Ints = np.empty(0, np.int32)
        self.items: Ints = np.empty(0, np.int32)
        self.used = 0
        self.count = count

    def fill(self, run: NDArray[np.integer], key: NDArray[np.integer], item: Ints) -> None:
        """Take the first items: each its run and, where runs are keyed, its key."""
        self.size[:] = np.bincount(run, minlength=len(self.size))
        self.room[:] = self.size
        self.at[:] = np.cumsum(self.size, dtype=np.int64) - self.size
        self.used = len(item)
        self.items = np.empty(len(item), np.int32)
        self.keys = np.empty(len(item) if self.keyed else 0, np.int32)
        _fill(self.at.copy(), self.keys, self.items, run, key, item)
        if self.ordered:
            _sort(self.at, self.size, self.keys, self.items)

    def reserve(self, count: int) -> None:
        """Have at least so many runs."""
        self.count = max(count, self.count)
        self.at = roomy(self.at, count)
        self.size, self.room = roomy(self.size, count), roomy(self.room, count)

    def insert(self, run: int, key: int, item: int) -> None:
        self.keys, self.items, self.used = _insert(
            self.at, self.size, self.room, self.keys, self.items, self.used,
            run, key, item, self.keyed, self.ordered,
        )  # fmt: skip

    def delete(self, run: int, key: int, item: int) -> None:
        """Take an item out; it is there, with that key."""
        found = _delete(self.at, self.size, self.keys, self.items, run, key, item, self.ordered)
        assert found, f"run {run} has no item {item}"

    def of(self, run: int) -> Ints:
        return self.items[self.at[run] : self.at[run] + self.size[run]]

    @property
    def bytes(self) -> int:
        return self.used * (8 if self.keyed else 4) + 16 * self.count


@compiled
def _fill(at, keys, items, run, key, item):
    for i in range(len(item)):
        place = at[run[i]]
        at[run[i]] += 1
        items[place] = item[i]
        if len(keys):
            keys[place] = key[i]


@compiled
def _sort(at, size, keys, items):
    both = np.empty(size.max() if len(size) else 0, np.int64)
    for run in range(len(at)):
        begin, count = at[run], size[run]
        for i in range(count):
            both[i] = np.int64(keys[begin + i]) << 32 | items[begin + i]
        both[:count].sort()
        for i in range(count):
            keys[begin + i] = both[i] >> 32
            items[begin + i] = both[i] & 0xFFFFFFFF


@compiled
def _insert(at, size, room, keys, items, used, run, key, item, keyed, ordered):
    if size[run] == room[run]:
        more = 2 * np.int64(room[run]) + 2
        if used + more > len(items):
            total = np.int64(0)
            for each in range(len(at)):
                total += room[each]
            space = total + total // 4 + 2 * more + 64
            new_items = np.empty(space, np.int32)
            new_keys = np.empty(space if keyed else 0, np.int32)
            used = np.int64(0)
            for each in range(len(at)):
                low, count = at[each], size[each]
                new_items[used : used + count] = items[low : low + count]
                if keyed:
                    new_keys[used : used + count] = keys[low : low + count]
                at[each] = used
                used += room[each]
            keys, items = new_keys, new_items
        low, count = at[run], size[run]
        items[used : used + count] = items[low : low + count]
        if keyed:
            keys[used : used + count] = keys[low : low + count]
        at[run], room[run] = used, more
        used += more
    place = at[run] + size[run]
    if ordered:
        while place > at[run] and keys[place - 1] > key:
            keys[place], items[place] = keys[place - 1], items[place - 1]
            place -= 1
    if keyed:
        keys[place] = key
    items[place] = item
    size[run] += 1
    return keys, items, used


@lean
def _delete(at, size, keys, items, run, key, item, ordered):
    end = at[run] + size[run]
    place = at[run]
    if ordered:  # the first item with the key
        low, high = place, end
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        place = low
    while place < end and items[place] != item:
        place += 1
    if place == end:
        return False
    size[run] -= 1
    if ordered:
        for i in range(place, end - 1):
            keys[i], items[i] = keys[i + 1], items[i + 1]
    else:
        items[place] = items[end - 1]
        if len(keys):
            keys[place] = keys[end - 1]
    return True
