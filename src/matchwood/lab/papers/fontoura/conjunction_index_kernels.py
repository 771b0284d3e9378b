"""Kernels of the conjunction index: building its lists, and two ways to read them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, lean

# Columns of a list that is being read: the position of its next entry, and of the end of the list.
_NEXT, _END = range(2)

# How many columns a list that is being read has.
LIST_COLUMNS = 2


@compiled
def distinct(start, literals):
    """The first of each set of equal conjunctions, and for each conjunction which set is its."""
    size = 16
    while size < 2 * len(start):
        size *= 2
    table = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    firsts = np.empty(len(start) - 1, np.int64)
    numbers = np.empty(len(start) - 1, np.int32)
    count = 0
    for c in range(len(start) - 1):
        low, width = start[c], start[c + 1] - start[c]
        mixed = np.uint64(width)
        for i in range(low, low + width):
            mixed = (mixed ^ np.uint64(literals[i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        position = mixed & mask
        while table[position] >= 0:
            other = start[firsts[table[position]]]
            same = start[firsts[table[position]] + 1] - other == width
            i = 0
            while same and i < width:
                same = literals[low + i] == literals[other + i]
                i += 1
            if same:
                break
            position = (position + np.uint64(1)) & mask
        if table[position] < 0:
            table[position] = count
            firsts[count] = c
            count += 1
        numbers[c] = table[position]
    return firsts[:count].copy(), numbers


@lean
def copy(start, literals, chosen, new_start, out):
    for i in range(len(chosen)):
        low = start[chosen[i]]
        for j in range(new_start[i + 1] - new_start[i]):
            out[new_start[i] + j] = literals[low + j]


@lean
def invert(start, lists, end, entries):
    """Conjunctions to inverted lists, in order of conjunctions; `end` moves through each list."""
    for c in range(len(start) - 1):
        for i in range(start[c], start[c + 1]):
            entries[end[lists[i]]] = c
            end[lists[i]] += 1


@lean
def begin_lists(true, keys, start, lists):
    """The bounds of the list of each literal, empty where it has none; entries of all."""
    entries = 0
    for i in range(len(true)):
        number = np.int64(true[i])
        if len(keys) > 0:
            low, high = np.int64(0), np.int64(len(keys))
            while low < high:
                middle = (low + high) >> 1
                if keys[middle] < number:
                    low = middle + 1
                else:
                    high = middle
            number = low if low < len(keys) and keys[low] == number else np.int64(len(start))
        if number + 1 < len(start):
            lists[i, _NEXT], lists[i, _END] = start[number], start[number + 1]
        else:
            lists[i, _NEXT], lists[i, _END] = 0, 0
        entries += lists[i, _END] - lists[i, _NEXT]
    return entries


@lean
def count_down(lists, entries, first, left, conjunctions):
    """Count `left` down by one per entry, note conjunctions that reach zero, and restore it."""
    top = 0
    for c in range(first[1]):  # of size 0: true of every event
        conjunctions[top] = c
        top += 1
    for i in range(len(lists)):
        for j in range(lists[i, _NEXT], lists[i, _END]):
            c = entries[j]
            left[c] -= 1
            if left[c] == 0:
                conjunctions[top] = c
                top += 1
    for i in range(len(lists)):
        for j in range(lists[i, _NEXT], lists[i, _END]):
            left[entries[j]] += 1
    return top


@codec
def pack_current(entry, number):
    """A list and its current entry, ordered by entry: | entry: 32 bits | list: 32 bits |."""
    return np.int64(entry) << 32 | number


@codec
def unpack_current(current):
    """(entry, list) of a word that `pack_current` made."""
    return current >> 32, current & 0xFFFFFFFF


@compiled
def walk(lists, entries, first, conjunctions):
    """The walk of Whang et al. over the lists of each size k in turn; returns how many conjunctions
    were found, and entries read.

    `heap` holds the lists with their current entries, so that its k smallest are the first k lists
    of the sorted order in the paper.
    """
    top = 0
    visited = 0
    for c in range(first[1]):
        conjunctions[top] = c
        top += 1
    heap = np.empty(len(lists), np.int64)
    popped = np.empty(len(first), np.int64)
    for k in range(1, len(first) - 1):
        size = 0
        for i in range(len(lists)):
            if lists[i, _NEXT] < lists[i, _END] and entries[lists[i, _NEXT]] < first[k + 1]:
                size = _push(heap, size, pack_current(entries[lists[i, _NEXT]], i))
        while size >= k:
            for p in range(k):
                popped[p] = heap[0]
                size = _pop(heap, size)
            goal, _ = unpack_current(popped[k - 1])
            if unpack_current(popped[0])[0] == goal:
                conjunctions[top] = goal
                top += 1
                goal += 1
            for p in range(k):
                _, i = unpack_current(popped[p])
                visited += 1
                at = _skip(entries, lists[i, _NEXT], lists[i, _END], goal)
                lists[i, _NEXT] = at
                if at < lists[i, _END] and entries[at] < first[k + 1]:
                    size = _push(heap, size, pack_current(entries[at], i))
        for h in range(size):  # fewer lists than k are left: on to the next size
            _, i = unpack_current(heap[h])
            lists[i, _NEXT] = _skip(entries, lists[i, _NEXT], lists[i, _END], first[k + 1])
    return top, visited


@lean
def _skip(entries, low, high, goal):
    """The first position from low on whose entry is not below the goal: steps grow, then halve."""
    step = 1
    while low + step < high and entries[low + step] < goal:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) >> 1
        if entries[middle] < goal:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def _push(heap, size, value):
    position = size
    while position > 0 and heap[(position - 1) >> 1] > value:
        heap[position] = heap[(position - 1) >> 1]
        position = (position - 1) >> 1
    heap[position] = value
    return size + 1


@lean
def _pop(heap, size):
    """Remove the smallest."""
    value = heap[size - 1]
    size -= 1
    position = 0
    while 2 * position + 1 < size:
        child = 2 * position + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = value
    return size
