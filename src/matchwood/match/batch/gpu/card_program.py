"""The program of a sweep in the form that a card goes through.

It is the program of the CPU (`sweep_program`), with what lanes would have to look up filled in: an
operand that is a literal names its slot, one that is a node is its number in the order of the
program, and rules name their node. Items, of a few nodes of one run each, are in the order of
levels. Literals are in the order of their slots, and those of one interval first, so that threads
side by side read the same codes and do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.packed_atoms import PackedAtoms, unpack_atoms
from matchwood.index.build.segment import atom_rows
from matchwood.index.build.threads import available_cores, in_threads, pieces_of
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.records import ATOM_COLUMNS, IV_END, IV_START, SLOT
from matchwood.match.batch.gpu.card_layout import (
    CARD_FIRST,
    CARD_HAS_RULES,
    CARD_IS_AND,
    CARD_LITERAL,
    CARD_LITERALS,
    CARD_NODE,
    CARD_NODES,
    CARD_RUN_COLUMNS,
    INDEX_HEADER,
    ITEM_RUN,
    NO_NODE,
    pack_operand,
    pack_other_operand,
)
from matchwood.match.batch.sweep.program_kernels import (
    LITERALS_PER_BLOCK,
    MORE_RULES,
    NO_RULE,
    ONE_RULE,
    RUN_COUNT,
    RUN_IS_AND,
    RUN_LITERAL,
    RUN_LITERALS,
    RUN_NODE,
    RUN_NODES,
    RUN_NUMBER,
    RUN_ORDINAL,
    RUN_RULES,
)
from matchwood.match.batch.sweep.sweep_program import SweepProgram, ranges

# Nodes of an item, and operands of them, at most, unless one node has more.
ITEM_NODES = 8
ITEM_OPERANDS = 64


class LevelledProgram(NamedTuple):
    """A program as arrays of the host, still to be copied to a card."""

    program: Int32Array  # see `card_layout`
    level_bounds: list[int]  # where the items of each level begin, and their end
    literals: Int64Array  # see `card_layout`
    keys_at: int
    node_of_rule: Int32Array
    node_count: int

    @property
    def literal_count(self) -> int:
        """How many distinct literals there are."""
        return len(self.literals) - self.keys_at

    @property
    def bytes(self) -> int:
        return self.program.nbytes + self.literals.nbytes + self.node_of_rule.nbytes


class SegmentArrays(NamedTuple):
    """What a card has of a segment, as arrays of the host."""

    atoms: Int32Array  # the index of `card_layout`
    slots: int
    slice_of_rule: Int32Array  # stays on the host: the number of the program of each rule
    programs: tuple[LevelledProgram, ...]  # one for each slice of the rules


def sent_arrays(arrays: SegmentArrays) -> tuple[list[Any], list[NDArray[Any]]]:
    """The same as numbers and flat arrays, to be sent to another process."""
    flat: list[NDArray[Any]] = [arrays.atoms, arrays.slice_of_rule]
    numbers: list[Any] = []
    for program in arrays.programs:
        flat += [program.program, program.literals, program.node_of_rule]
        numbers.append([program.level_bounds, program.keys_at, program.node_count])
    return [arrays.slots, numbers], flat


def received_arrays(numbers: list[Any], flat: list[NDArray[Any]]) -> SegmentArrays:
    """What `sent_arrays` was given."""
    atoms, slice_of_rule, *rest = flat
    programs = tuple(
        LevelledProgram(program, bounds, literals, keys_at, node_of_rule, node_count)
        for (bounds, keys_at, node_count), program, literals, node_of_rule in zip(
            numbers[1], rest[::3], rest[1::3], rest[2::3], strict=True
        )
    )
    return SegmentArrays(atoms, numbers[0], slice_of_rule, programs)


def levelled(program: SweepProgram, rules: int) -> LevelledProgram:
    """The form of a program for a card, of a segment with so many rules."""
    runs = program.runs
    first_node = np.cumsum(runs[:, RUN_COUNT]) - runs[:, RUN_COUNT]
    tasks: list[Callable[[], Any]] = [
        partial(_literals, program),
        partial(_items_runs_and_nodes, program, first_node),
        partial(_node_of_rule, runs, first_node, program.ordinals, rules),
    ]
    literals, (of_card, bounds), node_of_rule = in_threads(tasks, available_cores())
    return LevelledProgram(
        of_card,
        bounds,
        literals,
        len(program.literals),
        node_of_rule,
        int(runs[:, RUN_COUNT].sum()),
    )


def _items_runs_and_nodes(
    program: SweepProgram, first_node: Int64Array
) -> tuple[Int32Array, list[int]]:
    """The program of `card_layout`, and where the items of each level begin."""
    runs = program.runs
    used = runs[:, RUN_NUMBER] >= 0
    number_of_used = ranges(first_node[used], runs[used, RUN_COUNT]).astype(np.int32)
    items, bounds = _items(runs, _levels(runs, program.nodes))
    runs_at = items.size
    nodes_at = runs_at + CARD_RUN_COLUMNS * len(runs)
    items[:, ITEM_RUN] = runs_at + CARD_RUN_COLUMNS * items[:, ITEM_RUN]
    of_card: Int32Array = np.empty(nodes_at + len(program.nodes), np.int32)
    of_card[:runs_at] = items.ravel()
    of_runs = of_card[runs_at:nodes_at].reshape(-1, CARD_RUN_COLUMNS)
    for column, values in (
        (CARD_IS_AND, runs[:, RUN_IS_AND]),
        (CARD_LITERALS, runs[:, RUN_LITERALS]),
        (CARD_NODES, runs[:, RUN_NODES]),
        (CARD_LITERAL, runs[:, RUN_LITERAL]),
        (CARD_NODE, nodes_at + runs[:, RUN_NODE]),
        (CARD_FIRST, first_node),
        (CARD_HAS_RULES, runs[:, RUN_RULES] != NO_RULE),
    ):
        of_runs[:, column] = values
    _taken(number_of_used, program.nodes, of_card[nodes_at:])
    return of_card, bounds


def _literals(program: SweepProgram) -> Int64Array:
    """The operands that are literals, and behind them the keys of all literals."""
    slots = len(program.first_literal) - 2
    slot = np.full(len(program.keys), slots, np.int64)
    of_blocks = np.repeat(program.slot_of_block, LITERALS_PER_BLOCK)
    slot[: len(of_blocks)] = of_blocks
    number = np.arange(len(slot))
    operands = np.where(slot < slots, pack_operand(slot, number), pack_other_operand(number))
    literals: Int64Array = np.empty(len(program.literals) + len(program.keys), np.int64)
    _taken(operands, program.literals, literals[: len(program.literals)])
    literals[len(program.literals) :] = program.keys
    return literals


def _taken(numbers: NDArray[Any], places: Int32Array, out: NDArray[Any]) -> None:
    """Write `numbers[places]` to `out`, in several threads."""

    def take(begin: int, end: int) -> None:  # it is known that all are there
        np.take(numbers, places[begin:end], out=out[begin:end], mode="clip")

    cores = available_cores()
    if len(numbers):
        in_threads([partial(take, *bounds) for bounds in pieces_of(len(places), cores)], cores)


def card_index(packed: PackedAtoms, family_end: Int32Array, slots: int) -> Int32Array:
    """What kernels read of a segment about literals; see `card_layout`."""
    atoms, intervals = packed.atoms, len(packed.low)
    pairs_at = INDEX_HEADER + ATOM_COLUMNS * atoms
    families_at = pairs_at + 2 * intervals
    index: Int32Array = np.empty(families_at + len(family_end), np.int32)
    index[:INDEX_HEADER] = families_at  # which is all that an index begins with
    rows = index[INDEX_HEADER:pairs_at].reshape(-1, ATOM_COLUMNS)
    pairs = index[pairs_at:families_at].reshape(-1, 2)
    index[families_at:] = family_end

    def write_rows(low: int, high: int) -> None:
        unpacked = unpack_atoms(packed._replace(rows=packed.rows[low : high + 1]))
        written = rows[low:high]
        written[:] = atom_rows(unpacked)
        written[:, IV_START : IV_END + 1] = pairs_at + 2 * written[:, IV_START : IV_END + 1]
        written[written[:, SLOT] < 0, SLOT] = slots  # that no event has

    def write_pairs(low: int, high: int) -> None:
        pairs[low:high, 0] = packed.low[low:high]
        pairs[low:high, 1] = packed.high[low:high]

    cores = available_cores()
    in_threads(
        [
            *(partial(write_rows, *bounds) for bounds in pieces_of(atoms, cores)),
            *(partial(write_pairs, *bounds) for bounds in pieces_of(intervals, cores)),
        ],
        cores,
    )
    return index


def _levels(runs: Int64Array, nodes: Int32Array) -> Int64Array:
    """The level of each run: above those of all operands of its nodes.

    It is never below that of a run before it whose nodes others ask for, so that of all operands
    the last one is on the highest level.
    """
    with_nodes = runs[:, RUN_NODES] > 0
    run_of_last = np.zeros(len(runs), np.int64)
    if with_nodes.any():
        last = np.maximum.reduceat(nodes, runs[with_nodes, RUN_NODE])
        used = np.flatnonzero(runs[:, RUN_NUMBER] >= 0)
        place = np.searchsorted(runs[used, RUN_NUMBER], last, side="right")
        run_of_last[with_nodes] = used[place - 1]
    level = np.zeros(len(runs), np.int64)
    highest = 0
    for number in range(len(runs)):
        if with_nodes[number]:
            level[number] = 1 + level[run_of_last[number]]
        if runs[number, RUN_NUMBER] >= 0:
            level[number] = highest = max(highest, int(level[number]))
    return level


def _items(runs: Int64Array, level: Int64Array) -> tuple[Int32Array, list[int]]:
    order = np.argsort(level, kind="stable")
    operands = np.maximum(1, runs[:, RUN_LITERALS] + runs[:, RUN_NODES])
    size = np.clip(ITEM_OPERANDS // operands, 1, ITEM_NODES)[order]
    count = runs[order, RUN_COUNT]
    per_run = -(-count // size)
    run = np.repeat(order, per_run)
    in_run = ranges(np.zeros(len(order), np.int64), per_run)
    first = in_run * np.repeat(size, per_run)
    end = np.minimum(first + np.repeat(size, per_run), np.repeat(count, per_run))
    items = np.stack([run, first, end], axis=1).astype(np.int32)
    levels = int(level.max()) + 1 if len(level) else 0
    bounds = np.searchsorted(level[run], np.arange(levels + 1)).tolist()
    return items, bounds


def _node_of_rule(
    runs: Int64Array, first_node: NDArray[Any], ordinals: Int32Array, rules: int
) -> Int32Array:
    node_of_rule = np.full(rules, NO_NODE, np.int32)
    one = runs[:, RUN_RULES] == ONE_RULE
    counts = runs[one, RUN_COUNT]
    of_one = ordinals[ranges(runs[one, RUN_ORDINAL], counts)]
    node_of_rule[of_one] = ranges(first_node[one], counts)
    more = runs[:, RUN_RULES] == MORE_RULES
    counts = runs[more, RUN_COUNT]
    nodes = ranges(first_node[more], counts)
    bounds = ordinals[ranges(runs[more, RUN_ORDINAL], 2 * counts)].astype(np.int64).reshape(-1, 2)
    sizes = bounds[:, 1] - bounds[:, 0]
    node_of_rule[ranges(bounds[:, 0], sizes)] = np.repeat(nodes, sizes)
    return node_of_rule
