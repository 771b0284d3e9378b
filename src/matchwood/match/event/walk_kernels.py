"""One event against all records of a segment, by level; `walk_strategy` says when it pays off."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.kernels.pushes import last_group
from matchwood.kernels.records import (
    GROUP,
    LITERAL,
    header_inline,
    header_is_and,
    header_is_root,
    header_push,
    header_rest,
    is_used,
    record_end,
    reference_at,
    state_of_record,
)
from matchwood.match.event.literal_kernels import (
    TRUE_SEEN,
    YES,
    literal_holds,
    pack_state,
    word_holds,
)


@lean
def walk_one(ix, wk, sc, slots, codes, list_start, list_codes, hits, truth, epoch):
    """Match one event against a segment without lazy atoms; the groups are out[:returned]."""
    for i in range(len(slots)):
        sc.codes[slots[i]] = codes[i]
    for hit in hits:
        sc.opaque[hit] = pack_state(epoch, TRUE_SEEN)
    records, first = ix.records, ix.first[0]
    found = 0
    for i in range(len(wk.literal_group)):
        ref = wk.literal_group[i, LITERAL]
        if literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES:
            sc.out[found] = wk.literal_group[i, GROUP]
            found += 1
    at = 0
    while at < len(records):
        header = records[at]
        decisive = header_is_and(header) == 0  # a true operand decides an `or`
        inline = header_inline(header)
        rest = header_rest(header)
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
            for number in range(rest):
                ref = reference_at(records, end, number)
                if ref < first:
                    true = literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES
                else:
                    true = truth[state_of_record(ref - first)] != 0
                if true == decisive:
                    result = decisive
                    break
        if is_used(header):
            truth[state_of_record(at)] = result
        if result and header_is_root(header):
            sc.out[found] = last_group(ix.pushes, header_push(header))
            found += 1
        at = record_end(at, header)
    for i in range(len(slots)):
        sc.codes[slots[i]] = 0
    return found
