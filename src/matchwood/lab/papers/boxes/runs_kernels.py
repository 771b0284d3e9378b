"""Kernels over runs of items in one array, with keys beside them or without."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, lean


@compiled
def fill(at, keys, items, run, key, item):
    for i in range(len(item)):
        position = at[run[i]]
        at[run[i]] += 1
        items[position] = item[i]
        if len(keys):
            keys[position] = key[i]


@codec
def pack_pair(key, item):
    """A key and its item in one word that sorts by key: | key: 32 bits | item: 32 bits |."""
    return np.int64(key) << 32 | item


@codec
def unpack_pair(pair):
    """(key, item) of a word that `pack_pair` made."""
    return pair >> 32, pair & 0xFFFFFFFF


@compiled
def sort(at, size, keys, items):
    both = np.empty(size.max() if len(size) else 0, np.int64)
    for run in range(len(at)):
        begin, count = at[run], size[run]
        for i in range(count):
            both[i] = pack_pair(keys[begin + i], items[begin + i])
        both[:count].sort()
        for i in range(count):
            keys[begin + i], items[begin + i] = unpack_pair(both[i])


@compiled
def insert(at, size, room, keys, items, used, run, key, item, keyed, ordered):
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
    position = at[run] + size[run]
    if ordered:
        while position > at[run] and keys[position - 1] > key:
            keys[position], items[position] = keys[position - 1], items[position - 1]
            position -= 1
    if keyed:
        keys[position] = key
    items[position] = item
    size[run] += 1
    return keys, items, used


@lean
def delete(at, size, keys, items, run, key, item, ordered):
    end = at[run] + size[run]
    position = at[run]
    if ordered:  # the first item with the key
        low, high = position, end
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        position = low
    while position < end and items[position] != item:
        position += 1
    if position == end:
        return False
    size[run] -= 1
    if ordered:
        for i in range(position, end - 1):
            keys[i], items[i] = keys[i + 1], items[i + 1]
    else:
        items[position] = items[end - 1]
        if len(keys):
            keys[position] = keys[end - 1]
    return True
