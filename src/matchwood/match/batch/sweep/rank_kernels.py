"""The events of a batch, ranked by the codes of dense slots, to make masks of intervals from.

For each such slot, events are ranked by code. Row r of the slot is the mask of the events of rank
below r, so that an interval is the difference of two rows. In a slot with lists an event has
several ranks; there, row r of layer k is the mask of the events with a value of rank r up to, but
not including, r + 2**k, and an interval is the union of two rows. `slot_kernels` says which slots
are dense.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.filling import fill_array
from matchwood.kernels.masks import WORDS
from matchwood.kernels.records import list_of_code
from matchwood.match.batch.sweep.slot_kernels import DENSE

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
def rank_events(slots, codes, list_start, list_codes, codes_of, row_of_code, row_of_slot):
    """Rank every dense slot: codes[i, event] is the code of slots[i], or `code_of_list`."""
    count = len(codes_of)
    row = np.empty(row_of_code[count], np.int32)
    ranks = np.ones(count, np.int32)
    list_mask = np.full(count, -1, np.int32)
    row_at = np.zeros(len(slots) + 1, np.int64)
    for i in range(len(slots)):
        slot = slots[i]
        row_at[i + 1] = row_at[i]
        if row_of_slot[slot] != DENSE:
            continue
        here = row[row_of_code[slot] : row_of_code[slot] + codes_of[slot] + 1]
        fill_array(here, 0)
        lists = _mark_codes(codes[i], list_start, list_codes, here)
        below = 0
        for c in range(len(here)):
            present = here[c]
            here[c] = row_at[i] + WORDS * below
            below += present
        ranks[slot] = below
        needed = below + 1
        if lists:
            layers = 1
            while (1 << layers) <= below:
                layers += 1
            needed = layers * below + 1
            list_mask[slot] = row_at[i] + WORDS * layers * below
        row_at[i + 1] = row_at[i] + WORDS * needed
    rows = np.zeros(row_at[len(slots)], np.uint64)
    for i in range(len(slots)):
        slot = slots[i]
        if row_of_slot[slot] != DENSE:
            continue
        base = row_at[i]
        here = row[row_of_code[slot] : row_of_code[slot] + codes_of[slot] + 1]
        lists = list_mask[slot] >= 0
        shift = 0 if lists else WORDS
        _set_bits(codes[i], list_start, list_codes, here, shift, list_mask[slot], rows)
        if lists:
            _fill_layers(base, ranks[slot], rows)
        else:
            for k in range(base + WORDS, base + WORDS * (ranks[slot] + 1)):
                rows[k] |= rows[k - WORDS]
    return row, rows, ranks, list_mask
