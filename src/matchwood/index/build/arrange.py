"""From shared nodes to the arrays that kernels read.

The steps, in order:

1. levels and probabilities, and the *access* operand of each `and`: the operand that is least
   likely to be true is the only one that wakes the node (propagation on demand);
2. a new order of nodes, by level and access operand, so that nodes that one operand wakes lie
   together in memory;
3. records, one per node (`kernels.records`);
4. which nodes have to be found by pushing at all, and push lists (`kernels.pushes`);
5. the stabbing trees of literals (`stabbing`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.arrange_kernels import (
    EMITTED,
    LiteralTable,
    NodeRoles,
    NodeTable,
    count_pushes,
    estimate_nodes,
    fill_pushes,
    inline_words,
    lay_out_records,
    mark_roles,
    mark_used_nodes,
    measure_records,
    renumber_operands,
    write_push_places,
)
from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.shared_nodes import SharedNodes
from matchwood.index.build.sorting import sorted_rows
from matchwood.index.build.stabbing import StabbingTrees, stabbing_trees
from matchwood.index.build.threads import in_threads, pieces_of
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import ALWAYS, NEVER
from matchwood.kernels.pushes import (
    COUNT_COLUMNS,
    GROUPS,
    HEAD,
    NO_LIST,
    ORS,
    RANGES,
    WIDE,
    WIDE_HEAD,
    fit_one_word,
    pack_counts,
    pack_group,
)
from matchwood.kernels.records import state_of_record

# Push lists, where the list of each node starts, and the trees that find the lists of literals.
ListsAndTrees = tuple[Int32Array, Int32Array, StabbingTrees]


class Arranged(NamedTuple):
    """What a segment holds beside its atoms; kernels read these arrays and never write them."""

    records: Int64Array
    levels: Int32Array  # first node of each level from 2 on, and their number; literals are level 1
    pushes: Int32Array  # see `kernels.pushes`
    tree_at: Int32Array  # where the tree of each slot begins, see `stabbing`
    tree_size: Int32Array  # leaves of each slot's tree, a power of two
    tree_points: Int32Array  # entries of single codes in the slots before
    tree_start: Int32Array  # entries of place i of all trees: tree_start[i]:tree_start[i + 1]
    stab_bound: Int32Array  # bound of an entry, but of single codes
    stab_push: Int32Array  # push list of an entry
    literal_push: Int32Array  # push list of each literal, -1 for none
    asked: Int32Array  # literals with a push list that no interval finds: opaque or negated opaque
    asked_push: Int32Array
    literal_group: Int64Array  # (literal, group) of rules that are one predicate, for batches
    group_start: Int32Array  # bounds of the groups from `single` on; those before have one rule
    always: Int32Array  # groups that are true of every event

    @property
    def nodes(self) -> int:
        return int(self.levels[-1])

    @property
    def single(self) -> int:
        """Groups below it have one rule, whose ordinal is the number of the group."""
        return int(self.group_start[0])

    @property
    def groups(self) -> int:
        return self.single + len(self.group_start) - 1

    def group_bounds(self) -> Int32Array:
        """Where the rules of each group begin, and where those of the last one end."""
        return np.concatenate([np.arange(self.single, dtype=np.int32), self.group_start])


def arrange(
    shared: SharedNodes,
    atoms: AtomArrays,
    codes: Int32Array,
    probability: NDArray[np.float32],
    threads: int = 1,
) -> tuple[Arranged, Int64Array]:
    """The arrays, and the rule of each new ordinal; rules that are never true come last."""
    order, group_start, group_root = _groups(shared.roots)
    count = len(shared.operator)
    level, chance, access = estimate_nodes(
        shared.operator, shared.start, shared.operands, shared.first, probability
    )
    number, access = _order(shared, level, access, count)
    inverse = np.empty(count, np.int64)
    inverse[number] = np.arange(count)
    group_of = np.full(count, -1, np.int32)
    literal_groups = []
    always = []
    for_nodes = group_root >= shared.first
    group_of[number[group_root[for_nodes] - shared.first]] = np.flatnonzero(for_nodes)
    for group in np.flatnonzero(~for_nodes):
        if group_root[group] == ALWAYS:
            always.append(group)
        elif group_root[group] >= 0:
            literal_groups.append((group_root[group], group))
    literal_group = np.array(literal_groups, np.int64).reshape(-1, 2)
    operator = shared.operator[inverse]
    words = inline_words(
        atoms.slot, atoms.family_low, atoms.family_high, atoms.start, atoms.low, atoms.high,
        atoms.opaque, codes,
    )  # fmt: skip
    used = np.zeros(count, np.uint8)
    mark_used_nodes(shared.start, shared.operands, shared.first, number, used)
    start = np.r_[0, np.cumsum(np.diff(shared.start)[inverse])]
    sizes = np.empty(count, np.int64)
    measure_records(shared.start, shared.operands, words, sizes)
    record_ends = np.cumsum(sizes[inverse])
    record_at = (record_ends - sizes[inverse]).astype(np.int32)
    nodes = NodeTable(
        operator, shared.start, shared.operands, inverse, number, access[inverse], chance, group_of
    )
    literals = LiteralTable(words, probability, atoms.opaque)

    def lists_and_trees() -> ListsAndTrees:
        operands = np.empty_like(shared.operands)
        renumber_operands(
            shared.start, shared.operands, shared.first, inverse, number, start, operands
        )
        pushes, push_at, literal_push = _pushes(
            operator, start, operands, shared.first, nodes.access, group_of, record_at,
            literal_group,
        )  # fmt: skip
        return pushes, push_at, stabbing_trees(literal_push, atoms, codes)

    records = np.empty(int(record_ends[-1]) if count else 0, np.int64)
    made = in_threads(
        [
            lists_and_trees,
            *(
                partial(lay_out_records, nodes, literals, used, record_at, records, *piece)
                for piece in pieces_of(count, threads)
            ),
        ],
        threads,
    )
    found: ListsAndTrees = made[0]
    pushes, push_at, trees = found
    write_push_places(records, record_at, push_at)
    top = int(level.max()) if count else 1
    levels = np.searchsorted(level[inverse], np.arange(2, top + 2)).astype(np.int32)
    arranged = Arranged(
        records, levels, pushes,
        *trees, literal_group, group_start, np.array(always, np.int32),
    )  # fmt: skip
    return arranged, order


def _groups(roots: Int32Array) -> tuple[Int64Array, Int32Array, Int64Array]:
    """Rules with the same root form a group: (order of rules, `group_start`, roots of groups).

    Groups of one rule come first, so that their numbers are the ordinals of their rules. Rules that
    are never true belong to no group, and come last.
    """
    _, number, size = np.unique(roots, return_inverse=True, return_counts=True)
    never = roots == NEVER
    order = sorted_rows(np.where(never, 2, size[number] > 1), roots)
    live = len(roots) - int(never.sum())
    ordered = roots[order][:live]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if live else np.empty(0, int)
    start = np.r_[first, live].astype(np.int32)
    alone = int((np.diff(start) == 1).sum())
    return order, start[alone:], ordered[first].astype(np.int64)


def _order(
    shared: SharedNodes, level: Int32Array, access: Int64Array, count: int
) -> tuple[Int64Array, Int64Array]:
    """New numbers, by level and then access operand; and access operands in the new numbers."""
    number = np.empty(count, np.int64)
    placed = 0
    access = access.copy()
    by_level = np.argsort(level, kind="stable")
    bounds = np.searchsorted(level[by_level], np.arange(2, (level.max() if count else 1) + 2))
    for low, high in zip(np.r_[0, bounds][:-1], bounds, strict=True) if count else ():
        nodes = by_level[low:high]
        inner = access[nodes] >= shared.first
        access[nodes[inner]] = shared.first + number[access[nodes[inner]] - shared.first]
        key = np.lexsort((access[nodes], shared.operator[nodes]))
        number[nodes[key]] = np.arange(placed, placed + len(nodes))
        placed += len(nodes)
    return number, access


def _pushes(
    operator: NDArray[np.uint8],
    start: Int64Array,
    operands: Int32Array,
    first: int,
    access: Int64Array,
    group_of: Int32Array,
    record_at: Int32Array,
    literal_group: Int64Array,
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """(push lists, where each node's list starts, where each literal's list starts).

    An `or` whose operands emit its rules has no list; its group stands in place of one, so that
    the group can be found.
    """
    role = mark_roles(operator, start, operands, first, access, group_of)
    roles = NodeRoles(role, operator, start, operands, first, access, group_of)
    total = first + len(operator)
    sizes = np.zeros((total, COUNT_COLUMNS), np.int32)
    only = np.full(total, -1, np.int32)  # the last group that a source emits
    count_pushes(roles, literal_group, sizes, only)
    ranges, ors, groups = sizes[:, RANGES], sizes[:, ORS], sizes[:, GROUPS]
    lengths = 2 * ranges.astype(np.int64) + ors + groups
    one_group = (ranges == 0) & (ors == 0) & (groups == 1)
    wide = ~fit_one_word(ranges, ors, groups)
    lengths[lengths > 0] += HEAD
    lengths[wide] += WIDE_HEAD - HEAD
    lengths[one_group] = 0
    at = np.where(lengths > 0, np.cumsum(lengths) - lengths, NO_LIST).astype(np.int32)
    at[one_group] = pack_group(only[one_group])
    emitted = np.flatnonzero(role == EMITTED)
    at[first + emitted] = pack_group(group_of[emitted])
    pushes = np.zeros(int(lengths.sum()), np.int32)
    live = at >= 0
    source = np.r_[np.full(first, -1, np.int32), state_of_record(record_at)]
    pushes[at[live]] = source[live]
    pushes[at[live] + 1] = np.where(wide, WIDE, pack_counts(ranges, ors, groups))[live]
    for column in range(COUNT_COLUMNS):
        pushes[at[live & wide] + HEAD + column] = sizes[live & wide, column]
    if len(pushes):
        fill_pushes(roles, literal_group, record_at, sizes, at, pushes)
    return pushes, at[first:].copy(), at[:first].copy()
