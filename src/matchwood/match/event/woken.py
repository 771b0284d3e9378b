"""The `and`s that likely literals wake, and an index in which nothing wakes them.

If a literal is likely to be true, an event wakes a large part of the `and`s behind it, and reads a
record in memory for each of them. Cells and bounds find such `and`s in other ways, and push with
the index that is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.programs import atom_of, negation_of, pack_literal
from matchwood.kernels.pushes import HEAD, NO_LIST, WIDE, list_bounds, unpack_counts
from matchwood.kernels.records import CODE_MASK, MAX_SLOTS
from matchwood.match.event.literal_kernels import EventIndex

# The share of the codes of its slot from which on a literal is likely.
LIKELY = 0.01


def likely_literals(segment: Segment, likely: float) -> Int32Array:
    """Inline literals that wake `and`s and are true of a share `likely` of their slot's codes."""
    atoms, tree = segment.atoms, segment.tree
    count = len(atoms.slot)
    owner = np.repeat(np.arange(count), np.diff(atoms.start))
    inside = np.bincount(owner, atoms.high - atoms.low + 1.0, count)
    family = np.maximum(atoms.family_high - atoms.family_low + 1.0, 0)
    codes = np.maximum(segment.codes[atoms.slot] - 2.0, 1) if count else np.empty(0)
    share = np.empty(2 * count)
    plain = pack_literal(np.arange(count), 0)
    share[plain] = inside / codes
    share[negation_of(plain)] = np.maximum(family - inside, 0) / codes
    lists = tree.literal_push
    inline = (atoms.opaque < 0) & (atoms.slot < MAX_SLOTS)
    inline &= segment.codes[atoms.slot] <= CODE_MASK if count else True
    inline = inline[atom_of(np.arange(2 * count))]
    chosen = np.flatnonzero((lists >= 0) & (share >= likely) & inline)
    counts = tree.pushes[lists[chosen] + 1]
    wide = counts == WIDE
    ranges = np.where(
        wide, tree.pushes[np.where(wide, lists[chosen] + HEAD, 0)], unpack_counts(counts)[0]
    )
    return chosen[ranges > 0].astype(np.int32)


def without_woken(index: EventIndex, literals: Int32Array) -> EventIndex:
    """The index, with the `and`s removed from the push lists of some literals."""
    lists = index.literal_push[literals]
    extra: list[NDArray[np.int32]] = []
    at = len(index.pushes)
    now = np.full(len(literals), NO_LIST, np.int32)
    for number, position in enumerate(lists.tolist()):
        _, ranges_end, ors_end, groups_end = list_bounds(index.pushes, position)
        if ranges_end < groups_end:
            counts = (0, ors_end - ranges_end, groups_end - ors_end)
            head = np.array([-1, WIDE, *counts], np.int32)
            extra.append(np.concatenate([head, index.pushes[ranges_end:groups_end]]))
            now[number] = at
            at += len(extra[-1])
    literal_push = index.literal_push.copy()
    literal_push[literals] = now
    order = np.argsort(lists)
    known = lists[order]
    found = np.searchsorted(known, index.stab_push)
    found[found == len(known)] = 0
    taken = known[found] == index.stab_push if len(known) else np.zeros(0, bool)
    stab_push = np.where(taken, now[order][found], index.stab_push).astype(np.int32)
    kept = ~taken | (stab_push != NO_LIST)
    tree_at, tree_size, tree_start = _without_empty_trees(index, kept)
    points = _points(index)
    before = np.r_[0, np.cumsum(kept & points)]
    return index._replace(
        pushes=read_only(np.concatenate([index.pushes, *extra])) if extra else index.pushes,
        literal_push=read_only(literal_push),
        tree_at=read_only(tree_at),
        tree_size=read_only(tree_size),
        tree_points=read_only(before[_first_entries(index)].astype(np.int32)),
        tree_start=read_only(tree_start),
        stab_bound=read_only(index.stab_bound[kept[~points]]),
        stab_push=read_only(stab_push[kept]),
    )


def _first_entries(index: EventIndex) -> Int32Array:
    """The first entry of each slot in its stabbing tree."""
    entries: Int32Array = index.tree_start[index.tree_at - 1]
    return entries


def _points(index: EventIndex) -> NDArray[np.bool_]:
    """Whether each entry of the stabbing trees is a single code."""
    counts = np.diff(np.r_[_first_entries(index), len(index.stab_push)])
    leaves = index.tree_start[index.tree_at + index.tree_size]
    points: NDArray[np.bool_] = np.arange(len(index.stab_push)) >= np.repeat(leaves, counts)
    return points


def _without_empty_trees(
    index: EventIndex, kept: NDArray[np.bool_]
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """The stabbing trees, reduced to the entries that are kept.

    A tree without entries has size 0; the size of a tree of points alone is negative.
    """
    before = np.zeros(len(kept) + 1, np.int32)
    np.cumsum(kept, out=before[1:])
    tree_at, tree_size = np.zeros_like(index.tree_at), np.zeros_like(index.tree_size)
    pieces = []
    at = 0
    for slot, (first, size) in enumerate(
        zip(index.tree_at.tolist(), index.tree_size.tolist(), strict=True)
    ):
        piece = before[index.tree_start[first - 1 : first + 2 * size + 1]]
        if piece[0] < piece[-1]:
            points = piece[0] == piece[1 + size]
            tree_at[slot], tree_size[slot] = at + 1, -size if points else size
            pieces.append(piece[:-1])
            at += 2 * size + 1
    return tree_at, tree_size, np.concatenate([*pieces, before[-1:]])
