"""Stabbing trees: which literals are true of a code, in O(log codes + hits) and linear space.

Each slot has a binary tree over its codes, laid out as a heap. An interval stands at the lowest
tree node that holds all of it, twice: in order of its low end, and in falling order of its high
end. A code asks the nodes above it: at each, the intervals that reach down to it, or up to it, are
a prefix of one of the two lists. Points stand at the leaves, once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.atoms import AtomArrays

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


def stabbing_trees(
    literal_push: Ints, atoms: AtomArrays, codes: Ints
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
    """Stabbing trees over the codes of each slot, for literals that have a push list."""
    literal = np.flatnonzero(literal_push != -1).astype(np.int32)
    by_interval = atoms.opaque[literal >> 1] < 0 if len(literal) else np.empty(0, bool)
    asked = literal[~by_interval]
    literal = literal[by_interval]
    owner, low, high = _true_intervals(
        literal, atoms.family_low, atoms.family_high, atoms.start, atoms.low, atoms.high
    )
    slot = atoms.slot[owner >> 1]
    size = (1 << np.ceil(np.log2(np.maximum(codes, 2))).astype(np.int64)).astype(np.int64)
    tree_at = np.r_[0, np.cumsum(2 * size)]
    a, b = size[slot] + low, size[slot] + high
    shift = _bit_length((a ^ b).astype(np.int64))
    node = tree_at[slot] + (a >> shift)
    point = low == high
    # entries upward by low; for proper intervals a second time, downward by high
    up = np.lexsort((owner, low, node))
    proper = np.flatnonzero(~point)
    down = proper[np.lexsort((owner[proper], -high[proper], node[proper]))]
    keys = np.r_[2 * node[up], 2 * node[down] + 1]
    bound = np.r_[low[up], high[down]]
    literals = np.r_[owner[up], owner[down]]
    order = np.argsort(keys, kind="stable")
    counts = (
        np.bincount(keys[order] // 2, minlength=int(tree_at[-1]))
        if len(keys)
        else np.zeros(int(tree_at[-1]), np.int64)
    )
    start = np.r_[0, np.cumsum(counts)].astype(np.int32)
    entries = literals[order].astype(np.int32)
    return (
        tree_at[:-1].astype(np.int32),
        size.astype(np.int32),
        start,
        bound[order].astype(np.int32),
        literal_push[entries].astype(np.int32),
        literal_push,
        asked,
        literal_push[asked].astype(np.int32),
    )


def _bit_length(values: Longs) -> Longs:
    length = np.zeros(len(values), np.int64)
    while True:
        above = values >> length
        if not above.any():
            return length
        length += above > 0


@compiled
def _true_intervals(literal, family_low, family_high, iv_start, iv_low, iv_high):
    """The intervals of codes where each literal is true of a single value."""
    total = 0
    for ref in literal:
        total += iv_start[(ref >> 1) + 1] - iv_start[ref >> 1] + 1
    owner = np.empty(total, np.int32)
    low = np.empty(total, np.int32)
    high = np.empty(total, np.int32)
    at = 0
    for ref in literal:
        atom = ref >> 1
        if ref & 1 == 0:
            for i in range(iv_start[atom], iv_start[atom + 1]):
                owner[at], low[at], high[at] = ref, iv_low[i], iv_high[i]
                at += 1
            continue
        begin = family_low[atom]
        for i in range(iv_start[atom], iv_start[atom + 1]):
            if iv_low[i] > begin:
                owner[at], low[at], high[at] = ref, begin, iv_low[i] - 1
                at += 1
            begin = iv_high[i] + 1
        if begin <= family_high[atom]:
            owner[at], low[at], high[at] = ref, begin, family_high[atom]
            at += 1
    return owner[:at].copy(), low[:at].copy(), high[:at].copy()
