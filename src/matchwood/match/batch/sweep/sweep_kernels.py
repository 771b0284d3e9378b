"""Many events at a time: a node has a mask of 1,024 events and is visited once for all of them.

The program (see `sweep_program`) is gone through in blocks of nodes of one run. For each block, the
rows of all operands are looked up first, and prefetched, while the block before it is computed;
then its masks are computed; then its matches are written. So nothing waits for memory, nor for
words that were just written and are read again as parts of vectors.

An `and` first intersects, beside the masks of nodes, those of the events that have the slots of its
sparse literals. Mostly nothing is left, and no literal has to be looked at.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.bits import (
    LANES,
    count_ones,
    deposit,
    fill,
    load_word,
    read,
    store_word,
    write,
    write_places,
)
from matchwood.kernels.compiled import inlined, lean, prefetch, prefetch_to_write, trailing_zeros
from matchwood.kernels.masks import EVENTS, WORDS, intersect, unite
from matchwood.match.batch.sweep.program_kernels import (
    BLOCK_SHIFT,
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
from matchwood.match.batch.sweep.slot_kernels import (
    BLOCK,
    BLOCK_ROW,
    EMPTY_ROW,
    SLOT_ROW,
    SPARE_ROW,
)

# What the numbers are that say how far a sweep is: the run to go on with; the first node of the
# block of it whose matches are not all written, or `NOT_BEGUN`; and the node of that block and the
# rule of that node whose matches are to be written next.
PROGRESS_NUMBERS = 4
RUN, FIRST, NODE, RULE = range(PROGRESS_NUMBERS)

# In place of the first node of a block: no block of the run is computed.
NOT_BEGUN = -1

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
    spreads: NDArray[np.int32]  # of the literals of `or`s of two blocks: the rows of sparse slots
    live: NDArray[np.int32]  # of two blocks: first how many nodes may be true, then which
    some: NDArray[np.uint8]  # of each node of a block: whether it has any event


@inlined
def _is_nonzero(number, nonzero):
    return (read(nonzero, number >> 6) >> np.uint64(number & 63)) & _ONE


@inlined
def _row_of_literal(literal, program, bt):
    """The row of a literal: of a sparse one that of its slot, with all events that have it."""
    row = np.int64(
        read(bt.row_of_slot, np.int64(read(program.slot_of_block, literal >> BLOCK_SHIFT)))
    )
    return row if row >= 0 else np.int64(read(bt.words, literal))


@inlined
def _row_of_sparse(literal, program, bt):
    """The row of the slot of a literal, or EMPTY_ROW if it is dense."""
    return max(
        np.int64(
            read(bt.row_of_slot, np.int64(read(program.slot_of_block, literal >> BLOCK_SHIFT)))
        ),
        EMPTY_ROW,
    )


@inlined
def _prefetch_row(masks, row):
    place = WORDS * row
    prefetch(masks, place)
    prefetch(masks, place + WORDS // 2)


@inlined
def _prefetch_target(run, node, masks, node_row):
    """Prefetch the row of a node that is written soon, if another asks for it."""
    if read(run, RUN_NUMBER) >= 0:
        place = WORDS * (node_row + read(run, RUN_NUMBER) + node)
        prefetch_to_write(masks, place)
        prefetch_to_write(masks, place + WORDS // 2)


@inlined
def _look_up_and(run, node, program, bt, scratch, node_row, at):
    """Write the rows of the operands of an `and`, those of literals first; 1 if it may have any
    event, and else 0."""
    rows, words = scratch.rows, bt.words
    literals, nodes = read(run, RUN_LITERALS), read(run, RUN_NODES)
    some = _ONE
    k = read(run, RUN_NODE) + node * nodes
    for i in range(nodes):
        number = np.int64(read(program.nodes, k + i))
        some &= _is_nonzero(number, scratch.nonzero)
        rows[at + literals + i] = node_row + number
    if some == _ZERO:
        return np.int64(0)
    if literals:
        k = read(run, RUN_LITERAL) + node * literals
        for i in range(literals):
            rows[at + i] = _row_of_literal(np.int64(read(program.literals, k + i)), program, bt)
        some = np.uint64(intersect(bt.masks, WORDS * SPARE_ROW, rows, at, literals) != 0)
        # no branch: whether any event has all slots of a few literals cannot be foreseen
        for i in range(literals):
            prefetch(words, np.int64(read(program.literals, k + i)) * np.int64(some))
    for i in range(at + literals, at + literals + nodes):
        _prefetch_row(bt.masks, np.int64(read(rows, i)))
    return np.int64(some)


@inlined
def _look_up_or(run, node, program, bt, scratch, node_row, at, spread_at, any_dense):
    """Write the rows of the operands of an `or`: those of nodes, those of the slots of sparse
    literals, and, where there are dense literals at all, those of literals."""
    literals, nodes = read(run, RUN_LITERALS), read(run, RUN_NODES)
    k = read(run, RUN_NODE) + node * nodes
    for i in range(nodes):
        number = np.int64(read(program.nodes, k + i))
        row = (node_row + number) * np.int64(_is_nonzero(number, scratch.nonzero))
        scratch.rows[at + i] = row  # EMPTY_ROW if it has no event
        _prefetch_row(bt.masks, row)
    k = read(run, RUN_LITERAL) + node * literals
    for i in range(literals):
        literal = np.int64(read(program.literals, k + i))
        prefetch(bt.words, literal)
        row = _row_of_sparse(literal, program, bt)
        write(scratch.spreads, spread_at + i, row)
        _prefetch_row(bt.masks, row)
        if any_dense:
            dense = EMPTY_ROW if row != EMPTY_ROW else np.int64(read(bt.words, literal))
            write(scratch.rows, at + nodes + i, dense)
            _prefetch_row(bt.masks, dense)
    _prefetch_target(run, node, bt.masks, node_row)


@inlined
def _compute_and(run, node, target, program, bt, scratch, at):
    """Write the mask of an `and` to masks[target:]; whether it has any event."""
    masks, words, shifts = bt.masks, bt.words, bt.shifts
    literals = read(run, RUN_LITERALS)
    flags = intersect(masks, target, scratch.rows, at, read(run, RUN_NODES) + literals)
    if flags == 0 or literals == 0:
        return flags != 0
    some = _ZERO
    k = read(run, RUN_LITERAL) + node * literals
    first_dense = SLOT_ROW + len(bt.row_of_slot)
    left = np.uint64(flags)
    while left:
        w = trailing_zeros(left)
        left &= left - _ONE
        kept = masks[target + w]
        for i in range(literals):
            row = np.int64(read(scratch.rows, at + i))
            if row < first_dense:
                word = read(words, np.int64(read(program.literals, k + i)))
                shift = np.uint64(read(shifts, WORDS * (row - SLOT_ROW) + w))
                kept &= deposit(word >> shift, read(masks, WORDS * row + w))
        masks[target + w] = kept
        some |= kept
    return some != _ZERO


@inlined
def _word_and_place(i, literals, k, spread_at, program, bt, scratch):
    """The word of a sparse literal and the place of its slot's row, or no event; of a dense literal
    `unite` has taken care already."""
    if i >= literals:
        return _ZERO, np.int64(WORDS * EMPTY_ROW)
    row = np.int64(read(scratch.spreads, spread_at + i))
    word = read(bt.words, np.int64(read(program.literals, k + i)))
    return word if row != EMPTY_ROW else _ZERO, WORDS * row


@inlined
def _spread_two(one, two, masks, target, fresh):
    """Add the events of two sparse literals to masks[target:], or write them if it is empty."""
    (one, one_at), (two, two_at) = one, two
    for w in range(WORDS):
        there, also = load_word(masks, one_at + w), load_word(masks, two_at + w)
        more = deposit(one, there) | deposit(two, also)
        store_word(masks, target + w, more if fresh else more | load_word(masks, target + w))
        one >>= np.uint64(count_ones(there) & 63)  # if all 64 are here, none are in later words
        two >>= np.uint64(count_ones(also) & 63)


@inlined
def _spread_four(one, two, three, four, masks, target, fresh):
    """The same with four literals."""
    (one, one_at), (two, two_at), (three, three_at), (four, four_at) = one, two, three, four
    for w in range(WORDS):
        first, second = load_word(masks, one_at + w), load_word(masks, two_at + w)
        third, fourth = load_word(masks, three_at + w), load_word(masks, four_at + w)
        more = deposit(one, first) | deposit(two, second)
        more |= deposit(three, third) | deposit(four, fourth)
        store_word(masks, target + w, more if fresh else more | load_word(masks, target + w))
        one >>= np.uint64(count_ones(first) & 63)
        two >>= np.uint64(count_ones(second) & 63)
        three >>= np.uint64(count_ones(third) & 63)
        four >>= np.uint64(count_ones(fourth) & 63)


@inlined
def _compute_or(run, node, target, program, bt, scratch, at, spread_at, rows):
    """Write the mask of an `or` to masks[target:], of which so many operands have rows; whether it
    has any event."""
    masks = bt.masks
    fresh = rows == 0 or unite(masks, target, scratch.rows, at, rows) == 0
    literals = read(run, RUN_LITERALS)
    k = read(run, RUN_LITERAL) + node * literals
    for i in range(0, literals, 4):
        one = _word_and_place(i, literals, k, spread_at, program, bt, scratch)
        two = _word_and_place(i + 1, literals, k, spread_at, program, bt, scratch)
        three = _word_and_place(i + 2, literals, k, spread_at, program, bt, scratch)
        four = _word_and_place(i + 3, literals, k, spread_at, program, bt, scratch)
        if three[0] | four[0]:
            _spread_four(one, two, three, four, masks, target, fresh)
            fresh = False
        elif one[0] | two[0]:
            _spread_two(one, two, masks, target, fresh)
            fresh = False
    return not fresh


@inlined
def _target(run, first, node, node_row):
    """Where the mask of a node of a block is written."""
    if read(run, RUN_NUMBER) >= 0:
        return WORDS * (node_row + read(run, RUN_NUMBER) + first + node)
    return WORDS * (BLOCK_ROW + node)


@inlined
def _note(run, first, node, some, scratch):
    """Note whether a node of a block has any event."""
    scratch.some[node] = some
    if read(run, RUN_NUMBER) >= 0:
        number = read(run, RUN_NUMBER) + first + node
        bit = _ONE << np.uint64(number & 63)
        if some:
            scratch.nonzero[number >> 6] |= bit
        else:
            scratch.nonzero[number >> 6] &= ~bit


@inlined
def _go_through(run, first, size, is_computed, program, bt, scratch, node_row):
    """Look up the operands of the block after `first`, and compute the one from `first` on, in
    turn, so that memory is asked for steadily; the latter not if it is computed already."""
    count = read(run, RUN_COUNT)
    is_and = read(run, RUN_IS_AND) != 0
    any_dense = node_row > SLOT_ROW + len(bt.row_of_slot)
    each = read(run, RUN_NODES)
    if is_and or any_dense:
        each += read(run, RUN_LITERALS)
    side = (first // size) & 1
    half = len(scratch.rows) // 2
    at, at_next = side * half, (1 - side) * half
    spread_at, spread_next = at, at_next
    live_at, live_next = side * (BLOCK + 1), (1 - side) * (BLOCK + 1)
    live = np.int64(0)
    for i in range(size):
        node = first + size + i
        if node < count:
            if is_and:
                some = _look_up_and(run, node, program, bt, scratch, node_row, at_next)
                scratch.live[live_next + 1 + live] = i
                live += some
                at_next += some * each
            else:
                _look_up_or(
                    run, node, program, bt, scratch, node_row, at_next, spread_next, any_dense
                )
                at_next += each
                spread_next += read(run, RUN_LITERALS)
        if is_computed or first + i >= count:
            continue
        if is_and:
            if i < scratch.live[live_at]:
                mine = np.int64(scratch.live[live_at + 1 + i])
                target = _target(run, first, mine, node_row)
                some = _compute_and(run, first + mine, target, program, bt, scratch, at)
                _note(run, first, mine, some, scratch)
        else:
            target = _target(run, first, i, node_row)
            some = _compute_or(run, first + i, target, program, bt, scratch, at, spread_at, each)
            _note(run, first, i, some, scratch)
            spread_at += read(run, RUN_LITERALS)
        at += each
    scratch.live[live_next] = live


@inlined
def _write(run, first, end, program, bt, scratch, node_row, wanted, outs, found, progress):
    """Write the matches of a block; (pairs written so far, whether the buffer is full)."""
    out_event, out_rule = outs
    room = len(out_event) - LEAST_ROOM
    each = read(run, RUN_RULES)
    for node in range(progress[NODE], end - first):
        if scratch.some[node] == 0:
            continue
        at = read(run, RUN_ORDINAL) + (first + node) * each
        ordinal = np.int64(read(program.ordinals, at))
        last = np.int64(read(program.ordinals, at + 1)) if each == MORE_RULES else ordinal + 1
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
def _clear_notes(run, first, end, scratch):
    """Note that no node of a block has any event."""
    for i in range(end - first):
        _note(run, first, i, False, scratch)


@lean
def sweep(program, bt, scratch, node_row, wanted, out_event, out_rule, progress):
    """Write (event, rule) pairs, from `progress` on; the number of pairs written.

    `progress` is brought up to date; its run is `len(runs)` at the end. Nodes that others ask for
    have the rows from `node_row` on, which are written where their bits of `nonzero` are set.
    """
    found = np.int64(0)
    outs = (out_event, out_rule)
    for number in range(progress[RUN], len(program.runs)):
        run = program.runs[number]
        count = read(run, RUN_COUNT)
        size = min(BLOCK, max(1, MOST_OPERANDS // (read(run, RUN_LITERALS) + read(run, RUN_NODES))))
        first = progress[FIRST]
        is_computed = True
        if first == NOT_BEGUN:
            first = -size  # nothing to compute yet, but a block after it to look up
        while first < count:
            end = min(first + size, count)
            if not is_computed and read(run, RUN_IS_AND):
                _clear_notes(run, first, end, scratch)
            _go_through(run, first, size, is_computed, program, bt, scratch, node_row)
            if first >= 0 and read(run, RUN_RULES) != NO_RULE:
                found, is_full = _write(
                    run, first, end, program, bt, scratch, node_row, wanted, outs, found, progress
                )
                if is_full:
                    progress[RUN], progress[FIRST] = number, first
                    return found
            is_computed = False
            first += size
        progress[FIRST] = NOT_BEGUN
    progress[RUN] = len(program.runs)
    return found
