"""What kernels for one event see of it, and whether a literal is true of it.

`EventIndex` holds what they read and never write; `EventScratch` belongs to the caller. The state
of a node or of an opaque atom is one byte:

    | epoch: 6 bits | truth: 2 bits |

The epoch of an event is between 1 and EPOCHS, so that counting it up forgets the states of the
previous event; when it overflows, the caller clears all states.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import codec, inlined
from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.records import (
    FAMILIES,
    FAMILY_COLUMNS,
    FAMILY_FIRST,
    FAMILY_LAST,
    FAMILY_SLOT,
    ROW_FAMILY,
    ROW_OPAQUE,
    ROW_START,
    VALUE_TEST,
    is_several,
    list_of_code,
    may_hold,
    opaque_kind,
    opaque_number,
    word_high,
    word_literal,
    word_low,
    word_negated,
    word_slot,
)

# What the state of a node or of an opaque atom says of it.
FALSE_SEEN, TRUE_SEEN, PUSHED, UNDEFINED_SEEN = 0, 1, 2, 3

# Of a lazy atom: a rule depends on it, so it is to be evaluated.
REQUESTED = 2

# Events that a byte can tell apart before states have to be cleared.
EPOCHS = 63

# What the numbers in `EventScratch.counts` are: groups found, records that wait for a lazy atom,
# records checked, push lists of literals that are true, and calls of `match_one` for the same event
# before this one.
GROUPS_FOUND, WAITING, CHECKED, LITERALS_TRUE, CALLS_BEFORE = range(5)

# Whether a literal or a node is true; UNKNOWN until a lazy atom is evaluated.
NO, YES, UNKNOWN = 0, 1, 2


@codec
def pack_state(epoch: Any, truth: Any) -> Any:
    """The state of a node or an opaque atom in the event of this epoch."""
    return epoch * 4 + truth


@codec
def state_epoch(state: Any) -> Any:
    """The epoch that a state was written in."""
    return state >> 2


@codec
def state_truth(state: Any) -> Any:
    """What a state says, if it is of the present epoch."""
    return state & 3


class EventIndex(NamedTuple):
    """The read-only arrays of a segment; `index.build.arrange` describes them."""

    records: NDArray[np.int64]
    pushes: NDArray[np.int32]
    tree_at: NDArray[np.int32]
    tree_size: NDArray[np.int32]
    tree_points: NDArray[np.int32]
    tree_start: NDArray[np.int32]
    stab_bound: NDArray[np.int32]
    stab_push: NDArray[np.int32]
    literal_push: NDArray[np.int32]
    first_atom: NDArray[np.int32]  # of each slot: atoms are in order of slots
    asked: NDArray[np.int32]
    asked_push: NDArray[np.int32]
    opaque_push: NDArray[np.int32]  # push list of an opaque atom, positive
    null_slots: NDArray[
        np.int32
    ]  # slots where a literal has one that is true without the attribute
    atom_row: NDArray[np.int32]  # rows of atoms, see `kernels.records`
    families: NDArray[np.int32]
    iv_low: NDArray[np.int32]
    iv_high: NDArray[np.int32]
    family_end: NDArray[np.int32]  # last code of each family, FAMILIES per slot
    first: NDArray[np.int64]  # one number: references from here on are nodes


class EventScratch(NamedTuple):
    """What one thread writes while it matches."""

    codes: NDArray[np.int32]  # of each slot; below zero: `code_of_list`
    state: NDArray[np.uint8]  # of each node, by `state_of_record`
    seen: NDArray[np.uint8]  # of each group
    opaque: NDArray[np.uint8]  # of each opaque atom
    queue: NDArray[np.int32]  # push lists
    frames: NDArray[np.int64]
    out: NDArray[np.int32]  # groups found
    wait: NDArray[np.int32]  # records that wait for a lazy atom
    counts: NDArray[np.int64]  # see `GROUPS_FOUND` and those after it


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
def _is_in_family(code, family, ix):
    """Whether a code is one of the family that begins at `family`."""
    return ix.families[family + FAMILY_FIRST] <= code <= ix.families[family + FAMILY_LAST]


@inlined
def literal_holds(ref, ix, sc, list_start, list_codes, epoch):
    """Whether a literal is true: NO, YES, or UNKNOWN if its atom has yet to be evaluated."""
    atom = atom_of(ref)
    negated = is_negated(ref)
    family = FAMILY_COLUMNS * np.int64(ix.atom_row[atom, ROW_FAMILY])
    code = sc.codes[ix.families[family + FAMILY_SLOT]]
    opaque = ix.atom_row[atom, ROW_OPAQUE]
    if opaque >= 0:
        number = opaque_number(opaque)
        state = sc.opaque[number]
        now = state_epoch(state) == epoch
        if opaque_kind(opaque) == VALUE_TEST:
            hit = now and state_truth(state) == TRUE_SEEN
            if negated:
                there = code < 0 or _is_in_family(code, family, ix)
                return YES if there and not hit else NO
            return YES if hit else NO
        if not now or state_truth(state) == REQUESTED:
            sc.opaque[number] = pack_state(epoch, REQUESTED)
            return UNKNOWN
        return YES if state_truth(state) == (FALSE_SEEN if negated else TRUE_SEEN) else NO
    start, end = ix.atom_row[atom, ROW_START], ix.atom_row[atom + 1, ROW_START]
    if code >= 0:
        if negated and not _is_in_family(code, family, ix):
            return NO
        inside = _within(code, ix.iv_low, ix.iv_high, start, end)
        return YES if inside != negated else NO
    values = list_of_code(code)
    for i in range(list_start[values], list_start[values + 1]):
        code = list_codes[i]
        if _within(code, ix.iv_low, ix.iv_high, start, end) and _is_in_family(code, family, ix):
            return NO if negated else YES
    return YES if negated else NO


@inlined
def list_word(word, ix, number, list_start, list_codes):
    """Whether an inline word is true of a list: some value lies inside, or, if it is negated, no
    value of the family lies outside."""
    low = word_low(word)
    high = word_high(word)
    if not word_negated(word):
        for i in range(list_start[number], list_start[number + 1]):
            if low <= list_codes[i] <= high:
                return YES
        return NO
    if low <= 1:
        return YES  # is not null
    slot = word_slot(word)
    family_low, family_high = 2, 1
    for i in range(FAMILIES * slot, FAMILIES * (slot + 1)):
        if ix.family_end[i] >= low:
            family_high = ix.family_end[i]
            break
        family_low = ix.family_end[i] + 1
    for i in range(list_start[number], list_start[number + 1]):
        code = list_codes[i]
        if family_low <= code <= family_high and not low <= code <= high:
            return NO
    return YES


@inlined
def word_holds(word, ix, sc, list_start, list_codes, epoch):
    """Whether an inline word of a record is true of a value or of a list."""
    code = sc.codes[word_slot(word)]
    if not is_several(word) and code >= 0:
        return word_low(word) <= code <= word_high(word)
    if not is_several(word):
        return list_word(word, ix, list_of_code(code), list_start, list_codes) == YES
    if not may_hold(word, code):
        return False
    ref = word_literal(word)
    return literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES
