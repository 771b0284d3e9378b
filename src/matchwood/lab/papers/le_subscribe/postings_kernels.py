"""Kernels over lists of postings that grow in one array."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean

# Columns of a list: where its entries begin, how many there are, and for how many there is room.
AT, SIZE, ROOM = range(3)


@compiled
def put(lists, entries, used, key, value):
    postings = lists[key]
    if postings[SIZE] == postings[ROOM]:
        room = 2 * postings[ROOM] + 2
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
        entries[used : used + postings[SIZE]] = entries[
            postings[AT] : postings[AT] + postings[SIZE]
        ]
        postings[AT], postings[ROOM] = used, room
        used += room
    entries[postings[AT] + postings[SIZE]] = value
    postings[SIZE] += 1
    return entries, used


@lean
def drop(lists, entries, key, value):
    postings = lists[key]
    for i in range(postings[AT], postings[AT] + postings[SIZE]):
        if entries[i] == value:
            postings[SIZE] -= 1
            entries[i] = entries[postings[AT] + postings[SIZE]]
            break
    return postings[SIZE]
