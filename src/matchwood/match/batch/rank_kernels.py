"""The events of a batch, ranked by the codes of each slot, from which masks of intervals are made.

For each slot, events are ranked by code. Row r of the slot is the mask of the events of rank below
r, so that an interval is the difference of two rows. In a slot with lists an event has several
ranks; there, row r of layer k is the mask of the events with a value of rank r to r + 2**k - 1, and
an interval is the union of two rows. For slots that only few events have, the events are listed as
well: an interval is then a run of the list, which is shorter than a mask.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.masks import WORDS
from matchwood.kernels.records import CODE_MASK, MAX_SLOTS, MISSING, list_of_code

# Events that have a code of a slot that is listed, at most.
MOST = 64

# One bit, of the type of the words of a mask.
_ONE = np.uint64(1)


@compiled
def _mark_codes(codes, list_start, list_codes, present):
    """Set `present` for each code that an event has; returns whether some event has a list."""
    lists = False
    for code in codes:
        if code >= 0:
            present[code] = 1
        else:
            lists = True
            number = list_of_code(code)
            for j in range(list_start[number], list_start[number + 1]):
                present[list_codes[j]] = 1
    return lists


@compiled
def _set_bits(codes, list_start, list_codes, row, shift, list_mask, rows):
    """Set the bit of each event in the row of its code, or in those of the values of its list."""
    for event in range(len(codes)):
        code = codes[event]
        bit = _ONE << np.uint64(event & 63)
        if code >= 0:
            rows[row[code] + shift + (event >> 6)] |= bit
        else:
            rows[list_mask + (event >> 6)] |= bit
            number = list_of_code(code)
            for j in range(list_start[number], list_start[number + 1]):
                rows[row[list_codes[j]] + (event >> 6)] |= bit


@compiled
def _fill_layers(base, ranks, rows):
    """Make the layers above the first one, in a slot with lists."""
    layer = 1
    while (1 << layer) <= ranks:
        for i in range(WORDS * (ranks - (1 << layer) + 1)):
            rows[base + WORDS * layer * ranks + i] = (
                rows[base + WORDS * (layer - 1) * ranks + i]
                | rows[base + WORDS * ((layer - 1) * ranks + (1 << (layer - 1))) + i]
            )
        layer += 1


@compiled
def rank_events(slots, codes, list_start, list_codes, codes_of, row_of_code, events):
    """Rank every slot: codes[i, event] is the code of slots[i], or `code_of_list`.

    Slots that are not among `slots` are missing in every event.
    """
    count = len(codes_of)
    row = np.empty(row_of_code[count], np.int32)
    ranks = np.ones(count, np.int32)
    list_mask = np.full(count, -1, np.int32)
    row_at = np.zeros(count + 1, np.int64)
    missing = np.full(events, MISSING, np.int32)
    column = np.full(count, -1, np.int64)  # of each slot in `codes`
    for i in range(len(slots)):
        column[slots[i]] = i
    for slot in range(count):
        here = row[row_of_code[slot] : row_of_code[slot] + codes_of[slot] + 1]
        here[:] = 0
        lists = False
        if column[slot] < 0:
            here[MISSING] = 1
        else:
            lists = _mark_codes(codes[column[slot]], list_start, list_codes, here)
        below = 0
        for c in range(len(here)):
            present = here[c]
            here[c] = row_at[slot] + WORDS * below
            below += present
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
        here = row[row_of_code[slot] : row_of_code[slot] + codes_of[slot] + 1]
        lists = list_mask[slot] >= 0
        of_slot = codes[column[slot]] if column[slot] >= 0 else missing
        shift = 0 if lists else WORDS
        _set_bits(of_slot, list_start, list_codes, here, shift, list_mask[slot], rows)
        if lists:
            _fill_layers(base, ranks[slot], rows)
        else:
            for i in range(base + WORDS, base + WORDS * (ranks[slot] + 1)):
                rows[i] |= rows[i - WORDS]
    return row, rows, ranks, list_mask


@compiled
def list_events(slots, codes, list_mask, codes_of, row_of_code, events):
    """For slots that few events have: those events, in the order of their codes."""
    count = len(codes_of)
    place = np.full(count, -1, np.int32)
    sparse = np.zeros(count, np.uint8)
    there = np.zeros(WORDS * count, np.uint64)
    order = np.empty(64 * count, np.uint16)
    below = np.zeros(row_of_code[count], np.uint8)
    next_at = np.empty(0, np.int32)
    for i in range(len(slots)):
        place[slots[i]] = i
    for slot in range(count):
        if list_mask[slot] >= 0 or slot >= MAX_SLOTS or codes_of[slot] > CODE_MASK:
            continue  # no inline word names it
        present = 0
        if place[slot] >= 0:
            for event in range(events):
                present += codes[place[slot], event] != 0
        if present > MOST:
            continue
        sparse[slot] = 1
        if present == 0:
            continue
        at = row_of_code[slot]
        size = codes_of[slot]
        for event in range(events):
            code = codes[place[slot], event]
            if code != 0:
                below[at + code + 1] += 1
                there[WORDS * slot + (event >> 6)] |= _ONE << np.uint64(event & 63)
        for c in range(1, size + 1):
            below[at + c] += below[at + c - 1]
        if len(next_at) < size:
            next_at = np.empty(size, np.int32)
        for c in range(size):
            next_at[c] = below[at + c]
        for event in range(events):
            code = codes[place[slot], event]
            if code != 0:
                order[64 * slot + next_at[code]] = event
                next_at[code] += 1
    return place, sparse, there, order, below
