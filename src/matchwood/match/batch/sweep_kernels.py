"""Many events at a time: a node has a mask of 1,024 events and is visited once for all of them.

Records are in order of level, so that one sweep over them sees every operand before its node. The
mask of an interval is not stored but made of two rows, see `rank_kernels`. If few events have an
attribute, its literals are *sparse*: 64 bits say of which of those events a literal is true, and
these are set, or tested, one by one. Literals of several intervals are computed once per batch,
before the sweep.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import inlined, lean, trailing_zeros
from matchwood.kernels.masks import (
    WORDS,
    add,
    add_range,
    clear,
    copy,
    copy_range,
    keep,
    keep_range,
    remove,
)
from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.records import (
    FAMILIES,
    FAMILY_HIGH,
    FAMILY_LOW,
    GROUP,
    IV_END,
    IV_START,
    LITERAL,
    OPAQUE,
    SLOT,
    has_row,
    header_inline,
    header_is_and,
    header_rest,
    is_used,
    reference_number,
    reference_target,
    word_high,
    word_low,
    word_negated,
    word_row,
    word_slot,
)

# One bit, of the type of the words of a mask.
_ONE = np.uint64(1)

# No bit, of the type of the words of a mask.
_ZERO = np.uint64(0)

# What the numbers are that say how far a sweep is: the node to go on with (nodes first, then groups
# of rules that are one literal or always true), its record, the pairs of it that are written
# already, and the used nodes before it.
PROGRESS_NUMBERS = 4
NODE, RECORD, PAIRS_WRITTEN, USED_BEFORE = range(PROGRESS_NUMBERS)

# In place of the node to go on with: the sweep is complete.
ALL_WRITTEN = -1

# The second mask of `scratch`; the first is the operand that is combined into another mask.
_TEMPORARY = WORDS


class SweepIndex(NamedTuple):
    """The read-only arrays of a segment that a sweep needs."""

    records: NDArray[np.int64]
    masked: NDArray[np.int32]  # the literals of `row_literal` in order
    masked_row: NDArray[np.int32]  # the row of each
    group_of: NDArray[np.int32]
    group_start: NDArray[np.int32]
    literal_group: NDArray[np.int64]
    always: NDArray[np.int32]
    atom_row: NDArray[np.int32]
    iv_low: NDArray[np.int32]
    iv_high: NDArray[np.int32]
    family_end: NDArray[np.int32]
    first: NDArray[np.int64]


class Batch(NamedTuple):
    """The events of a batch, ranked by the codes of each slot; masks lie sixteen words apart."""

    row: NDArray[np.int32]  # row[row_of_code[slot] + code]: first word of the row below that code
    row_of_code: NDArray[np.int64]
    rows: NDArray[np.uint64]
    ranks: NDArray[np.int32]  # how many ranks a slot has
    list_mask: NDArray[np.int32]  # first word of the events with a list, -1 for none
    literals: NDArray[np.uint64]  # masks of literals, one per row
    literal_at: NDArray[np.int32]  # first word of the mask of each row, -1 where it is empty
    true: NDArray[np.uint64]  # of opaque atoms: where they are true
    any_lists: NDArray[np.uint8]  # one byte
    codes: NDArray[np.int32]  # codes[place[slot], event]
    place: NDArray[np.int32]
    sparse: NDArray[np.uint8]  # of each slot: whether few events have a code of it, and no lists
    there: NDArray[np.uint64]  # of each sparse slot: the mask of those events
    order: NDArray[np.uint16]  # of each sparse slot: those events by code, 64 places per slot
    below: NDArray[np.uint8]  # below[row_of_code[slot] + code]: how many have a lower code
    positions: NDArray[np.uint64]  # of each row of a sparse slot: where among them it is true
    few: NDArray[np.uint16]  # scratch: events left of an `and`
    scratch: NDArray[np.uint64]  # two masks


@inlined
def _add_interval(masks, at, slot, low, high, bt):
    """Add the events whose code, or one of whose codes, lies in low..high."""
    code_at = bt.row_of_code[slot]
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
def _add_there(masks, at, slot, low, high, bt):
    """Add the events where a negated literal of that family is not undefined."""
    if low <= high:
        _add_interval(masks, at, slot, low, high, bt)
    if bt.list_mask[slot] >= 0:
        add(masks, at, bt.rows, np.int64(bt.list_mask[slot]))


@lean
def _literal(ref, tree, bt):
    """Write the mask of a literal into `scratch`; returns whether it has any event."""
    row = tree.atom_row[atom_of(ref)]
    slot = row[SLOT]
    scratch = bt.scratch
    if row[OPAQUE] >= 0:
        some = copy(scratch, 0, bt.true, WORDS * np.int64(row[OPAQUE]))
        if not is_negated(ref):
            return some
    else:
        clear(scratch, 0)
        for i in range(row[IV_START], row[IV_END]):
            _add_interval(scratch, 0, slot, tree.iv_low[i], tree.iv_high[i], bt)
    if is_negated(ref):
        clear(scratch, _TEMPORARY)
        _add_there(scratch, _TEMPORARY, slot, row[FAMILY_LOW], row[FAMILY_HIGH], bt)
        remove(scratch, _TEMPORARY, scratch, 0)
        return copy(scratch, 0, scratch, _TEMPORARY)
    return copy(scratch, 0, scratch, 0)


@lean
def _list_word(word, tree, bt):
    """Write the mask of an inline word of a slot with lists into `scratch`: events with a value in
    the range, or, if it is negated, with no value of the family outside."""
    slot = word_slot(word)
    low, high = word_low(word), word_high(word)
    scratch = bt.scratch
    clear(scratch, 0)
    if word_negated(word) == 0:
        _add_interval(scratch, 0, slot, low, high, bt)
        return
    if low <= 1:  # is not null
        _add_there(scratch, 0, slot, low, high, bt)
        return
    family_low, family_high = np.int64(2), np.int64(1)
    for i in range(FAMILIES * slot, FAMILIES * (slot + 1)):
        if tree.family_end[i] >= low:
            family_high = np.int64(tree.family_end[i])
            break
        family_low = np.int64(tree.family_end[i] + 1)
    clear(scratch, _TEMPORARY)
    if low > family_low:
        _add_interval(scratch, _TEMPORARY, slot, family_low, low - 1, bt)
    if high < family_high:
        _add_interval(scratch, _TEMPORARY, slot, high + 1, family_high, bt)
    _add_there(scratch, 0, slot, family_low, family_high, bt)
    remove(scratch, 0, scratch, _TEMPORARY)


@inlined
def _until(n):
    """A word of n ones."""
    return ~_ZERO if n >= 64 else (_ONE << n) - _ONE


@inlined
def _positions(ref, row, tree, bt):
    """Where, among the events of its sparse slot, a literal is true."""
    at = bt.row_of_code[row[SLOT]]
    found = _ZERO
    for i in range(row[IV_START], row[IV_END]):
        a = np.uint64(bt.below[at + tree.iv_low[i]])
        b = np.uint64(bt.below[at + tree.iv_high[i] + 1])
        found |= _until(b) & ~_until(a)
    if is_negated(ref):
        if row[FAMILY_LOW] > row[FAMILY_HIGH]:
            return _ZERO
        a = np.uint64(bt.below[at + row[FAMILY_LOW]])
        b = np.uint64(bt.below[at + row[FAMILY_HIGH] + 1])
        found = _until(b) & ~_until(a) & ~found
    return found


@lean
def literal_masks(tree, bt):
    """Compute the literals that are not one interval, once for all records that test them: the
    positions of sparse ones, and the masks of the others unless they are empty."""
    for i in range(len(tree.masked)):
        ref = tree.masked[i]
        which = tree.masked_row[i]
        row = tree.atom_row[atom_of(ref)]
        missing = row[IV_START] < row[IV_END] and tree.iv_low[row[IV_START]] == 0  # is null
        if bt.sparse[row[SLOT]] and row[OPAQUE] < 0 and not missing:
            bt.positions[which] = _positions(ref, row, tree, bt)
        elif _literal(ref, tree, bt):
            copy(bt.literals, WORDS * np.int64(which), bt.scratch, 0)
            bt.literal_at[which] = WORDS * np.int64(which)
        else:
            bt.literal_at[which] = -1


@inlined
def _write(group, masks, at, tree, wanted, out_event, out_rule, found, skip):
    """(pairs written so far, pairs of this group that were written when the buffer was full, or -1
    if it was not)."""
    seen = np.int64(0)
    room = len(out_event)
    for ordinal in range(tree.group_start[group], tree.group_start[group + 1]):
        if len(wanted) > 0 and wanted[ordinal] == 0:
            continue
        for w in range(WORDS):
            bits = masks[at + w]
            while bits:
                if seen >= skip:
                    if found == room:
                        return found, seen
                    out_event[found] = 64 * w + trailing_zeros(bits)
                    out_rule[found] = ordinal
                    found += 1
                bits &= bits - _ONE
                seen += 1
    return found, np.int64(-1)


@inlined
def _take(k, inline_end, records, tree, bt, masks, nonzero, lists, is_and, fresh, at):
    """Combine an operand that is not sparse into the mask masks[at:], or copy it if it is the
    first; returns whether the operand, or of an `and` the result, has any event."""
    word = records[k]
    if k < inline_end and not has_row(word):
        slot = word_slot(word)
        if lists and bt.list_mask[slot] >= 0:
            _list_word(word, tree, bt)
            return _take_mask(is_and, fresh, masks, at, bt.scratch, 0)
        code_at = bt.row_of_code[slot]
        a = np.int64(bt.row[code_at + word_low(word)])
        b = np.int64(bt.row[code_at + word_high(word) + 1])
        if a >= b:
            return False
        if fresh:
            return copy_range(masks, at, bt.rows, a, b)
        if is_and:
            return keep_range(masks, at, bt.rows, a, b)
        return add_range(masks, at, bt.rows, a, b)
    if k < inline_end or reference_target(word) < tree.first[0]:
        row = word_row(word) if k < inline_end else reference_number(word)
        mask_at = np.int64(bt.literal_at[row])
        return mask_at >= 0 and _take_mask(is_and, fresh, masks, at, bt.literals, mask_at)
    other = reference_number(word)
    if nonzero[other >> 6] & (_ONE << np.uint64(other & 63)) == _ZERO:
        return False
    return _take_mask(is_and, fresh, masks, at, masks, WORDS * other)


@inlined
def _take_mask(is_and, fresh, masks, at, source, source_at):
    if fresh:
        return copy(masks, at, source, source_at)
    if is_and:
        return keep(masks, at, source, source_at)
    return add(masks, at, source, source_at)


@inlined
def _is_sparse(word, bt):
    """Whether an inline word is true of few events, which are listed."""
    return bt.sparse[word_slot(word)] and (has_row(word) or word_low(word) > 0)


@inlined
def _few(word, bt):
    """The positions, among the events of its slot, where a sparse literal is true."""
    if has_row(word):
        return bt.positions[word_row(word)]
    at = bt.row_of_code[word_slot(word)]
    a = np.uint64(bt.below[at + word_low(word)])
    b = np.uint64(bt.below[at + word_high(word) + 1])
    return _until(b) & ~_until(a)


@inlined
def _holds(event, k, inline_end, records, tree, bt, masks, nonzero):
    """Whether an operand is true of one event."""
    word = records[k]
    w, bit = event >> 6, _ONE << np.uint64(event & 63)
    if k < inline_end:
        slot = word_slot(word)
        if bt.sparse[slot] or (not has_row(word) and bt.list_mask[slot] < 0):
            if bt.sparse[slot] and bt.there[WORDS * slot + w] & bit == _ZERO:
                return not has_row(word) and word_low(word) == 0
            code = np.int64(bt.codes[bt.place[slot], event]) if bt.place[slot] >= 0 else 0
            if not has_row(word):
                return word_low(word) <= code <= word_high(word)
            position = np.uint64(bt.below[bt.row_of_code[slot] + code])
            return (bt.positions[word_row(word)] >> position) & _ONE != _ZERO
        if not has_row(word):
            _list_word(word, tree, bt)
            return bt.scratch[w] & bit != _ZERO
    if k < inline_end or reference_target(word) < tree.first[0]:
        row = word_row(word) if k < inline_end else reference_number(word)
        mask_at = np.int64(bt.literal_at[row])
        return mask_at >= 0 and bt.literals[mask_at + w] & bit != _ZERO
    other = reference_number(word)
    if nonzero[other >> 6] & (_ONE << np.uint64(other & 63)) == _ZERO:
        return False
    return masks[WORDS * other + w] & bit != _ZERO


@inlined
def _and_node(at, inline_end, end, records, tree, bt, masks, nonzero, lists, target):
    """Write the mask of an `and` to masks[target:]; whether it is true of any event.

    As long as operands are true of many events, masks are intersected. From the first sparse
    literal on, only the events that are left are looked at, one by one.
    """
    few = bt.few
    left = np.int64(-1)  # how many events are left; -1: all of the mask
    fresh = True
    for k in range(at + 1, end):
        if left >= 0:
            kept = np.int64(0)
            for i in range(left):
                event = np.int64(few[i])
                few[kept] = event
                kept += _holds(event, k, inline_end, records, tree, bt, masks, nonzero)
            left = kept
            if left == 0:
                return False
        elif k < inline_end and _is_sparse(records[k], bt):
            word = records[k]
            base = 64 * word_slot(word)
            bits = _few(word, bt)
            left = np.int64(0)
            while bits:
                event = np.int64(bt.order[base + trailing_zeros(bits)])
                bits &= bits - _ONE
                few[left] = event
                if fresh:
                    left += 1
                else:
                    left += (masks[target + (event >> 6)] >> np.uint64(event & 63)) & _ONE != _ZERO
            if left == 0:
                return False
        elif _take(k, inline_end, records, tree, bt, masks, nonzero, lists, True, fresh, target):
            fresh = False
        else:
            return False
    if left >= 0:
        clear(masks, target)
        for i in range(left):
            event = np.int64(few[i])
            masks[target + (event >> 6)] |= _ONE << np.uint64(event & 63)
    return True


@inlined
def _or_node(at, inline_end, end, records, tree, bt, masks, nonzero, lists, target):
    """Write the mask of an `or` to masks[target:]; whether it is true of any event."""
    any_sparse = False
    fresh = True
    for k in range(at + 1, end):
        if k < inline_end and _is_sparse(records[k], bt):
            any_sparse = True
        elif _take(k, inline_end, records, tree, bt, masks, nonzero, lists, False, fresh, target):
            fresh = False
    if not any_sparse:
        return not fresh
    # single bits after whole masks: a wide load of words just written would wait for them
    for k in range(at + 1, inline_end):
        word = records[k]
        if _is_sparse(word, bt):
            base = 64 * word_slot(word)
            bits = _few(word, bt)
            if fresh and bits != _ZERO:
                clear(masks, target)
                fresh = False
            while bits:
                event = np.int64(bt.order[base + trailing_zeros(bits)])
                bits &= bits - _ONE
                masks[target + (event >> 6)] |= _ONE << np.uint64(event & 63)
    return not fresh


@lean
def sweep(tree, bt, wanted, masks, nonzero, out_event, out_rule, progress):
    """Write (event, rule) pairs, from `progress` on; the number of pairs written.

    `progress` is brought up to date; its node is ALL_WRITTEN at the end. `masks` has a mask for
    every node that another asks for, written where its bit of `nonzero` is set, and one more.
    """
    records = tree.records
    count = len(tree.group_of)
    lists = bt.any_lists[0] != 0
    found = np.int64(0)
    at = progress[RECORD]
    skip = progress[PAIRS_WRITTEN]
    mine = progress[USED_BEFORE]  # number of the node among the used ones
    last = len(masks) - WORDS
    for node in range(progress[NODE], count):
        header = records[at]
        inline_end = at + 1 + header_inline(header)
        end = inline_end + header_rest(header)
        target = WORDS * mine if is_used(header) else last
        if header_is_and(header):
            some = _and_node(at, inline_end, end, records, tree, bt, masks, nonzero, lists, target)
        else:
            some = _or_node(at, inline_end, end, records, tree, bt, masks, nonzero, lists, target)
        if is_used(header):
            bit = _ONE << np.uint64(mine & 63)
            if some:
                nonzero[mine >> 6] |= bit
            else:
                nonzero[mine >> 6] &= ~bit
            mine += 1
        if some and tree.group_of[node] >= 0:
            found, left = _write(
                tree.group_of[node], masks, target, tree, wanted, out_event, out_rule, found, skip
            )
            if left >= 0:
                progress[NODE], progress[RECORD] = node, at
                progress[PAIRS_WRITTEN], progress[USED_BEFORE] = left, mine - is_used(header)
                return found
        skip = 0
        at = end
    more = len(tree.literal_group)
    for i in range(max(progress[NODE] - count, 0), more + len(tree.always)):
        if i < more:
            group = tree.literal_group[i, GROUP]
            _literal(tree.literal_group[i, LITERAL], tree, bt)
        else:
            group = np.int64(tree.always[i - more])
            clear(bt.scratch, 0)
            _add_there(bt.scratch, 0, 0, 0, tree.family_end[FAMILIES - 1], bt)
        copy(masks, last, bt.scratch, 0)
        found, left = _write(group, masks, last, tree, wanted, out_event, out_rule, found, skip)
        if left >= 0:
            progress[NODE], progress[RECORD] = count + i, at
            progress[PAIRS_WRITTEN], progress[USED_BEFORE] = left, mine
            return found
        skip = 0
    progress[NODE] = ALL_WRITTEN
    return found
