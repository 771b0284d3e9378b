"""What kernels for one event see of it, and whether a literal is true of it.

`Index` is what they read and never write; `Scratch` belongs to the caller. A state is a byte:
epoch * 4 + one of the constants below, so that an event forgets the last one by counting up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import inlined
from matchwood.index.layout import (
    CODE_MASK,
    FAMILY_HIGH,
    FAMILY_LOW,
    IV_END,
    IV_START,
    KIND,
    LOW_SHIFT,
    NEGATED_SHIFT,
    OPAQUE,
    OTHER,
    REF_MASK,
    SLOT,
    SLOT_MASK,
    SLOT_SHIFT,
    VALUE_TEST,
)

FALSE_SEEN, TRUE_SEEN, PUSHED, UNDEFINED_SEEN = 0, 1, 2, 3
REQUESTED = 2  # of a lazy atom: a rule depends on it
EPOCHS = 63
NO, YES, UNKNOWN = 0, 1, 2


class Index(NamedTuple):
    """The read-only arrays of a segment, as `index.arrange` describes them."""

    records: NDArray[np.int64]
    push_at: NDArray[np.int32]
    pushes: NDArray[np.int32]
    tree_at: NDArray[np.int32]
    tree_size: NDArray[np.int32]
    tree_start: NDArray[np.int32]
    stab_bound: NDArray[np.int32]
    stab_push: NDArray[np.int32]
    literal_push: NDArray[np.int32]
    first_atom: NDArray[np.int32]  # of each slot: atoms are in order of slots
    row_literal: NDArray[np.int32]
    asked: NDArray[np.int32]
    asked_push: NDArray[np.int32]
    opaque_push: NDArray[np.int32]  # push list of an opaque atom, positive
    null_slots: NDArray[np.int32]  # slots where `is null` has a push list
    atom_row: NDArray[np.int32]
    iv_low: NDArray[np.int32]
    iv_high: NDArray[np.int32]
    family_end: NDArray[np.int32]  # last code of each family of a slot, four a slot
    first: NDArray[np.int64]  # one number: references from here on are nodes


class Scratch(NamedTuple):
    """What one thread writes while it matches."""

    codes: NDArray[np.int32]  # of each slot; below zero: -1 - number of a list
    state: NDArray[np.uint8]  # of each node
    seen: NDArray[np.uint8]  # of each group
    opaque: NDArray[np.uint8]  # of each opaque atom
    queue: NDArray[np.int32]  # push lists
    frames: NDArray[np.int64]
    out: NDArray[np.int32]  # groups found
    wait: NDArray[np.int32]  # records that wait for a lazy atom
    counts: NDArray[np.int64]  # found, waiting, checked records, stabbed literals, calls before


@inlined
def _within(code, iv_low, iv_high, low, high):
    """Whether a code lies in one of the sorted intervals low..high."""
    while high - low > 8:
        middle = (low + high) >> 1
        if iv_low[middle] <= code:
            low = middle
        else:
            high = middle
    for i in range(low, high):
        if iv_low[i] <= code <= iv_high[i]:
            return 1
    return 0


@inlined
def literal_holds(ref, ix, sc, list_start, list_codes, epoch):
    """Whether a literal is true: NO, YES, or UNKNOWN where its atom is still to be evaluated."""
    row = ix.atom_row[ref >> 1]
    negated = ref & 1
    code = sc.codes[row[SLOT]]
    opaque = row[OPAQUE]
    if opaque >= 0:
        state = sc.opaque[opaque]
        now = state >> 2 == epoch
        if row[KIND] == VALUE_TEST:
            hit = now and state & 3 == TRUE_SEEN
            if negated:
                there = code < 0 or row[FAMILY_LOW] <= code <= row[FAMILY_HIGH]
                return YES if there and not hit else NO
            return YES if hit else NO
        if not now or state & 3 == REQUESTED:
            sc.opaque[opaque] = epoch * 4 + REQUESTED
            return UNKNOWN
        return YES if state & 3 == (FALSE_SEEN if negated else TRUE_SEEN) else NO
    if code >= 0:
        if negated and (code < row[FAMILY_LOW] or code > row[FAMILY_HIGH]):
            return NO
        inside = _within(code, ix.iv_low, ix.iv_high, row[IV_START], row[IV_END])
        return YES if inside != negated else NO
    number = -1 - code
    for i in range(list_start[number], list_start[number + 1]):
        if _within(list_codes[i], ix.iv_low, ix.iv_high, row[IV_START], row[IV_END]):
            return NO if negated else YES
    return YES if negated else NO


@inlined
def list_word(word, ix, number, list_start, list_codes):
    """An inline word of a list: any value inside, or, negated, no value of the family outside."""
    low = (word >> LOW_SHIFT) & CODE_MASK
    high = word & CODE_MASK
    if not (word >> NEGATED_SHIFT) & 1:
        for i in range(list_start[number], list_start[number + 1]):
            if low <= list_codes[i] <= high:
                return YES
        return NO
    if low <= 1:
        return YES  # is not null
    slot = (word >> SLOT_SHIFT) & SLOT_MASK
    family_low, family_high = 2, 1
    for family in range(4):
        if ix.family_end[4 * slot + family] >= low:
            family_high = ix.family_end[4 * slot + family]
            break
        family_low = ix.family_end[4 * slot + family] + 1
    for i in range(list_start[number], list_start[number + 1]):
        code = list_codes[i]
        if family_low <= code <= family_high and not low <= code <= high:
            return NO
    return YES


@inlined
def word_holds(word, ix, sc, list_start, list_codes, epoch):
    """Whether an inline word of a record is true, of a value or of a list."""
    code = sc.codes[(word >> SLOT_SHIFT) & SLOT_MASK]
    if word >= 0 and code >= 0:
        return (word >> LOW_SHIFT) & CODE_MASK <= code <= word & CODE_MASK
    if word >= 0:
        return list_word(word, ix, -1 - code, list_start, list_codes) == YES
    if 0 <= code <= OTHER:
        return False
    ref = ix.row_literal[word & REF_MASK]
    return literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES
