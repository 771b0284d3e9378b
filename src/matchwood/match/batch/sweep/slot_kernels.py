"""The events of a batch by slot: which events have it, and which of them have a code below another.

A slot is *sparse* if at most 64 events have it, and none a list. One word then says of which of
these events, in their order, something is true: bit i stands for the i-th event that has the slot.
The *prefix word* of a code has the events with a lower code, so that an interval of codes is the
xor of two prefix words, and a set of intervals that of all their bounds. `deposit` spreads such a
word over the mask of the events that have the slot. All other slots are *dense*; their literals are
masks.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean
from matchwood.kernels.masks import WORDS

# Events that have a sparse slot, at most.
MOST = 64

# Rows of masks. The first is empty, the second has all events of the batch, and the third is for
# results that nothing reads. Those of one block of nodes follow, for nodes that no other asks for,
# and then one per slot, with the events that have it; literals of dense slots and nodes come after
# these.
EMPTY_ROW = 0
EVERY_ROW = 1
SPARE_ROW = 2
BLOCK_ROW = 3
BLOCK = 16
SLOT_ROW = BLOCK_ROW + BLOCK

# In place of the row of a slot: it is dense.
DENSE = -1

# One bit, of the type of the words of a mask.
_ONE = np.uint64(1)


@compiled
def rows_of_slots(slots, codes, count):
    """The row of each slot: EMPTY_ROW if no event has it, DENSE, or else one of its own.

    Behind the last slot is one more, for literals that are masks in every batch.
    """
    row_of_slot = np.full(count + 1, EMPTY_ROW, np.int32)
    row_of_slot[count] = DENSE
    for i in range(len(slots)):
        present = 0
        lists = False
        for code in codes[i]:
            present += code != 0
            lists |= code < 0
        if lists or present > MOST:
            row_of_slot[slots[i]] = DENSE
        elif present > 0:
            row_of_slot[slots[i]] = SLOT_ROW + slots[i]
    return row_of_slot


@lean
def place_events(slots, codes, events, codes_of, row_of_code, row_of_slot, masks, shifts, prefix):
    """Write the rows of sparse slots, how many of their events are in lower words, and their prefix
    words; and the rows with no and with all events."""
    for w in range(WORDS):
        masks[WORDS * EMPTY_ROW + w] = np.uint64(0)
        left = min(64, max(0, events - 64 * w))
        every = ~np.uint64(0) if left == 64 else (_ONE << np.uint64(left)) - _ONE
        masks[WORDS * EVERY_ROW + w] = every
    for i in range(len(slots)):
        slot = np.int64(slots[i])
        if row_of_slot[slot] <= 0:
            continue
        row = WORDS * np.int64(row_of_slot[slot])
        base = row_of_code[slot]
        for code in range(base, base + codes_of[slot] + 1):
            prefix[code] = np.uint64(0)
        seen = np.uint64(0)
        for w in range(WORDS):
            # a word has no more than 63 places to shift by; after 64 events nothing is left
            shifts[WORDS * slot + w] = min(seen, np.uint64(63))
            word = np.uint64(0)
            for event in range(64 * w, min(64 * w + 64, events)):
                code = np.int64(codes[i, event])
                if code != 0:
                    word |= _ONE << np.uint64(event & 63)
                    prefix[base + code + 1] |= _ONE << seen
                    seen += _ONE
            masks[row + w] = word
        for code in range(base + 1, base + codes_of[slot] + 1):
            prefix[code] |= prefix[code - 1]
