"""One event against all nodes of a segment, in order of levels: no queue, every record read once.

Where an event makes a good part of all nodes true, pushing comes to most of them anyway, to some
several times, and jumps between them; here records are read as they lie in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import lean
from matchwood.index.layout import (
    INLINE_MASK,
    INLINE_SHIFT,
    NODE_MASK,
    REF_MASK,
    REST_MASK,
)
from matchwood.match.literals import TRUE_SEEN, YES, literal_holds, word_holds

WORD = 2.5e-9  # seconds that a word of a record takes, about


class Walk(NamedTuple):
    """What a walk reads beside the index; all of it is the segment's."""

    group_of: NDArray[np.int32]
    literal_group: NDArray[np.int64]

    @property
    def bytes(self) -> int:
        """Bytes beside the segment."""
        return 0


@lean
def walk_one(ix, wk, sc, slots, codes, list_start, list_codes, hits, truth, epoch):
    """Match one event against a segment without lazy atoms: the groups found are out[:count]."""
    for i in range(len(slots)):
        sc.codes[slots[i]] = codes[i]
    for hit in hits:
        sc.opaque[hit] = epoch * 4 + TRUE_SEEN
    records, first = ix.records, ix.first[0]
    found = 0
    for i in range(len(wk.literal_group)):
        ref = wk.literal_group[i, 0]
        if literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES:
            sc.out[found] = wk.literal_group[i, 1]
            found += 1
    at = 0
    used = 0
    while at < len(records):
        header = records[at]
        decisive = ((header >> 31) & 1) == 0  # one true operand decides an `or`, a false an `and`
        inline = (header >> INLINE_SHIFT) & INLINE_MASK
        rest = header & REST_MASK
        result = not decisive
        k = at + 1
        end = k + inline
        while k < end:
            word = records[k]
            k += 1
            true = word_holds(word, ix, sc, list_start, list_codes, epoch)
            if true == decisive:
                result = decisive
                break
        if result != decisive:
            k = end
            end += rest
            while k < end:
                word = records[k]
                k += 1
                ref = word & REF_MASK
                if ref < first:
                    true = literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES
                else:
                    true = truth[word >> 32] != 0
                if true == decisive:
                    result = decisive
                    break
        if header < 0:
            truth[used] = result
            used += 1
        if result:
            group = wk.group_of[(header >> 32) & NODE_MASK]
            if group >= 0:
                sc.out[found] = group
                found += 1
        at += 1 + inline + rest
    for i in range(len(slots)):
        sc.codes[slots[i]] = 0
    return found
