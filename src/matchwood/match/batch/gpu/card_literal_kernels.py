"""Of which events a literal is true, from the codes that they have.

A literal of a slot that few events have is tested once per batch, by one thread, for these events
alone; the lanes of a warp then spread the bits of this one number over the words of a mask. Nothing
is prepared for other literals: the codes of a batch fit into the caches of a card, so that looking
at the events that are still in question costs less than reading a mask.

Places and counts are unsigned and of 32 bits. Numba looks at each signed index for being negative,
and computes with 64 bits otherwise, which takes a card twice the instructions.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import cuda

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
    FEW_EVENTS,
    INDEX_HEADER,
    LISTS_AT,
    LITERAL_WORDS,
    ROW_BEFORE,
    ROW_COUNT,
    ROW_LISTS,
    ROW_THERE,
    TRUE_AT,
    operand_literal,
    operand_slot,
    other_literal,
)
from matchwood.match.batch.gpu.warp_kernels import (
    count_ones,
    device_function,
    launched,
    lowest_one,
)
from matchwood.match.batch.sweep.program_kernels import ALWAYS_KEY, literal_of_key

_slot = device_function(word_slot)
_low = device_function(word_low)
_high = device_function(word_high)
_negated = device_function(word_negated)
_list_number = device_function(list_of_code)
_literal_of_key = device_function(literal_of_key)
_atom_of = device_function(atom_of)
_is_negated = device_function(is_negated)
_operand_slot = device_function(operand_slot)
_operand_literal = device_function(operand_literal)
_other_literal = device_function(other_literal)

_ONE = np.uint32(1)
_TWO = np.uint32(2)
_NONE = np.uint32(0)
_ONE_BIT = np.uint64(1)
_NO_BITS = np.uint64(0)
_LOW_WORD = np.uint64(0xFFFFFFFF)


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
def row_of(slot, batch):
    """Where the row of a slot begins."""
    return np.uint32(batch[np.uint32(np.uint32(BATCH_HEADER) + np.uint32(slot))])


@device_function
def events_with(row, w, batch):
    """Which events of a word have a slot."""
    return np.uint32(batch[np.uint32(row + np.uint32(ROW_THERE) + w)])


@device_function
def _events_before(row, w, batch):
    """How many events before a word have a slot."""
    return np.uint32(batch[np.uint32(row + np.uint32(ROW_BEFORE) + w)])


@device_function
def _is_of_few(row, batch):
    """Whether a row has the codes of those events alone that have its slot."""
    return batch[np.uint32(row + np.uint32(ROW_COUNT))] <= FEW_EVENTS


@device_function
def _code(bit, row, w, batch):
    """The code of an event of a word."""
    if not _is_of_few(row, batch):
        return batch[np.uint32(row + np.uint32(CARD_WORDS * bit) + w)]
    there = events_with(row, w, batch)
    own = np.uint32(_ONE << np.uint32(bit))
    if there & own == _NONE:
        return np.int32(0)
    before = count_ones(np.uint32(there & np.uint32(own - _ONE)))
    return batch[np.uint32(row + _events_before(row, w, batch) + np.uint32(before))]


@device_function
def _interval_events(key, among, w, index, batch):
    """The events of a word, among some, of which an interval is true."""
    low, high = np.int32(_low(key)), np.int32(_high(key))
    row = row_of(_slot(key), batch)
    if low > 0:
        among = np.uint32(among & events_with(row, w, batch))
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
    row = row_of(index[np.uint32(at + np.uint32(SLOT))], batch)
    first = np.uint32(index[np.uint32(at + np.uint32(IV_START))])
    last = np.uint32(index[np.uint32(at + np.uint32(IV_END))])
    family_low = index[np.uint32(at + np.uint32(FAMILY_LOW))]
    family_high = index[np.uint32(at + np.uint32(FAMILY_HIGH))]
    if opaque >= 0 and family_low == 0:
        return among  # a test of truth, which is false of whatever it is not true of
    starts = index[first] if first < last else np.int64(1)
    if (family_low > 0) if negated != 0 else (starts > 0):
        among = np.uint32(among & events_with(row, w, batch))
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
def _literal_events(key, among, w, index, batch):
    """The events of a word, among some, of which the literal of a key is true."""
    if key >= 0:
        return _interval_events(key, among, w, index, batch)
    if key == ALWAYS_KEY:
        return among
    return _atom_events(_literal_of_key(key), among, w, index, batch)


@device_function
def _bits_inside(low, high, row, count, batch):
    """Of those events that have a slot, by a bit each, which have a code of an interval."""
    bits = _NO_BITS
    for i in range(count):
        code = batch[np.uint32(row + np.uint32(i))]
        if low <= code and code <= high:
            bits = np.uint64(bits | np.uint64(_ONE_BIT << np.uint64(i)))
    return bits


@device_function
def _atom_bits(literal, row, count, index, batch):
    """The same for a literal of several intervals, of events without lists."""
    at = np.uint32(INDEX_HEADER + ATOM_COLUMNS * _atom_of(literal))
    first = np.uint32(index[np.uint32(at + np.uint32(IV_START))])
    last = np.uint32(index[np.uint32(at + np.uint32(IV_END))])
    bits = _NO_BITS
    while first < last:
        low, high = index[first], index[np.uint32(first + _ONE)]
        bits = np.uint64(bits | _bits_inside(low, high, row, count, batch))
        first = np.uint32(first + _TWO)
    if _is_negated(literal) != 0:
        low = index[np.uint32(at + np.uint32(FAMILY_LOW))]
        high = index[np.uint32(at + np.uint32(FAMILY_HIGH))]
        bits = np.uint64(_bits_inside(low, high, row, count, batch) & ~bits)
    return bits


@device_function
def _holds_of_list(key, code, index, batch):
    """Whether the literal of a key is true of a list."""
    if key >= 0:
        return _interval_holds_of_list(key, code, index, batch)
    literal = _literal_of_key(key)
    at = np.uint32(INDEX_HEADER + ATOM_COLUMNS * _atom_of(literal))
    first = np.uint32(index[np.uint32(at + np.uint32(IV_START))])
    last = np.uint32(index[np.uint32(at + np.uint32(IV_END))])
    low = index[np.uint32(at + np.uint32(FAMILY_LOW))]
    high = index[np.uint32(at + np.uint32(FAMILY_HIGH))]
    return _atom_holds_of_list(first, last, low, high, _is_negated(literal), code, index, batch)


@launched
def test_literals(literals, keys_at, index, batch, masks, bits_at):
    """Write of which events each literal of a slot that few events have is true.

    Literals that are true of events without their slot have no such bits: nobody asks for them.
    """
    number = np.uint32(cuda.grid(1))
    end = np.uint32(len(literals) - keys_at)
    while number < end:
        key = literals[np.uint32(np.uint32(keys_at) + number)]
        if key != ALWAYS_KEY:
            if key >= 0:
                row = row_of(_slot(key), batch)
            else:
                at = np.uint32(INDEX_HEADER + ATOM_COLUMNS * _atom_of(_literal_of_key(key)))
                row = row_of(index[np.uint32(at + np.uint32(SLOT))], batch)
            count = batch[np.uint32(row + np.uint32(ROW_COUNT))]
            if 0 < count and count <= FEW_EVENTS:
                if key >= 0:
                    low, high = np.int32(_low(key)), np.int32(_high(key))
                    bits = _bits_inside(low, high, row, count, batch)
                else:
                    bits = _atom_bits(_literal_of_key(key), row, count, index, batch)
                if batch[np.uint32(row + np.uint32(ROW_LISTS))] > 0:
                    for i in range(count):
                        code = batch[np.uint32(row + np.uint32(i))]
                        if code < 0 and _holds_of_list(key, code, index, batch):
                            bits = np.uint64(bits | np.uint64(_ONE_BIT << np.uint64(i)))
                at = np.uint32(np.uint32(bits_at) + np.uint32(LITERAL_WORDS) * number)
                masks[at] = np.uint32(bits & _LOW_WORD)
                masks[np.uint32(at + _ONE)] = np.uint32(bits >> np.uint64(32))
        number = np.uint32(number + np.uint32(cuda.gridsize(1)))


@device_function
def _spread(number, there, before, masks, bits_at):
    """The events of a word, all with the slot of a literal, of which the literal is true."""
    at = np.uint32(np.uint32(bits_at) + np.uint32(LITERAL_WORDS) * np.uint32(number))
    bits = np.uint64(masks[at]) | np.uint64(np.uint64(masks[np.uint32(at + _ONE)]) << np.uint64(32))
    bits = np.uint64(bits >> np.uint64(before))
    found = _NONE
    while there != _NONE and bits != _NO_BITS:
        rest = np.uint32(there & np.uint32(there - _ONE))
        if bits & _ONE_BIT:
            found = np.uint32(found | np.uint32(there ^ rest))
        bits = np.uint64(bits >> _ONE_BIT)
        there = rest
    return found


@device_function
def events_possible(operand, among, w, batch):
    """The events of a word, among some, that have the slot of a literal, if it needs that."""
    if operand < 0:
        return among
    return np.uint32(among & events_with(row_of(_operand_slot(operand), batch), w, batch))


@device_function
def operand_events(operand, among, w, literals, keys_at, index, batch, masks, bits_at):
    """The events of a word, among some, of which an operand that is a literal is true."""
    if operand >= 0:
        row = row_of(_operand_slot(operand), batch)
        if _is_of_few(row, batch):
            there = events_with(row, w, batch)
            if there & among == _NONE:
                return _NONE
            before = _events_before(row, w, batch)
            number = _operand_literal(operand)
            return np.uint32(among & _spread(number, there, before, masks, bits_at))
        number = _operand_literal(operand)
    else:
        number = _other_literal(operand)
    key = literals[np.uint32(np.uint32(keys_at) + np.uint32(number))]
    return _literal_events(key, among, w, index, batch)
