"""Stabbing trees: which literals are true of a code, in O(log codes + hits) and linear space.

Each slot has a binary tree over its codes, laid out as a heap, in front of which is the place -1.
An interval is listed at the lowest tree node that covers all of it, twice: in rising order of its
low end, and in falling order of its high end. A lookup visits the tree nodes above a code; at each,
the intervals that reach the code are a prefix of one of the two lists. Others are listed only once:

    place -1            intervals that end at the last code, in rising order of their low ends
    place 0             other intervals that begin at FIRST_VALUE, in falling order of high ends
    place size + code   single codes, at the leaves

The bound of an entry is the end by which it is sorted. Single codes have none; they come last in
each slot, so that entry i of a slot has the bound i less the number of single codes in the slots
before, `tree_points`.
"""

from __future__ import annotations

import numpy as np

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.sorting import sorted_rows
from matchwood.index.build.stabbing_kernels import true_intervals
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of
from matchwood.kernels.pushes import NO_LIST
from matchwood.kernels.records import FIRST_VALUE

# The arrays of `Arranged` from `tree_at` to `asked_push`, in this order.
StabbingTrees = tuple[
    Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array,
    Int32Array,
]  # fmt: skip


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
    ends = np.cumsum(2 * size + 1)
    tree_at = np.r_[0, ends[:-1]][: len(size)] + 1
    a, b = size[slot] + low, size[slot] + high
    shift = _bit_length((a ^ b).astype(np.int64))
    place = a >> shift
    point = low == high
    to_end = ~point & (high == codes[slot] - 1)
    from_first = ~point & ~to_end & (low == FIRST_VALUE)
    place[to_end] = -1
    place[from_first] = 0
    node = tree_at[slot] + place
    # entries in rising order of low; intervals again, in falling order of high
    rising = np.flatnonzero(~from_first)
    up = rising[sorted_rows(node[rising], low[rising], owner[rising])]
    falling = np.flatnonzero(~point & ~to_end)
    down = falling[sorted_rows(node[falling], -high[falling], owner[falling])]
    keys = np.r_[2 * node[up], 2 * node[down] + 1]
    bound = np.r_[low[up], high[down]]
    literals = np.r_[owner[up], owner[down]]
    order = sorted_rows(keys)
    counts = np.bincount(keys // 2, minlength=int(ends[-1]) if len(ends) else 0)
    start = np.r_[0, np.cumsum(counts)].astype(np.int32)
    entries = literals[order].astype(np.int32)
    points = np.bincount(slot[point], minlength=len(size))
    bounded = np.r_[~point[up], np.ones(len(down), bool)]
    return (
        tree_at.astype(np.int32),
        size.astype(np.int32),
        (np.cumsum(points) - points).astype(np.int32),
        start,
        bound[order][bounded[order]].astype(np.int32),
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
