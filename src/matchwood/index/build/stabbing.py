"""Stabbing trees: which literals are true of a code, in O(log codes + hits) and linear space.

Each slot has a binary tree over its codes, laid out as a heap. An interval is listed at the lowest
tree node that covers all of it, twice: in rising order of its low end, and in falling order of its
high end. A lookup visits the tree nodes above a code; at each, the intervals that reach the code
are a prefix of one of the two lists. Single codes are listed once, at the leaves.
"""

from __future__ import annotations

import numpy as np

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.sorting import sorted_rows
from matchwood.index.build.stabbing_kernels import true_intervals
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of
from matchwood.kernels.pushes import NO_LIST

# The arrays of `Arranged` from `tree_at` to `asked_push`, in this order.
StabbingTrees = tuple[
    Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array
]


def stabbing_trees(literal_push: Int32Array, atoms: AtomArrays, codes: Int32Array) -> StabbingTrees:
    """Stabbing trees over the codes of each slot, for literals that have a push list."""
    literal = np.flatnonzero(literal_push != NO_LIST).astype(np.int32)
    by_interval = atoms.opaque[atom_of(literal)] < 0 if len(literal) else np.empty(0, bool)
    asked = literal[~by_interval]
    literal = literal[by_interval]
    owner, low, high = true_intervals(
        literal, atoms.family_low, atoms.family_high, atoms.start, atoms.low, atoms.high
    )
    slot = atoms.slot[atom_of(owner)]
    size = (1 << np.ceil(np.log2(np.maximum(codes, 2))).astype(np.int64)).astype(np.int64)
    tree_at = np.r_[0, np.cumsum(2 * size)]
    a, b = size[slot] + low, size[slot] + high
    shift = _bit_length((a ^ b).astype(np.int64))
    node = tree_at[slot] + (a >> shift)
    point = low == high
    # entries in rising order of low; proper intervals again, in falling order of high
    up = sorted_rows(node, low, owner)
    proper = np.flatnonzero(~point)
    down = proper[sorted_rows(node[proper], -high[proper], owner[proper])]
    keys = np.r_[2 * node[up], 2 * node[down] + 1]
    bound = np.r_[low[up], high[down]]
    literals = np.r_[owner[up], owner[down]]
    order = sorted_rows(keys)
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


def _bit_length(values: Int64Array) -> Int64Array:
    length = np.zeros(len(values), np.int64)
    while True:
        above = values >> length
        if not above.any():
            return length
        length += above > 0
