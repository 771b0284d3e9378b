"""Many events at a time: a node holds a bit mask of 1,024 events and is visited once for all of
them.

Records are in order of level, so one sweep over them sees every operand before its node. The
mask of an interval is not stored: for each slot the events are ranked by code, row r of the slot
holds the events of rank below r, and an interval is the difference of two rows. For a slot with
lists an event has several ranks; there row r of layer k holds the events with a value of rank r to
r + 2**k - 1, and an interval is the union of two rows. Literals of several intervals are computed
once a batch, before the sweep.

A mask is sixteen words, written out: kept in registers they need no array that could alias another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, prefetch

WORDS = 16
EVENTS = 64 * WORDS

SLOT_SHIFT = 45
NEGATED_SHIFT = 44
LOW_SHIFT = 22
CODE_MASK = (1 << 22) - 1
INLINE_SHIFT = 14
INLINE_MASK = (1 << 15) - 1
REST_MASK = (1 << 14) - 1
SLOT_MASK = (1 << 18) - 1
REF_MASK = (1 << 32) - 1
LAZY = 2
SLOT, FAMILY_LOW, FAMILY_HIGH, IV_START, IV_END, KIND, OPAQUE = range(7)

_AHEAD = 64  # words of records between asking for masks and reading them
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NONE = (_ZERO,) * WORDS
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, np.int32)
for _i in range(64):
    _POSITION[((0x03F79D71B4CB0A89 << _i) & 0xFFFFFFFFFFFFFFFF) >> 58] = _i
_POSITION.flags.writeable = False


class Tree(NamedTuple):
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
    literals: NDArray[np.uint64]  # masks of literals: first one a slot, then one a row
    literal_at: NDArray[np.int32]  # first word of the mask of each row, -1 where it is empty
    true: NDArray[np.uint64]  # of opaque atoms: where they are true
    false: NDArray[np.uint64]  # of lazy atoms: where they are false
    any_lists: NDArray[np.uint8]  # one byte


@inlined
def _load(masks, at):
    return (
        masks[at], masks[at + 1], masks[at + 2], masks[at + 3],
        masks[at + 4], masks[at + 5], masks[at + 6], masks[at + 7],
        masks[at + 8], masks[at + 9], masks[at + 10], masks[at + 11],
        masks[at + 12], masks[at + 13], masks[at + 14], masks[at + 15],
    )  # fmt: skip


@inlined
def _store(masks, at, m):
    masks[at] = m[0]
    masks[at + 1] = m[1]
    masks[at + 2] = m[2]
    masks[at + 3] = m[3]
    masks[at + 4] = m[4]
    masks[at + 5] = m[5]
    masks[at + 6] = m[6]
    masks[at + 7] = m[7]
    masks[at + 8] = m[8]
    masks[at + 9] = m[9]
    masks[at + 10] = m[10]
    masks[at + 11] = m[11]
    masks[at + 12] = m[12]
    masks[at + 13] = m[13]
    masks[at + 14] = m[14]
    masks[at + 15] = m[15]


@inlined
def _and(a, b):
    return (
        a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3],
        a[4] & b[4], a[5] & b[5], a[6] & b[6], a[7] & b[7],
        a[8] & b[8], a[9] & b[9], a[10] & b[10], a[11] & b[11],
        a[12] & b[12], a[13] & b[13], a[14] & b[14], a[15] & b[15],
    )  # fmt: skip


@inlined
def _or(a, b):
    return (
        a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3],
        a[4] | b[4], a[5] | b[5], a[6] | b[6], a[7] | b[7],
        a[8] | b[8], a[9] | b[9], a[10] | b[10], a[11] | b[11],
        a[12] | b[12], a[13] | b[13], a[14] | b[14], a[15] | b[15],
    )  # fmt: skip


@inlined
def _xor(a, b):
    return (
        a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3],
        a[4] ^ b[4], a[5] ^ b[5], a[6] ^ b[6], a[7] ^ b[7],
        a[8] ^ b[8], a[9] ^ b[9], a[10] ^ b[10], a[11] ^ b[11],
        a[12] ^ b[12], a[13] ^ b[13], a[14] ^ b[14], a[15] ^ b[15],
    )  # fmt: skip


@inlined
def _without(a, b):
    return (
        a[0] & ~b[0], a[1] & ~b[1], a[2] & ~b[2], a[3] & ~b[3],
        a[4] & ~b[4], a[5] & ~b[5], a[6] & ~b[6], a[7] & ~b[7],
        a[8] & ~b[8], a[9] & ~b[9], a[10] & ~b[10], a[11] & ~b[11],
        a[12] & ~b[12], a[13] & ~b[13], a[14] & ~b[14], a[15] & ~b[15],
    )  # fmt: skip


@inlined
def _any(m):
    low = m[0] | m[1] | m[2] | m[3] | m[4] | m[5] | m[6] | m[7]
    high = m[8] | m[9] | m[10] | m[11] | m[12] | m[13] | m[14] | m[15]
    return (low | high) != _ZERO


@compiled
def rank_events(slots, codes, list_start, list_codes, codes_of, row_of_code, events):
    """Rank every slot: codes[i, event] is the code of slots[i]; below 0: -1 - number of a list.

    Slots that are not among `slots` are missing in every event.
    """
    count = len(codes_of)
    row = np.empty(row_of_code[count], np.int32)
    ranks = np.ones(count, np.int32)
    list_mask = np.full(count, -1, np.int32)
    place = np.full(count, -1, np.int64)
    row_at = np.zeros(count + 1, np.int64)
    for i in range(len(slots)):
        place[slots[i]] = i
    for slot in range(count):
        at = row_of_code[slot]
        size = codes_of[slot]
        for c in range(size + 1):
            row[at + c] = 0
        lists = False
        if place[slot] < 0:
            row[at] = 1
        else:
            for event in range(events):
                code = codes[place[slot], event]
                if code >= 0:
                    row[at + code] = 1
                else:
                    lists = True
                    for j in range(list_start[-1 - code], list_start[-code]):
                        row[at + list_codes[j]] = 1
        below = 0
        for c in range(size + 1):
            here = row[at + c]
            row[at + c] = row_at[slot] + WORDS * below
            below += here
        ranks[slot] = below
        needed = below + 1
        if lists:
            layers = 1
            while (1 << layers) <= below:
                layers += 1
            needed = layers * below + 1
            list_mask[slot] = row_at[slot] + WORDS * layers * below
        row_at[slot + 1] = row_at[slot] + WORDS * needed
    rows = np.zeros(row_at[count], np.uint64)
    for slot in range(count):
        base = row_at[slot]
        at = row_of_code[slot]
        n = ranks[slot]
        lists = list_mask[slot] >= 0
        shift = 0 if lists else WORDS
        for event in range(events):
            code = codes[place[slot], event] if place[slot] >= 0 else np.int32(0)
            bit = _ONE << np.uint64(event & 63)
            if code >= 0:
                rows[row[at + code] + shift + (event >> 6)] |= bit
            else:
                rows[list_mask[slot] + (event >> 6)] |= bit
                for j in range(list_start[-1 - code], list_start[-code]):
                    rows[row[at + list_codes[j]] + (event >> 6)] |= bit
        if not lists:
            for i in range(base + WORDS, base + WORDS * (n + 1)):
                rows[i] |= rows[i - WORDS]
            continue
        layer = 1
        while (1 << layer) <= n:
            for i in range(WORDS * (n - (1 << layer) + 1)):
                rows[base + WORDS * layer * n + i] = (
                    rows[base + WORDS * (layer - 1) * n + i]
                    | rows[base + WORDS * ((layer - 1) * n + (1 << (layer - 1))) + i]
                )
            layer += 1
    return row, rows, ranks, list_mask


@inlined
def _interval(slot, low, high, bt):
    """The events whose code, or one of whose codes, lies in low..high."""
    at = bt.row_of_code[slot]
    a = np.int64(bt.row[at + low])
    b = np.int64(bt.row[at + high + 1])
    if a >= b:
        return _NONE
    if bt.list_mask[slot] < 0:
        return _xor(_load(bt.rows, a), _load(bt.rows, b))
    width = (b - a) // WORDS
    layer = 0
    while (2 << layer) <= width:
        layer += 1
    up = WORDS * layer * np.int64(bt.ranks[slot])
    return _or(_load(bt.rows, up + a), _load(bt.rows, up + b - (WORDS << layer)))


@inlined
def _there(slot, low, high, bt):
    """The events where a negated literal of that family is not undefined."""
    mask = _interval(slot, low, high, bt) if low <= high else _NONE
    if bt.list_mask[slot] >= 0:
        mask = _or(mask, _load(bt.rows, np.int64(bt.list_mask[slot])))
    return mask


@inlined
def _literal(ref, tree, bt):
    """The events of which a literal is true."""
    row = tree.atom_row[ref >> 1]
    slot = row[SLOT]
    mask = _NONE
    if row[OPAQUE] >= 0:
        if row[KIND] == LAZY and ref & 1:
            return _load(bt.false, WORDS * np.int64(row[OPAQUE]))
        mask = _load(bt.true, WORDS * np.int64(row[OPAQUE]))
    else:
        for i in range(row[IV_START], row[IV_END]):
            mask = _or(mask, _interval(slot, tree.iv_low[i], tree.iv_high[i], bt))
    if ref & 1:
        return _without(_there(slot, row[FAMILY_LOW], row[FAMILY_HIGH], bt), mask)
    return mask


@compiled
def literal_masks(tree, bt):
    """The masks of the literals that are not one interval, once for all records that test them.

    Where a literal is true of no event nothing is kept; where a negated one is true of the whole
    family, all of its slot share one mask.
    """
    slots = len(bt.row_of_code) - 1
    family_at = np.full(slots, -2, np.int32)
    for i in range(len(tree.masked)):
        ref = tree.masked[i]
        place = WORDS * (slots + np.int64(tree.masked_row[i]))
        row = tree.atom_row[ref >> 1]
        slot = row[SLOT]
        if ref & 1 and row[OPAQUE] < 0 and row[FAMILY_LOW] == 2 and bt.list_mask[slot] < 0:
            mask = _NONE
            for j in range(row[IV_START], row[IV_END]):
                mask = _or(mask, _interval(slot, tree.iv_low[j], tree.iv_high[j], bt))
            if not _any(mask):
                if family_at[slot] == -2:
                    family = _there(slot, row[FAMILY_LOW], row[FAMILY_HIGH], bt)
                    family_at[slot] = WORDS * slot if _any(family) else -1
                    _store(bt.literals, WORDS * np.int64(slot), family)
                bt.literal_at[tree.masked_row[i]] = family_at[slot]
                continue
            mask = _without(_there(slot, row[FAMILY_LOW], row[FAMILY_HIGH], bt), mask)
        else:
            mask = _literal(ref, tree, bt)
        if _any(mask):
            _store(bt.literals, place, mask)
            bt.literal_at[tree.masked_row[i]] = place
        else:
            bt.literal_at[tree.masked_row[i]] = -1


@inlined
def _list_word(word, tree, bt):
    """The mask of a negated inline word of a slot with lists: no value of the family outside."""
    slot = (word >> SLOT_SHIFT) & SLOT_MASK
    low, high = (word >> LOW_SHIFT) & CODE_MASK, word & CODE_MASK
    if low <= 1:  # is not null
        return _there(slot, low, high, bt)
    family_low, family_high = np.int64(2), np.int64(1)
    for family in range(4):
        if tree.family_end[4 * slot + family] >= low:
            family_high = np.int64(tree.family_end[4 * slot + family])
            break
        family_low = np.int64(tree.family_end[4 * slot + family] + 1)
    outside = _NONE
    if low > family_low:
        outside = _interval(slot, family_low, low - 1, bt)
    if high < family_high:
        outside = _or(outside, _interval(slot, high + 1, family_high, bt))
    return _without(_there(slot, family_low, family_high, bt), outside)


@inlined
def _write(group, mask, tree, keep, out_event, out_rule, found, skip):
    """(pairs written so far; pairs of this group written when room ran out, -1 if it did not)."""
    seen = np.int64(0)
    room = len(out_event)
    for ordinal in range(tree.group_start[group], tree.group_start[group + 1]):
        if len(keep) > 0 and keep[ordinal] == 0:
            continue
        for w in range(WORDS):
            bits = mask[w]
            while bits:
                lowest = bits & (~bits + _ONE)
                bits ^= lowest
                if seen >= skip:
                    if found == room:
                        return found, seen
                    number = _POSITION[(lowest * _DE_BRUIJN) >> np.uint64(58)]
                    out_event[found] = 64 * w + number
                    out_rule[found] = ordinal
                    found += 1
                seen += 1
    return found, np.int64(-1)


@inlined
def _prefetch_record(at, records, first, bt, masks):
    """Ask for the masks that a record will read; where the next record starts."""
    header = records[at]
    inline_end = at + 1 + ((header >> INLINE_SHIFT) & INLINE_MASK)
    end = inline_end + (header & REST_MASK)
    k = at + 1
    while k < inline_end:
        if records[k] < 0:
            place = np.int64(max(bt.literal_at[records[k] & REF_MASK], 0))
            prefetch(bt.literals, place)
            prefetch(bt.literals, place + 8)
        k += 1
    while k < end:
        if records[k] & REF_MASK >= first:
            place = WORDS * (records[k] >> 32)
            prefetch(masks, place)
            prefetch(masks, place + 8)
        k += 1
    return end


@compiled
def sweep(tree, bt, keep, masks, nonzero, out_event, out_rule, place):
    """Write (event, rule) pairs, from `place` on; the number of pairs written.

    place: node to go on with, its record, pairs of it already written, used nodes before it;
    place[0] is -1 when all is written. `masks` has a mask for every node that another asks for,
    written where its bit of `nonzero` is set.
    """
    records = tree.records
    first = tree.first[0]
    count = len(tree.group_of)
    lists = bt.any_lists[0] != 0
    found = np.int64(0)
    at = place[1]
    skip = place[2]
    mine = place[3]  # number of the node among the used ones
    ahead = at
    for node in range(place[0], count):
        while ahead < len(records) and ahead < at + _AHEAD:
            ahead = _prefetch_record(ahead, records, first, bt, masks)
        header = records[at]
        is_and = (header >> 31) & 1
        inline_end = at + 1 + ((header >> INLINE_SHIFT) & INLINE_MASK)
        end = inline_end + (header & REST_MASK)
        k = at + 1
        fresh = True
        acc = _NONE
        while k < end:
            word = records[k]
            k += 1
            if k <= inline_end and word < 0:
                mask_at = np.int64(bt.literal_at[word & REF_MASK])
                if mask_at < 0:
                    if is_and:
                        acc = _NONE
                        break
                    continue
                mask = _load(bt.literals, mask_at)
            elif k <= inline_end:
                slot = (word >> SLOT_SHIFT) & SLOT_MASK
                low, high = (word >> LOW_SHIFT) & CODE_MASK, word & CODE_MASK
                if lists and bt.list_mask[slot] >= 0:
                    if (word >> NEGATED_SHIFT) & 1:
                        mask = _list_word(word, tree, bt)
                    else:
                        mask = _interval(slot, low, high, bt)
                else:
                    code_at = bt.row_of_code[slot]
                    a = np.int64(bt.row[code_at + low])
                    b = np.int64(bt.row[code_at + high + 1])
                    if a >= b:
                        if is_and:
                            acc = _NONE
                            break
                        continue
                    mask = _xor(_load(bt.rows, a), _load(bt.rows, b))
            elif word & REF_MASK < first:
                mask_at = np.int64(bt.literal_at[word >> 32])
                if mask_at < 0:
                    if is_and:
                        acc = _NONE
                        break
                    continue
                mask = _load(bt.literals, mask_at)
            else:
                other = word >> 32
                if nonzero[other >> 6] & (_ONE << np.uint64(other & 63)) == _ZERO:
                    if is_and:
                        acc = _NONE
                        break
                    continue
                mask = _load(masks, WORDS * other)
            if fresh:
                acc = mask
                fresh = False
            elif is_and:
                acc = _and(acc, mask)
            else:
                acc = _or(acc, mask)
            if is_and and not _any(acc):
                break
        some = _any(acc)
        if header < 0:
            bit = _ONE << np.uint64(mine & 63)
            if some:
                nonzero[mine >> 6] |= bit
                _store(masks, WORDS * mine, acc)
            else:
                nonzero[mine >> 6] &= ~bit
            mine += 1
        if some and tree.group_of[node] >= 0:
            found, left = _write(
                tree.group_of[node], acc, tree, keep, out_event, out_rule, found, skip
            )
            if left >= 0:
                place[0], place[1], place[2], place[3] = node, at, left, mine - (header < 0)
                return found
        skip = 0
        at = end
    more = len(tree.literal_group)
    for i in range(max(place[0] - count, 0), more + len(tree.always)):
        if i < more:
            group = tree.literal_group[i, 1]
            acc = _literal(tree.literal_group[i, 0], tree, bt)
        else:
            group = np.int64(tree.always[i - more])
            acc = _interval(0, 0, tree.family_end[3], bt)
            if bt.list_mask[0] >= 0:
                acc = _or(acc, _load(bt.rows, np.int64(bt.list_mask[0])))
        found, left = _write(group, acc, tree, keep, out_event, out_rule, found, skip)
        if left >= 0:
            place[0], place[1], place[2], place[3] = count + i, at, left, mine
            return found
        skip = 0
    place[0] = -1
    return found
