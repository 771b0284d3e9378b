"""Many events at a time: a node has a mask of 1,024 events and is visited once for all of them.

The program (see `sweep_program`) is gone through in blocks of nodes of one run. For each block, the
rows of all operands are looked up first, and prefetched, while the block before it is computed; then
its masks are computed; then its matches are written. So nothing waits for memory, nor for words that
were just written and are read again as parts of vectors.

An `and` first intersects, beside the masks of nodes, those of the events that have the slots of its
sparse literals. Mostly nothing is left, and no literal has to be looked at.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.bits import LANES, deposit, fill, write_places
from matchwood.kernels.compiled import inlined, lean, prefetch, trailing_zeros
from matchwood.kernels.masks import EVENTS, WORDS, add, copy, intersect, unite
from matchwood.match.batch.program_kernels import (
    LITERALS_PER_BLOCK,
    MORE_RULES,
    NO_RULE,
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
from matchwood.match.batch.slot_kernels import BLOCK, BLOCK_ROW, EMPTY_ROW

# What the numbers are that say how far a sweep is: the run and its block (the first node of it) to
# go on with, and, if the block is computed already, the node of it and the rule of that node whose
# matches are to be written next.
PROGRESS_NUMBERS = 5
RUN, FIRST, IS_COMPUTED, NODE, RULE = range(PROGRESS_NUMBERS)

# Pairs that a buffer must have room for: one rule may match all events, and vectors are written.
LEAST_ROOM = EVENTS + LANES

# Operands of a block, at most, unless one node has more.
MOST_OPERANDS = 16 * BLOCK

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


class SweepState(NamedTuple):
    """What a sweep writes beside the masks of a batch."""

    nonzero: NDArray[np.uint64]  # a bit per node that another asks for: whether it has any event
    rows: NDArray[np.int32]  # the rows of the operands of two blocks
    live: NDArray[np.int32]  # of two blocks: first how many nodes may be true, then which
    some: NDArray[np.uint8]  # of each node of a block: whether it has any event


@inlined
def _is_nonzero(number, nonzero):
    return (nonzero[number >> 6] >> np.uint64(number & 63)) & _ONE


@inlined
def _row_of_literal(literal, program, bt):
    """The row of a literal: of a sparse one that of its slot, with all events that have it."""
    row = np.int64(bt.row_of_slot[program.slot_of_block[literal // LITERALS_PER_BLOCK]])
    return row if row >= 0 else np.int64(bt.words[literal])


@inlined
def _look_up_ands(run, first, end, program, bt, scratch, node_row, at, live_at):
    """Write the rows of the operands of some `and`s, and which of these may have any event."""
    literals, nodes = run[RUN_LITERALS], run[RUN_NODES]
    live = 0
    for node in range(first, end):
        begin = at
        some = _ONE
        k = run[RUN_NODE] + node * nodes
        for i in range(k, k + nodes):
            number = np.int64(program.nodes[i])
            some &= _is_nonzero(number, scratch.nonzero)
            scratch.rows[at] = node_row + number
            at += 1
        if some == _ZERO:
            at = begin
            continue
        k = run[RUN_LITERAL] + node * literals
        for i in range(k, k + literals):
            row = _row_of_literal(np.int64(program.literals[i]), program, bt)
            some &= np.uint64(row != EMPTY_ROW)
            scratch.rows[at] = row
            at += 1
        if some == _ZERO:
            at = begin
            continue
        for i in range(begin, begin + nodes):
            place = WORDS * np.int64(scratch.rows[i])
            prefetch(bt.masks, place)
            prefetch(bt.masks, place + 8)
        live += 1
        scratch.live[live_at + live] = node - first
    scratch.live[live_at] = live


@inlined
def _look_up_ors(run, first, end, program, bt, scratch, node_row, at):
    """Write the rows of the operands of some `or`s; a sparse literal has none."""
    literals, nodes = run[RUN_LITERALS], run[RUN_NODES]
    for i in range(run[RUN_NODE] + first * nodes, run[RUN_NODE] + end * nodes):
        number = np.int64(program.nodes[i])
        row = (node_row + number) if _is_nonzero(number, scratch.nonzero) else EMPTY_ROW
        scratch.rows[at] = row
        at += 1
        prefetch(bt.masks, WORDS * row)
        prefetch(bt.masks, WORDS * row + 8)
    for i in range(run[RUN_LITERAL] + first * literals, run[RUN_LITERAL] + end * literals):
        prefetch(bt.words, np.int64(program.literals[i]))


@inlined
def _compute_and(run, node, target, program, bt, scratch, at):
    """Write the mask of an `and` to masks[target:]; whether it has any event."""
    masks, words, shifts = bt.masks, bt.words, bt.shifts
    literals = run[RUN_LITERALS]
    flags = intersect(masks, target, scratch.rows, at, run[RUN_NODES] + literals)
    if flags == 0 or literals == 0:
        return flags != 0
    some = _ZERO
    k = run[RUN_LITERAL] + node * literals
    left = np.uint64(flags)
    while left:
        w = trailing_zeros(left)
        left &= left - _ONE
        kept = masks[target + w]
        for i in range(k, k + literals):
            literal = np.int64(program.literals[i])
            slot = np.int64(program.slot_of_block[literal // LITERALS_PER_BLOCK])
            row = np.int64(bt.row_of_slot[slot])
            if row >= 0:
                shift = np.uint64(shifts[WORDS * slot + w])
                kept &= deposit(words[literal] >> shift, masks[WORDS * row + w])
        masks[target + w] = kept
        some |= kept
    return some != _ZERO


@inlined
def _spread(word, masks, target, row, shifts, slot, fresh):
    """Add the events of a sparse literal to masks[target:], or write them if it is the first."""
    # unsigned, so that no index is checked for being negative
    to, source, shift_at = np.uint64(target), np.uint64(row), np.uint64(slot)
    if fresh:
        for w in range(np.uint64(WORDS)):
            shift = np.uint64(shifts[shift_at + w])
            masks[to + w] = deposit(word >> shift, masks[source + w])
    else:
        for w in range(np.uint64(WORDS)):
            shift = np.uint64(shifts[shift_at + w])
            masks[to + w] |= deposit(word >> shift, masks[source + w])


@inlined
def _compute_or(run, node, target, program, bt, scratch, at):
    """Write the mask of an `or` to masks[target:]; whether it has any event."""
    masks = bt.masks
    literals, nodes = run[RUN_LITERALS], run[RUN_NODES]
    fresh = nodes == 0 or unite(masks, target, scratch.rows, at, nodes) == 0
    k = run[RUN_LITERAL] + node * literals
    for i in range(k, k + literals):
        literal = np.int64(program.literals[i])
        word = bt.words[literal]
        if word == _ZERO:
            continue
        slot = np.int64(program.slot_of_block[literal // LITERALS_PER_BLOCK])
        row = np.int64(bt.row_of_slot[slot])
        if row >= 0:
            _spread(word, masks, target, WORDS * row, bt.shifts, WORDS * slot, fresh)
        elif fresh:
            copy(masks, target, masks, WORDS * np.int64(word))
        else:
            add(masks, target, masks, WORDS * np.int64(word))
        fresh = False
    return not fresh


@inlined
def _target(run, first, node, node_row):
    """Where the mask of a node of a block is written."""
    if run[RUN_NUMBER] >= 0:
        return WORDS * (node_row + run[RUN_NUMBER] + first + node)
    return WORDS * (BLOCK_ROW + node)


@inlined
def _note(run, first, node, some, scratch):
    """Note whether a node of a block has any event."""
    scratch.some[node] = some
    if run[RUN_NUMBER] >= 0:
        number = run[RUN_NUMBER] + first + node
        bit = _ONE << np.uint64(number & 63)
        if some:
            scratch.nonzero[number >> 6] |= bit
        else:
            scratch.nonzero[number >> 6] &= ~bit


@inlined
def _compute(run, first, end, program, bt, scratch, node_row, side):
    """Write the masks of the nodes of a block."""
    at, live_at = side * (len(scratch.rows) // 2), side * (BLOCK + 1)
    if run[RUN_IS_AND] == 0:
        for node in range(end - first):
            target = _target(run, first, node, node_row)
            some = _compute_or(run, first + node, target, program, bt, scratch, at)
            _note(run, first, node, some, scratch)
            at += run[RUN_NODES]
        return
    for node in range(end - first):
        _note(run, first, node, False, scratch)
    for i in range(1, 1 + scratch.live[live_at]):
        node = np.int64(scratch.live[live_at + i])
        target = _target(run, first, node, node_row)
        if _compute_and(run, first + node, target, program, bt, scratch, at):
            _note(run, first, node, True, scratch)
        at += run[RUN_NODES] + run[RUN_LITERALS]


@inlined
def _write(run, first, end, program, bt, scratch, node_row, wanted, outs, found, progress):
    """Write the matches of a block; (pairs written so far, whether the buffer is full)."""
    out_event, out_rule = outs
    room = len(out_event) - LEAST_ROOM
    each = run[RUN_RULES]
    for node in range(progress[NODE], end - first):
        if scratch.some[node] == 0:
            continue
        at = run[RUN_ORDINAL] + (first + node) * each
        ordinal = np.int64(program.ordinals[at])
        last = np.int64(program.ordinals[at + 1]) if each == MORE_RULES else ordinal + 1
        for rule in range(ordinal + progress[RULE], last):
            if len(wanted) > 0 and wanted[rule] == 0:
                continue
            if found > room:
                progress[NODE], progress[RULE] = node, rule - ordinal
                return found, True
            after = write_places(bt.masks, _target(run, first, node, node_row), out_event, found)
            fill(out_rule, found, after, np.int32(rule))
            found = after
        progress[RULE] = 0
    progress[NODE] = 0
    return found, False


@inlined
def _look_up(run, first, end, program, bt, scratch, node_row, side):
    """Look up the operands of a block, for one side of the scratch."""
    at = side * (len(scratch.rows) // 2)
    if run[RUN_IS_AND]:
        live_at = side * (BLOCK + 1)
        _look_up_ands(run, first, end, program, bt, scratch, node_row, at, live_at)
    else:
        _look_up_ors(run, first, end, program, bt, scratch, node_row, at)


@lean
def sweep(program, bt, scratch, node_row, wanted, out_event, out_rule, progress):
    """Write (event, rule) pairs, from `progress` on; the number of pairs written.

    `progress` is brought up to date; its run is `len(runs)` at the end. Nodes that others ask for
    have the rows from `node_row` on, which are written where their bits of `nonzero` are set.
    """
    found = np.int64(0)
    for number in range(progress[RUN], len(program.runs)):
        run = program.runs[number]
        count = run[RUN_COUNT]
        size = min(BLOCK, max(1, MOST_OPERANDS // (run[RUN_LITERALS] + run[RUN_NODES])))
        first = progress[FIRST]
        ahead = first + progress[IS_COMPUTED] * size  # where nothing is looked up yet
        while first < count:
            end = min(first + size, count)
            side = (first // size) & 1
            if progress[IS_COMPUTED] == 0:
                while ahead < min(
                    count, end + size
                ):  # this block, if it is the first, and the next
                    stop = min(ahead + size, count)
                    of_ahead = (ahead // size) & 1
                    _look_up(run, ahead, stop, program, bt, scratch, node_row, of_ahead)
                    ahead = stop
                _compute(run, first, end, program, bt, scratch, node_row, side)
            if run[RUN_RULES] != NO_RULE:
                outs = (out_event, out_rule)
                found, is_full = _write(
                    run, first, end, program, bt, scratch, node_row, wanted, outs, found, progress
                )
                if is_full:
                    progress[RUN], progress[FIRST], progress[IS_COMPUTED] = number, first, 1
                    return found
            progress[IS_COMPUTED] = 0
            first = end
        progress[FIRST] = 0
    progress[RUN] = len(program.runs)
    return found
