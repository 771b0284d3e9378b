"""The program of a sweep: the nodes of a segment in an order and a form that is read in one stream.

Nodes are sorted by level, and within a level by shape: operator, number of literals, number of
nodes among the operands, whether another node asks for them, and whether no, one or several rules
have them as their root. Nodes of one shape that follow each other are a *run*; what they have in
common is said once, so that a node is no more than its operands and its ordinals:

    runs      one row per run: its shape, how many nodes it has, and where its operands begin
    literals  the literals of all nodes, by number
    nodes     the operands of all nodes that are nodes, numbered as they come in the program
    ordinals  of a node with one rule its ordinal, of one with several the first and the end

A rule that is a single literal is an `or` of one operand, and comes last.

Literals are numbered by slot. Each slot starts at a multiple of `LITERALS_PER_BLOCK`, so that a
small table says which slot a literal belongs to. Behind the last slot is one more, for literals
that do not depend on the code of one slot alone: patterns, `is null`, and what is always true.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of
from matchwood.kernels.records import (
    FAMILY_COLUMNS,
    FAMILY_FIRST,
    FAMILY_SLOT,
    GROUP,
    LITERAL,
    MISSING,
    ROW_FAMILY,
    ROW_OPAQUE,
    ROW_START,
    pack_interval,
    state_of_record,
    word_low,
    word_slot,
)
from matchwood.match.batch.sweep.lazy_masks import LazyMasks
from matchwood.match.batch.sweep.program_kernels import (
    ALWAYS_KEY,
    IS_AND,
    LITERALS,
    LITERALS_PER_BLOCK,
    MORE_RULES,
    NO_RULE,
    NODES,
    NUMBER,
    RECORD,
    RULES,
    RUN_COLUMNS,
    RUN_COUNT,
    RUN_IS_AND,
    RUN_LITERAL,
    RUN_LITERALS,
    RUN_NODE,
    RUN_NODES,
    RUN_NUMBER,
    RUN_ORDINAL,
    RUN_RULES,
    USED,
    key_of_literal,
    literal_of_key,
    mark_needed,
    node_facts,
    operands_of_nodes,
)

# What a block is filled up with: true of no code, whatever the slot.
FILLER = int(pack_interval(0, 0, 1, 0))


class SweepProgram(NamedTuple):
    """The read-only arrays that a sweep goes through; numbers of nodes are those of the program."""

    runs: Int64Array
    literals: Int32Array
    nodes: Int32Array
    ordinals: Int32Array
    keys: Int64Array  # of each literal: the inline word of an interval, or `key_of_literal`
    slot_of_block: Int32Array  # the slot of each block of literals
    first_literal: Int32Array  # of each slot, with the one behind the last, and their end
    used: Int32Array  # one number: how many nodes another node asks for

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self)


class _KeyedProgram(NamedTuple):
    """A program before its literals are numbered by slot."""

    runs: Int64Array
    literals: Int32Array
    nodes: Int32Array
    ordinals: Int32Array
    keys: Int64Array
    used: int


def program_of(segment: Segment, chosen: NDArray[np.bool_] | None = None) -> SweepProgram:
    """The program for all groups of rules of a segment, or for those chosen."""
    lazy = LazyMasks(segment)
    keyed = _keyed_program_of(segment, lazy, chosen)
    number, keys, slot_of_block, first_literal = _numbered(keyed.keys, segment, lazy.atom_row)
    arrays = (
        keyed.runs, number[keyed.literals], keyed.nodes, keyed.ordinals, keys, slot_of_block,
        first_literal, np.array([keyed.used], np.int32),
    )  # fmt: skip
    return SweepProgram(*(read_only(array) for array in arrays))


def _keyed_program_of(
    segment: Segment, lazy: LazyMasks, chosen: NDArray[np.bool_] | None
) -> _KeyedProgram:
    tree = segment.tree
    facts = facts_of(segment)
    literal_group, always = tree.literal_group, tree.always
    if chosen is not None:
        facts = _needed(facts, chosen, segment)
        literal_group, always = (
            literal_group[chosen[literal_group[:, GROUP]]],
            always[chosen[always]],
        )
    group_start = tree.group_bounds()
    size = np.diff(group_start, append=0)  # the last one is no group
    rules = np.where(facts[:, RULES] >= 0, np.minimum(size[facts[:, RULES]], MORE_RULES), NO_RULE)
    level = np.searchsorted(tree.levels, facts[:, NUMBER], side="right")
    shape = _shape(facts, rules)
    order = np.argsort(level.astype(np.int64) << 32 | shape, kind="stable")
    facts, rules, level, shape = facts[order], rules[order], level[order], shape[order]
    number_of_state = np.zeros(state_of_record(len(tree.records)) + 1, np.int32)
    used = state_of_record(facts[facts[:, USED] > 0, RECORD])
    number_of_state[used] = np.arange(len(used))

    groups = np.r_[literal_group[:, GROUP], always.astype(np.int64)]
    more = np.r_[key_of_literal(literal_group[:, LITERAL]), np.full(len(always), ALWAYS_KEY)]
    more_rules = np.minimum(size[groups], MORE_RULES)
    by_rules = np.argsort(more_rules, kind="stable")
    groups, more, more_rules = groups[by_rules], more[by_rules], more_rules[by_rules]
    table = np.full(_table_size(segment, len(more)), -1, np.int32)
    keys, key_of_operand, nodes = operands_of_nodes(
        facts, tree.records, np.int64(segment.first), number_of_state, more, table
    )
    rules = np.r_[rules, more_rules]
    groups = np.r_[facts[:, RULES], groups]
    ordinals = _ordinals(rules, groups, group_start)
    runs = _runs(level, shape, facts, rules, len(more))
    return _KeyedProgram(runs, key_of_operand, nodes, ordinals, lazy.keys(keys), len(used))


def facts_of(segment: Segment) -> Int32Array:
    """What a program depends on, for each node; see `program_kernels`."""
    tree = segment.tree
    facts: Int32Array = node_facts(
        tree.records, tree.pushes, np.int64(tree.nodes), np.int64(segment.first)
    )
    return facts


def sliced(segment: Segment, slices: int) -> tuple[SweepProgram, ...]:
    """Programs for a part of the rules each; see `slices_of`."""
    return tuple(program_of(segment, chosen) for chosen in slices_of(segment, slices))


def slices_of(segment: Segment, slices: int) -> Iterator[NDArray[np.bool_]]:
    """The groups of rules of each slice, by the order of the nodes that are their roots.

    A node that rules of several slices need is in the program of each.
    """
    groups = facts_of(segment)[:, RULES]
    roots = groups[groups >= 0]
    slice_of_group = np.zeros(segment.tree.groups + 1, np.int64)
    slice_of_group[roots] = np.arange(len(roots)) * slices // max(1, len(roots))
    return (slice_of_group == number for number in range(slices))


def _needed(facts: Int32Array, chosen: NDArray[np.bool_], segment: Segment) -> Int32Array:
    """The rows of the nodes that chosen groups need; the other rules are left out."""
    facts = facts.copy()
    rules = facts[:, RULES]
    rules[~chosen[rules]] = -1  # a node without rules has the group -1 already
    needed = (rules >= 0).astype(np.uint8)
    mark_needed(facts, segment.tree.records, np.int64(segment.first), needed)
    rows: Int32Array = facts[needed != 0]
    return rows


def _shape(facts: Int32Array, rules: NDArray[np.int64]) -> Int64Array:
    """A number for each shape; there are fewer than 2**14 literals, and nodes, of one node."""
    columns = facts.astype(np.int64)
    shape: Int64Array = (
        columns[:, IS_AND] << 31
        | columns[:, NODES] << 17
        | columns[:, LITERALS] << 3
        | (columns[:, USED] > 0) << 2
        | rules
    )
    return shape


def _table_size(segment: Segment, more: int) -> int:
    """Entries of a table of keys: a power of two, and twice the number of keys at least.

    A literal has at most two keys: an inline word, and the one that it has as a rule of its own.
    """
    return 1 << (2 * (2 * segment.packed.atoms + more + 1)).bit_length()


def _numbered(keys: Int64Array, segment: Segment, atom_row: Int32Array) -> tuple[Int32Array, ...]:
    """Literals numbered by slot: (the number of each key, keys by number, slots of blocks, bounds).

    Within a slot, literals of as many intervals follow each other, so that the loop over the
    intervals of a literal is as long as that of the one before; and these in the order of their
    atoms, so that what a batch reads of them is streamed.
    """
    slots = len(segment.slots)
    several = np.flatnonzero(keys < ALWAYS_KEY)
    atom = atom_of(literal_of_key(keys[several]))
    start, end = atom_row[atom, ROW_START], atom_row[atom + 1, ROW_START]
    slot = slots_of_keys(keys, segment, atom_row)
    intervals = np.zeros(len(keys), np.int64)
    intervals[several] = end - start
    order = np.lexsort((np.abs(keys), intervals, slot))
    counts = np.bincount(slot, minlength=slots + 1)
    padded = -(-counts // LITERALS_PER_BLOCK) * LITERALS_PER_BLOCK
    first = np.r_[0, np.cumsum(padded)]
    number = np.empty(len(keys), np.int32)
    in_slot = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    number[order] = first[slot[order]] + in_slot
    by_number = np.full(max(1, first[-1]), FILLER, np.int64)
    by_number[number] = keys
    blocks = np.repeat(np.arange(slots + 1), padded // LITERALS_PER_BLOCK)
    return number, by_number, blocks.astype(np.int32), first.astype(np.int32)


def slots_of_keys(keys: Int64Array, segment: Segment, atom_row: Int32Array) -> Int64Array:
    """The slot of each literal that is false of events without it; for others, one behind the last.

    Others are patterns, `is null`, and what is always true.
    """
    slots, low = len(segment.slots), segment.packed.low
    several = np.flatnonzero(keys < ALWAYS_KEY)
    atom = atom_of(literal_of_key(keys[several]))
    start, end = atom_row[atom, ROW_START], atom_row[atom + 1, ROW_START]
    families = segment.packed.families.reshape(-1, FAMILY_COLUMNS)
    with_missing = families[atom_row[atom, ROW_FAMILY], FAMILY_FIRST] == MISSING
    with_missing[start < end] |= low[start[start < end]] == MISSING
    slot, alone = word_slot(keys), word_low(keys) == 0
    slot[several] = families[atom_row[atom, ROW_FAMILY], FAMILY_SLOT]
    alone[several] = with_missing | (atom_row[atom, ROW_OPAQUE] >= 0)
    of_keys: Int64Array = np.where(alone | (keys == ALWAYS_KEY), slots, slot)
    return of_keys


def _ordinals(
    rules: NDArray[np.int64], groups: NDArray[np.int64], group_start: Int32Array
) -> Int32Array:
    """The ordinals of all nodes that have rules."""
    at = _before(rules)
    ordinals = np.empty(int(rules.sum()), np.int32)
    ordinals[at[rules > NO_RULE]] = group_start[groups[rules > NO_RULE]]
    ordinals[at[rules == MORE_RULES] + 1] = group_start[groups[rules == MORE_RULES] + 1]
    return ordinals


def _runs(
    level: NDArray[np.int64],
    shape: Int64Array,
    facts: Int32Array,
    rules: NDArray[np.int64],
    more: int,
) -> Int64Array:
    """One row per run; behind the nodes there are `more` rules that are single literals."""
    count = len(facts)
    changes = np.r_[
        np.ones(min(1, count), np.bool_),
        (np.diff(level) != 0) | (np.diff(shape) != 0),
        np.ones(min(1, more), np.bool_),
        np.diff(rules[count:]) != 0,
    ]
    starts = np.flatnonzero(changes)
    runs = np.zeros((len(starts), RUN_COLUMNS), np.int64)
    of_nodes = starts < count
    for column, fact in ((RUN_IS_AND, IS_AND), (RUN_LITERALS, LITERALS), (RUN_NODES, NODES)):
        runs[of_nodes, column] = facts[starts[of_nodes], fact]
    runs[~of_nodes, RUN_LITERALS] = 1
    runs[:, RUN_RULES] = rules[starts]
    runs[:, RUN_COUNT] = np.diff(np.r_[starts, count + more])
    used = np.zeros(len(starts), np.bool_)
    used[of_nodes] = facts[starts[of_nodes], USED] > 0
    runs[:, RUN_NUMBER] = np.where(used, _before(used * runs[:, RUN_COUNT]), -1)
    for begin, each in (
        (RUN_LITERAL, RUN_LITERALS), (RUN_NODE, RUN_NODES), (RUN_ORDINAL, RUN_RULES)
    ):  # fmt: skip
        runs[:, begin] = _before(runs[:, each] * runs[:, RUN_COUNT])
    return runs


def ranges(first: NDArray[Any], counts: NDArray[Any]) -> Int64Array:
    """first[0], first[0] + 1, …, counts[0] numbers in all; then those of first[1], and so on."""
    before = np.cumsum(counts) - counts
    numbers: Int64Array = np.arange(int(counts.sum())) + np.repeat(first - before, counts)
    return numbers


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of all counts before each one."""
    before: NDArray[np.int64] = np.cumsum(counts) - counts
    return before
