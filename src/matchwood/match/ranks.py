"""The events of a batch, ranked by the codes of each slot: what the masks of intervals are made of.

For each slot the events are ranked by code, row r of the slot holds the events of rank below r,
and an interval is the difference of two rows. For a slot with lists an event has several ranks;
there row r of layer k holds the events with a value of rank r to r + 2**k - 1, and an interval is
the union of two rows. Slots that few events have are listed as well: an interval is then a run of
the list, which is shorter than a mask.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled
from matchwood.index.layout import CODE_MASK, MAX_SLOTS
from matchwood.match.masks import WORDS

MOST = 64  # events that may have a code of a slot that is listed
_ONE = np.uint64(1)


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


@compiled
def list_events(slots, codes, list_mask, codes_of, row_of_code, events):
    """For slots that few events have: which they are, in the order of their codes."""
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
