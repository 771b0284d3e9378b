"""Sorting a part of an array in a kernel.

Numba compiles ten functions for each `np.sort` or `np.argsort`, which takes longer than most
kernels do.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import inlined

# Up to so many items, insertion is the fastest.
_FEW = 24


@inlined
def sort_items(items: Any, low: int, high: int) -> None:
    """Sort items[low:high]: by insertion if they are few, else by a heap."""
    if high - low <= _FEW:
        for i in range(low + 1, high):
            value = items[i]
            j = i - 1
            while j >= low and items[j] > value:
                items[j + 1] = items[j]
                j -= 1
            items[j + 1] = value
        return
    size = high - low
    begin = size // 2  # items from here on are a heap, or, once it is 0, those before `end` are
    end = size
    while end > 1:
        if begin > 0:
            begin -= 1
        else:
            end -= 1
            items[low], items[low + end] = items[low + end], items[low]
        value, place = items[low + begin], begin
        while 2 * place + 1 < end:
            child = 2 * place + 1
            if child + 1 < end and items[low + child + 1] > items[low + child]:
                child += 1
            if items[low + child] <= value:
                break
            items[low + place] = items[low + child]
            place = child
        items[low + place] = value


@inlined
def sort_by_keys(keys: Any, items: Any, size: int) -> None:
    """Sort the first items, and their keys, by these keys; where keys are equal, by the items.

    If they are few, items of equal keys keep their order instead.
    """
    if size <= _FEW:
        for i in range(1, size):
            key, item = keys[i], items[i]
            j = i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1], items[j + 1] = keys[j], items[j]
                j -= 1
            keys[j + 1], items[j + 1] = key, item
        return
    begin, end = size // 2, size  # as above
    while end > 1:
        if begin > 0:
            begin -= 1
        else:
            end -= 1
            keys[0], keys[end] = keys[end], keys[0]
            items[0], items[end] = items[end], items[0]
        key, item, place = keys[begin], items[begin], begin
        while 2 * place + 1 < end:
            child = 2 * place + 1
            other = child + 1
            if other < end and _before(keys[child], items[child], keys[other], items[other]):
                child = other
            if not _before(key, item, keys[child], items[child]):
                break
            keys[place], items[place] = keys[child], items[child]
            place = child
        keys[place], items[place] = key, item


@inlined
def _before(key: Any, item: Any, other_key: Any, other: Any) -> bool:
    return bool(key < other_key or (key == other_key and item < other))
