"""What each literal is in a batch: a word of positions if its slot is sparse, or else a mask."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.bits import deposit, read
from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.masks import WORDS, add, add_range, clear, copy, remove
from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.records import (
    FAMILIES,
    FAMILY_COLUMNS,
    FAMILY_FIRST,
    FAMILY_LAST,
    FAMILY_SLOT,
    MISSING,
    ROW_COLUMNS,
    ROW_FAMILY,
    ROW_OPAQUE,
    ROW_START,
    opaque_number,
    word_high,
    word_low,
    word_negated,
    word_slot,
)
from matchwood.match.batch.sweep.program_kernels import ALWAYS_KEY, literal_of_key
from matchwood.match.batch.sweep.slot_kernels import DENSE, EMPTY_ROW, EVERY_ROW, SLOT_ROW


class LiteralIndex(NamedTuple):
    """The read-only arrays of a segment that say what a literal is."""

    atom_row: NDArray[np.int32]  # rows of atoms, one after the other
    families: NDArray[np.int32]
    iv_low: NDArray[np.int32]
    iv_high: NDArray[np.int32]
    family_end: NDArray[np.int32]
    row_of_code: NDArray[np.int64]  # of each slot: where the prefix words of its codes begin


class Batch(NamedTuple):
    """The events of a batch by slot, and its masks; `slot_kernels` says what the rows are."""

    row_of_slot: NDArray[np.int32]
    masks: NDArray[np.uint64]
    shifts: NDArray[np.uint8]  # shifts[WORDS * slot + w]: how many events are in lower words
    prefix: NDArray[np.uint64]  # prefix[row_of_code[slot] + code]: the events with a lower code
    words: NDArray[np.uint64]  # of each literal: a word of positions, or of a dense slot its row
    row: NDArray[np.int32]  # of dense slots: the results of `rank_events`
    rows: NDArray[np.uint64]
    ranks: NDArray[np.int32]
    list_mask: NDArray[np.int32]
    true: NDArray[np.uint64]  # of opaque atoms: the masks of the events where they are true
    scratch: NDArray[np.uint64]  # one mask


@inlined
def _add_interval(masks, at, slot, low, high, tree, bt):
    """Add the events whose code, or one of whose codes, lies in low..high; the slot is dense."""
    code_at = tree.row_of_code[slot]
    a = np.int64(bt.row[code_at + low])
    b = np.int64(bt.row[code_at + high + 1])
    if a >= b:
        return
    if bt.list_mask[slot] < 0:
        add_range(masks, at, bt.rows, a, b)
        return
    width = (b - a) // WORDS
    layer = 0
    while (2 << layer) <= width:
        layer += 1
    up = WORDS * layer * np.int64(bt.ranks[slot])
    add(masks, at, bt.rows, up + a)
    add(masks, at, bt.rows, up + b - (WORDS << layer))


@inlined
def _add_there(masks, at, slot, low, high, tree, bt):
    """Add the events where a negated literal of that family is not undefined."""
    row = bt.row_of_slot[slot]
    if row == DENSE:
        if low <= high:
            _add_interval(masks, at, slot, low, high, tree, bt)
        if bt.list_mask[slot] >= 0:
            add(masks, at, bt.rows, np.int64(bt.list_mask[slot]))
    elif row != EMPTY_ROW and low <= high:
        code_at = tree.row_of_code[slot]
        word = bt.prefix[code_at + low] ^ bt.prefix[code_at + high + 1]
        for w in range(WORDS):
            shift = np.uint64(bt.shifts[WORDS * slot + w])
            masks[at + w] |= deposit(word >> shift, bt.masks[WORDS * np.int64(row) + w])


@inlined
def _add_missing(masks, at, slot, bt):
    """Add the events that do not have a slot, which is not dense."""
    copy(masks, at, bt.masks, WORDS * EVERY_ROW)
    remove(masks, at, bt.masks, WORDS * np.int64(bt.row_of_slot[slot]))


@inlined
def _add_all_intervals(masks, at, slot, family, start, end, tree, bt):
    """Add the events of which one of the intervals of an atom is true; of the values of a list,
    those of the family alone count."""
    first = np.int64(tree.families[family + FAMILY_FIRST])
    last = np.int64(tree.families[family + FAMILY_LAST])
    row = bt.row_of_slot[slot]
    if start < end and row == DENSE:
        if tree.iv_low[start] < first or tree.iv_high[end - 1] > last:  # a test of truth
            for i in range(start, end):
                low, high = np.int64(tree.iv_low[i]), np.int64(tree.iv_high[i])
                _add_interval(masks, at, slot, low, high, tree, bt)
            if bt.list_mask[slot] >= 0:
                remove(masks, at, bt.rows, np.int64(bt.list_mask[slot]))
        for i in range(start, end):
            low, high = np.int64(tree.iv_low[i]), np.int64(tree.iv_high[i])
            if max(low, first) <= min(high, last):
                _add_interval(masks, at, slot, max(low, first), min(high, last), tree, bt)
    elif start < end:
        if tree.iv_low[start] == MISSING:
            _add_missing(masks, at, slot, bt)
        if row != EMPTY_ROW:
            code_at = tree.row_of_code[slot]
            word = np.uint64(0)
            for i in range(start, end):
                low, high = np.int64(tree.iv_low[i]), np.int64(tree.iv_high[i])
                word ^= bt.prefix[code_at + low] ^ bt.prefix[code_at + high + 1]
            for w in range(WORDS):
                shift = np.uint64(bt.shifts[WORDS * slot + w])
                masks[at + w] |= deposit(word >> shift, bt.masks[WORDS * np.int64(row) + w])


@lean
def _mask_of_literal(literal, at, tree, bt):
    """Write the mask of a literal that is not one interval to masks[at:]."""
    row = ROW_COLUMNS * atom_of(literal)
    family = FAMILY_COLUMNS * np.int64(tree.atom_row[row + ROW_FAMILY])
    slot = np.int64(tree.families[family + FAMILY_SLOT])
    opaque = np.int64(tree.atom_row[row + ROW_OPAQUE])
    masks = bt.masks
    clear(masks, at)
    if opaque >= 0:
        copy(masks, at, bt.true, WORDS * opaque_number(opaque))
    else:
        start = np.int64(tree.atom_row[row + ROW_START])
        end = np.int64(tree.atom_row[row + ROW_COLUMNS + ROW_START])
        _add_all_intervals(masks, at, slot, family, start, end, tree, bt)
    if is_negated(literal):
        scratch = bt.scratch
        clear(scratch, 0)
        first = np.int64(tree.families[family + FAMILY_FIRST])
        if first == MISSING:  # it is true of all events that it is not false of
            copy(scratch, 0, masks, WORDS * EVERY_ROW)
        else:
            _add_there(
                scratch, 0, slot, first, np.int64(tree.families[family + FAMILY_LAST]), tree, bt
            )
        remove(scratch, 0, masks, at)
        copy(masks, at, scratch, 0)


@lean
def _mask_of_interval(word, at, tree, bt):
    """Write the mask of an interval to masks[at:]: events with a value in the range, or, if it is
    that of a negated literal, with no value of the family outside."""
    slot = word_slot(word)
    low, high = word_low(word), word_high(word)
    masks = bt.masks
    clear(masks, at)
    if bt.row_of_slot[slot] != DENSE:
        _add_missing(masks, at, slot, bt)  # as only `is null` is a mask where slots are sparse
    elif word_negated(word) == 0 or bt.list_mask[slot] < 0:
        _add_interval(masks, at, slot, low, high, tree, bt)
    elif low <= 1:  # is not null
        _add_there(masks, at, slot, low, high, tree, bt)
    else:
        family_low, family_high = np.int64(2), np.int64(1)
        for i in range(FAMILIES * slot, FAMILIES * (slot + 1)):
            if tree.family_end[i] >= low:
                family_high = np.int64(tree.family_end[i])
                break
            family_low = np.int64(tree.family_end[i] + 1)
        scratch = bt.scratch
        clear(scratch, 0)
        if low > family_low:
            _add_interval(scratch, 0, slot, family_low, low - 1, tree, bt)
        if high < family_high:
            _add_interval(scratch, 0, slot, high + 1, family_high, tree, bt)
        _add_there(masks, at, slot, family_low, family_high, tree, bt)
        remove(masks, at, scratch, 0)


@inlined
def _positions(key, slot, tree, bt):
    """Where, among the events of its sparse slot, a literal is true."""
    prefix = bt.prefix
    at = read(tree.row_of_code, slot)
    if key >= 0:
        return read(prefix, at + word_low(key)) ^ read(prefix, at + word_high(key) + 1)
    literal = literal_of_key(key)
    row = ROW_COLUMNS * atom_of(literal)
    found = np.uint64(0)
    end = read(tree.atom_row, row + ROW_COLUMNS + ROW_START)
    for i in range(read(tree.atom_row, row + ROW_START), end):
        found ^= read(prefix, at + read(tree.iv_low, i))
        found ^= read(prefix, at + read(tree.iv_high, i) + 1)
    if is_negated(literal):
        family = FAMILY_COLUMNS * np.int64(read(tree.atom_row, row + ROW_FAMILY))
        low = read(tree.families, family + FAMILY_FIRST)
        high = read(tree.families, family + FAMILY_LAST)
        if low > high:
            return np.uint64(0)
        found ^= read(prefix, at + low) ^ read(prefix, at + high + 1)
    return found


@lean
def fill_literals(program, tree, bt):
    """Write the word of every literal, and the masks of those of dense slots unless they are empty;
    returns the first row after these."""
    row = SLOT_ROW + len(bt.row_of_slot)
    words = bt.words
    masks = bt.masks
    for slot in range(len(bt.row_of_slot)):
        of_slot = bt.row_of_slot[slot]
        for number in range(program.first_literal[slot], program.first_literal[slot + 1]):
            key = read(program.keys, number)
            if of_slot == EMPTY_ROW:
                words[number] = np.uint64(0)
                continue
            if of_slot != DENSE:
                words[number] = _positions(key, slot, tree, bt)
                continue
            at = WORDS * np.int64(row)
            if key == ALWAYS_KEY:
                copy(masks, at, masks, WORDS * EVERY_ROW)
            elif key < 0:
                _mask_of_literal(literal_of_key(key), at, tree, bt)
            elif word_low(key) > word_high(key) and word_negated(key) == 0:
                clear(masks, at)
            else:
                _mask_of_interval(key, at, tree, bt)
            words[number] = np.uint64(EMPTY_ROW)
            if copy(masks, at, masks, at):
                words[number] = np.uint64(row)
                row += 1
    return row
