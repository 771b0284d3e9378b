"""Of which events of a word a literal is true, from the codes that they have.

Nothing is prepared per literal: the codes of a batch fit into the caches of a card, so that looking
at the few events that are still in question costs less than reading a mask.

Places and counts are unsigned and of 32 bits. Numba looks at each signed index for being negative,
and computes with 64 bits otherwise, which takes a card twice the instructions.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.records import (
    ATOM_COLUMNS,
    FAMILIES,
    FAMILY_HIGH,
    FAMILY_LOW,
    IV_END,
    IV_START,
    OPAQUE,
    SLOT,
    list_of_code,
    word_high,
    word_low,
    word_negated,
    word_slot,
)
from matchwood.match.batch.gpu.card_layout import (
    BATCH_HEADER,
    CARD_WORDS,
    FAMILIES_AT,
    INDEX_HEADER,
    LISTS_AT,
    ROW_THERE,
    TRUE_AT,
)
from matchwood.match.batch.gpu.warp_kernels import device_function, lowest_one
from matchwood.match.batch.sweep.program_kernels import ALWAYS_KEY, literal_of_key

_slot = device_function(word_slot)
_low = device_function(word_low)
_high = device_function(word_high)
_negated = device_function(word_negated)
_list_number = device_function(list_of_code)
_literal_of_key = device_function(literal_of_key)
_atom_of = device_function(atom_of)
_is_negated = device_function(is_negated)

_ONE = np.uint32(1)
_TWO = np.uint32(2)
_NONE = np.uint32(0)


@device_function
def _is_inside(code, at, end, index):
    """Whether a code lies in one of some intervals."""
    while at < end:
        if index[at] <= code and code <= index[np.uint32(at + _ONE)]:
            return True
        at = np.uint32(at + _TWO)
    return False


@device_function
def _list_bounds(code, batch):
    """Where the codes of a list begin, and their end."""
    at = np.uint32(batch[LISTS_AT] + _list_number(code))
    return np.uint32(batch[at]), np.uint32(batch[np.uint32(at + _ONE)])


@device_function
def _interval_holds_of_list(key, code, index, batch):
    """Whether an interval is true of a list: some value lies inside, or, if it is that of a negated
    literal, no value of the family lies outside."""
    low, high = _low(key), _high(key)
    at, end = _list_bounds(code, batch)
    if _negated(key) == 0:
        while at < end:
            if low <= batch[at] and batch[at] <= high:
                return True
            at = np.uint32(at + _ONE)
        return False
    if low <= 1:
        return True  # is not null
    family = np.uint32(index[FAMILIES_AT] + FAMILIES * _slot(key))
    family_low, family_high = np.int64(2), np.int64(1)
    for _ in range(FAMILIES):
        if index[family] >= low:
            family_high = np.int64(index[family])
            break
        family_low = np.int64(index[family]) + 1
        family = np.uint32(family + _ONE)
    while at < end:
        value = batch[at]
        if family_low <= value and value <= family_high and not (low <= value and value <= high):
            return False
        at = np.uint32(at + _ONE)
    return True


@device_function
def _code(bit, row, w, batch):
    """The code of an event of a word."""
    return batch[np.uint32(row + np.uint32(CARD_WORDS * bit) + w)]


@device_function
def _there(row, w, batch):
    """Which events of a word have a slot."""
    return np.uint32(batch[np.uint32(row + np.uint32(ROW_THERE) + w)])


@device_function
def _interval_events(key, among, w, index, batch):
    """The events of a word, among some, of which an interval is true."""
    low, high = np.int32(_low(key)), np.int32(_high(key))
    row = np.uint32(batch[np.uint32(BATCH_HEADER + np.uint32(_slot(key)))])
    if low > 0:
        among = np.uint32(among & _there(row, w, batch))
    found = _NONE
    while among != _NONE:
        rest = np.uint32(among & np.uint32(among - _ONE))
        code = _code(lowest_one(among), row, w, batch)
        if low <= code and code <= high:
            found = np.uint32(found | np.uint32(among ^ rest))
        elif code < 0 and _interval_holds_of_list(key, code, index, batch):
            found = np.uint32(found | np.uint32(among ^ rest))
        among = rest
    return found


@device_function
def _atom_holds_of_list(first, last, family_low, family_high, negated, code, index, batch):
    """Whether a literal of several intervals is true of a list, of whose values those of the family
    count."""
    at, end = _list_bounds(code, batch)
    while at < end:
        value = batch[at]
        if family_low <= value and value <= family_high and _is_inside(value, first, last, index):
            return negated == 0
        at = np.uint32(at + _ONE)
    return negated != 0


@device_function
def _atom_events(literal, among, w, index, batch):
    """The events of a word, among some, of which a literal of several intervals, or one that the
    host has evaluated, is true."""
    at = np.uint32(INDEX_HEADER + ATOM_COLUMNS * _atom_of(literal))
    negated = _is_negated(literal)
    opaque = index[np.uint32(at + np.uint32(OPAQUE))]
    if opaque >= 0:
        hits = np.uint32(batch[np.uint32(batch[TRUE_AT] + CARD_WORDS * opaque + w)])
        if negated == 0:
            return np.uint32(among & hits)
        among = np.uint32(among & ~hits)
    slot = np.uint32(index[np.uint32(at + np.uint32(SLOT))])
    row = np.uint32(batch[np.uint32(BATCH_HEADER + slot)])
    first = np.uint32(index[np.uint32(at + np.uint32(IV_START))])
    last = np.uint32(index[np.uint32(at + np.uint32(IV_END))])
    family_low = index[np.uint32(at + np.uint32(FAMILY_LOW))]
    family_high = index[np.uint32(at + np.uint32(FAMILY_HIGH))]
    if opaque >= 0 and family_low == 0:
        return among  # a test of truth, which is false of whatever it is not true of
    starts = index[first] if first < last else np.int64(1)
    if (family_low > 0) if negated != 0 else (starts > 0):
        among = np.uint32(among & _there(row, w, batch))
    found = _NONE
    while among != _NONE:
        rest = np.uint32(among & np.uint32(among - _ONE))
        code = _code(lowest_one(among), row, w, batch)
        in_family = code < 0 or (family_low <= code and code <= family_high)
        if negated != 0 and not in_family:
            holds = False
        elif opaque >= 0:
            holds = True
        elif code >= 0:
            holds = _is_inside(code, first, last, index) == (negated == 0)
        else:
            holds = _atom_holds_of_list(
                first, last, family_low, family_high, negated, code, index, batch
            )
        if holds:
            found = np.uint32(found | np.uint32(among ^ rest))
        among = rest
    return found


@device_function
def literal_events(key, among, w, index, batch):
    """The events of a word, among some, of which the literal of a key is true."""
    if key >= 0:
        return _interval_events(key, among, w, index, batch)
    if key == ALWAYS_KEY:
        return among
    return _atom_events(_literal_of_key(key), among, w, index, batch)
