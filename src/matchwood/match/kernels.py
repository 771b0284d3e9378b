"""One event at a time: push from what is true, check the rest in place.

Kernels see nothing but integers: `literals` has what they read and write, and what is compiled into
them. Those that call each other live in this one file, because Numba's cache looks only at a
function's own file.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import inlined, lean, prefetch
from matchwood.index.layout import (
    ACCESS_SHIFT,
    CODE_MASK,
    INLINE_MASK,
    INLINE_SHIFT,
    LOW_SHIFT,
    NODE_MASK,
    OPAQUE,
    OTHER,
    REF_MASK,
    REST_MASK,
    SLOT_MASK,
    SLOT_SHIFT,
)
from matchwood.match.literals import (
    FALSE_SEEN,
    NO,
    PUSHED,
    TRUE_SEEN,
    UNKNOWN,
    YES,
    list_word,
    literal_holds,
    word_holds,
)

_AHEAD = 8  # push lists between asking for their records and reading them


@inlined
def _pull(record, ix, sc, list_start, list_codes, epoch):
    """Whether a node is true, asked from above; nodes over nodes remember the answer."""
    first = ix.first[0]
    frames = sc.frames
    top = 0
    frames[0], frames[1], frames[2] = record, 0, 0  # record, next operand, one is unknown
    delivered = -1
    while True:
        base = 3 * top
        at = frames[base]
        header = ix.records[at]
        node = (header >> 32) & NODE_MASK
        decisive = NO if (header >> 31) & 1 else YES
        inline = (header >> INLINE_SHIFT) & INLINE_MASK
        rest = header & REST_MASK
        i = frames[base + 1]
        result = -1
        if rest > 0 and i == 0 and delivered < 0 and sc.state[node] >> 2 == epoch:
            result = NO if sc.state[node] & 3 == FALSE_SEEN else YES
            i = rest + 1
        if delivered >= 0:
            if delivered == decisive:
                result = decisive
            elif delivered == UNKNOWN:
                frames[base + 2] = 1
            delivered = -1
        elif i == 0:
            k = at + 1
            while k < at + 1 + inline:
                word = ix.records[k]
                k += 1
                code = sc.codes[(word >> SLOT_SHIFT) & SLOT_MASK]
                truth = NO
                if word < 0:
                    if code < 0 or code > OTHER:
                        ref = ix.row_literal[word & REF_MASK]
                        truth = literal_holds(ref, ix, sc, list_start, list_codes, epoch)
                elif code < 0:
                    truth = list_word(word, ix, -1 - code, list_start, list_codes)
                elif (word >> LOW_SHIFT) & CODE_MASK <= code <= word & CODE_MASK:
                    truth = YES
                if truth == decisive:
                    result = decisive
                    break
            i = 1
        descended = False
        while result < 0 and i <= rest:
            ref = ix.records[at + inline + i] & REF_MASK
            i += 1
            if ref < first:
                truth = literal_holds(ref, ix, sc, list_start, list_codes, epoch)
            else:
                frames[base + 1] = i
                top += 1
                frames[base + 3], frames[base + 4], frames[base + 5] = ref - first, 0, 0
                descended = True
                break
            if truth == decisive:
                result = decisive
            elif truth == UNKNOWN:
                frames[base + 2] = 1
        if descended:
            continue
        if result < 0:
            result = UNKNOWN if frames[base + 2] else YES - decisive
        if rest > 0 and result != UNKNOWN and sc.state[node] >> 2 != epoch:
            sc.state[node] = epoch * 4 + (TRUE_SEEN if result == YES else FALSE_SEEN)
        if top == 0:
            return result
        top -= 1
        delivered = result


@inlined
def _and_holds(at, header, ix, sc, list_start, list_codes, epoch):
    """The operands of an `and` other than its access operand, which is true."""
    records = ix.records
    codes = sc.codes
    inline = (header >> INLINE_SHIFT) & INLINE_MASK
    rest = header & REST_MASK
    skip = (header >> ACCESS_SHIFT) & 1
    asks = at + 1 + inline + (skip == 0)
    if asks < at + 1 + inline + rest:
        prefetch(records, max((records[asks] & REF_MASK) - ix.first[0], 0))
    k = at + 1 + skip
    while k < at + 1 + inline:
        word = records[k]
        k += 1
        code = codes[(word >> SLOT_SHIFT) & SLOT_MASK]
        if word < 0:
            if 0 <= code <= OTHER:
                return NO
            ref = ix.row_literal[word & REF_MASK]
            if literal_holds(ref, ix, sc, list_start, list_codes, epoch) == NO:
                return NO
        elif not (word >> LOW_SHIFT) & CODE_MASK <= code <= word & CODE_MASK:
            if code >= 0 or list_word(word, ix, -1 - code, list_start, list_codes) == NO:
                return NO
    unknown = NO
    first = ix.first[0]
    for k in range(at + 1 + inline + (skip == 0), at + 1 + inline + rest):
        ref = records[k] & REF_MASK
        if ref < first:
            truth = literal_holds(ref, ix, sc, list_start, list_codes, epoch)
        else:
            truth = _pull(ref - first, ix, sc, list_start, list_codes, epoch)
        if truth == NO:
            return NO
        unknown |= truth == UNKNOWN
    return UNKNOWN if unknown else YES


@inlined
def _list_bounds(pushes, at):
    """Where the ranges of a push list start and end, its `or`s end, and its groups end."""
    counts = np.int64(pushes[at + 1])
    if counts >= 0:
        ranges_end = at + 2 + 2 * (counts >> 21)
        ors_end = ranges_end + ((counts >> 11) & 1023)
        return at + 2, ranges_end, ors_end, ors_end + (counts & 2047)
    ranges_end = at + 5 + 2 * np.int64(pushes[at + 2])
    ors_end = ranges_end + np.int64(pushes[at + 3])
    return at + 5, ranges_end, ors_end, ors_end + np.int64(pushes[at + 4])


@inlined
def _drain(end, ix, sc, list_start, list_codes, waiting, epoch):
    """Everything that follows from the push lists queue[:end], and from records that waited.

    A node is taken from the queue once; it may stand there as often as it is an operand of an
    `or`, or is found true. First in, first out: what a list will read is asked for while those
    before it are worked on.
    """
    pushes, records, push_at = ix.pushes, ix.records, ix.push_at
    queue, state, seen, out = sc.queue, sc.state, sc.seen, sc.out
    found = sc.counts[0]
    checked = 0
    pushed = np.uint8(epoch * 4 + PUSHED)
    waits = 0
    begin = 0
    while True:
        record = np.int64(0)
        left = np.int64(0)  # records still to be checked in the current range
        r = np.int64(0)
        ranges_end = np.int64(0)
        if waits < len(waiting):
            record, left = np.int64(waiting[waits]), np.int64(1)
            waits += 1
        elif begin < end:
            at = np.int64(queue[begin])
            begin += 1
            if begin + 2 * _AHEAD < end and queue[begin + 2 * _AHEAD] >= 0:
                prefetch(pushes, queue[begin + 2 * _AHEAD])
            if begin + _AHEAD < end and queue[begin + _AHEAD] >= 0:
                soon = np.int64(queue[begin + _AHEAD])
                if pushes[soon + 1] >> 21 != 0:
                    prefetch(records, pushes[soon + 2])
                if pushes[soon] >= 0:
                    prefetch(state, pushes[soon])
            if at < 0:
                group = -2 - at
                if seen[group] != epoch:
                    seen[group] = epoch
                    out[found] = group
                    found += 1
                continue
            node = pushes[at]
            if node >= 0:
                if state[node] == pushed:
                    continue
                state[node] = pushed
            r, ranges_end, ors_end, emits_end = _list_bounds(pushes, at)
            for i in range(ranges_end, ors_end):
                queue[end] = pushes[i]
                end += 1
            for i in range(ors_end, emits_end):
                group = np.int64(pushes[i])
                if seen[group] != epoch:
                    seen[group] = epoch
                    out[found] = group
                    found += 1
        else:
            break
        while left > 0 or r < ranges_end:
            if left == 0:
                record, left = np.int64(pushes[r]), np.int64(pushes[r + 1])
                r += 2
                if r < ranges_end:
                    prefetch(records, pushes[r])
            left -= 1
            checked += 1
            header = records[record]
            truth = _and_holds(record, header, ix, sc, list_start, list_codes, epoch)
            if truth == YES:
                node = (header >> 32) & NODE_MASK
                if state[node] != pushed:
                    queue[end] = push_at[node]
                    end += 1
            elif truth == UNKNOWN:
                sc.wait[sc.counts[1]] = record
                sc.counts[1] += 1
            record += 1 + ((header >> INLINE_SHIFT) & INLINE_MASK) + (header & REST_MASK)
    sc.counts[0] = found
    sc.counts[2] += checked


@inlined
def _stab(slot, code, ix, sc, top):
    """Put into the queue the push list of every literal of the slot that is true of the code."""
    start, bound, push, queue = ix.tree_start, ix.stab_bound, ix.stab_push, sc.queue
    size = ix.tree_size[slot]
    if size == 0:
        return top
    at = ix.tree_at[slot]
    place = abs(size) + code
    for i in range(start[at + place], start[at + place + 1]):
        queue[top] = push[i]
        top += 1
    if size < 0:  # there are points alone
        return top
    while place > 1:
        right = place & 1
        place >>= 1
        low = start[at + place]
        half = (start[at + place + 1] - low) >> 1
        if right:
            low += half
        for i in range(low, low + half):
            if (bound[i] < code) if right else (bound[i] > code):
                break
            queue[top] = push[i]
            top += 1
    return top


@lean
def match_one(ix, sc, slots, codes, list_start, list_codes, hits, waiting, epoch):
    """Match one event: the groups found are out[:count[0]].

    `slots` are those that have a code; `hits` the opaque atoms that are true of its strings.
    `waiting` are records that nothing wakes, see `cells`. Where lazy atoms are requested, set their
    states, and call again with more than 0 in count[4] and the records that wait (wait[:count[1]])
    as `waiting`, to go on.
    """
    top = 0
    for i in range(len(slots)):
        sc.codes[slots[i]] = codes[i]
    if sc.counts[4] == 0:
        sc.counts[:] = 0
        for hit in hits:
            sc.opaque[hit] = epoch * 4 + TRUE_SEEN
            if ix.opaque_push[hit] != -1:
                sc.queue[top] = ix.opaque_push[hit]
                top += 1
        for slot in slots:
            code = sc.codes[slot]
            if code >= 0:
                top = _stab(slot, code, ix, sc, top)
        for slot in ix.null_slots:
            if sc.codes[slot] == 0:
                top = _stab(slot, 0, ix, sc, top)
        top = _stab_lists(ix, sc, slots, list_start, list_codes, epoch, top)
        sc.counts[3] = top
    sc.counts[1] = 0
    left = len(waiting)
    if sc.counts[4] == 0 and left > 0:
        left = _woken(ix, sc, list_start, list_codes, waiting, epoch)
    _drain(top, ix, sc, list_start, list_codes, waiting[:left], epoch)
    if len(ix.asked) > 0:
        top = _ask(ix, sc, list_start, list_codes, epoch)
        _drain(top, ix, sc, list_start, list_codes, waiting[:0], epoch)
    for i in range(len(slots)):
        sc.codes[slots[i]] = 0


@lean
def _stab_lists(ix, sc, slots, list_start, list_codes, epoch, top):
    """The literals that are true of list values, each once: all that have a push list are tried."""
    for slot in slots:
        code = sc.codes[slot]
        if code >= 0:
            continue
        for ref in range(2 * ix.first_atom[slot], 2 * ix.first_atom[slot + 1]):
            if ix.literal_push[ref] != -1 and ix.atom_row[ref >> 1, OPAQUE] < 0:
                if literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES:
                    sc.queue[top] = ix.literal_push[ref]
                    top += 1
    return top


@lean
def _woken(ix, sc, list_start, list_codes, waiting, epoch):
    """Keep those of some records whose access operands, all of them literals, are true; how many.

    What is kept is checked without its access operand, so this has to ask just that one.
    """
    left = 0
    for i in range(len(waiting)):
        if i + _AHEAD < len(waiting):
            prefetch(ix.records, waiting[i + _AHEAD])
        word = ix.records[waiting[i] + 1]
        if (ix.records[waiting[i]] >> ACCESS_SHIFT) & 1:
            true = word_holds(word, ix, sc, list_start, list_codes, epoch)
        else:
            inline = (ix.records[waiting[i]] >> INLINE_SHIFT) & INLINE_MASK
            ref = ix.records[waiting[i] + 1 + inline] & REF_MASK
            true = literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES
        if true:
            waiting[left] = waiting[i]
            left += 1
    sc.counts[2] += len(waiting) - left
    return left


@lean
def _ask(ix, sc, list_start, list_codes, epoch):
    """Literals that nothing wakes: negated patterns, and lazy atoms that still matter."""
    top = 0
    for i in range(len(ix.asked)):
        if not _matters(ix.asked_push[i], ix, sc, epoch):
            continue
        if literal_holds(ix.asked[i], ix, sc, list_start, list_codes, epoch) == YES:
            sc.queue[top] = ix.asked_push[i]
            top += 1
    return top


@inlined
def _matters(position, ix, sc, epoch):
    """Whether anything new could follow if the source of this push list were true."""
    pushes = ix.pushes
    if position < 0:
        return sc.seen[-2 - position] != epoch
    ranges, ranges_end, ors_end, emits_end = _list_bounds(pushes, np.int64(position))
    if ranges_end > ranges:
        return True
    for i in range(ranges_end, ors_end):
        place = pushes[i]
        if place < 0:
            if sc.seen[-2 - place] != epoch:
                return True
        elif sc.state[pushes[place]] != epoch * 4 + PUSHED:
            return True
    for i in range(ors_end, emits_end):
        if sc.seen[pushes[i]] != epoch:
            return True
    return False


@lean
def expand(groups, group_start, always, keep, out):
    """The rules of the groups that were found, and of those that are always true; how many."""
    found = 0
    for i in range(len(groups) + len(always)):
        group = groups[i] if i < len(groups) else always[i - len(groups)]
        for ordinal in range(group_start[group], group_start[group + 1]):
            if len(keep) == 0 or keep[ordinal]:
                out[found] = ordinal
                found += 1
    return found
