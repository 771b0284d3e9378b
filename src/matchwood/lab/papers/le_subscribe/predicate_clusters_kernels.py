"""Kernels that find the predicates that are true of an event, and count them by rule."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import inlined, lean
from matchwood.lab.papers.le_subscribe.postings_kernels import AT, SIZE
from matchwood.lab.papers.le_subscribe.predicate_keys import (
    EQUAL,
    GREATER,
    LESS,
    pack_cluster,
    pack_key,
)


@inlined
def _first(keys, axis, operator, code):
    """The first position whose key is not below that of the code."""
    key = pack_key(np.int64(pack_cluster(axis, operator)), np.int64(code))
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def find_satisfied(keys, numbers, codes, out):
    """Step 1: eqpredmatch, lesspredmatch and greaterpredmatch for each attribute of the event."""
    top = 0
    for axis in range(len(codes)):
        code = np.int64(codes[axis])
        if code < 0:
            continue
        first_equal = _first(keys, axis, EQUAL, code)
        for i in range(first_equal, _first(keys, axis, EQUAL, code + 1)):
            out[top] = numbers[i]
            top += 1
        for i in range(_first(keys, axis, LESS, code), _first(keys, axis, GREATER, 0)):
            out[top] = numbers[i]
            top += 1
        last = _first(keys, axis, GREATER, code + 1)
        for i in range(_first(keys, axis, GREATER, 0), last):
            out[top] = numbers[i]
            top += 1
    return top


@lean
def count(satisfied, lists, entries, hits):
    """Step 2, lines 8 to 12."""
    visited = 0
    for predicate in satisfied:
        at, size = lists[predicate, AT], lists[predicate, SIZE]
        visited += size
        for i in range(at, at + size):
            hits[entries[i]] += 1
    return visited


@lean
def forget(satisfied, lists, entries, hits):
    """Set the counts that these predicates have raised back to 0."""
    for predicate in satisfied:
        at, size = lists[predicate, AT], lists[predicate, SIZE]
        for i in range(at, at + size):
            hits[entries[i]] = 0
