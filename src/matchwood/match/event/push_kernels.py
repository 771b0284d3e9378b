"""One event at a time: push from the literals that are true, and check other operands in place.

A true literal has a push list: `and` records to check, `or` nodes that become true, and groups of
rules that match. Kernels see nothing but integers; `literal_kernels` has the arrays that they read
and write.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import inlined, lean, prefetch
from matchwood.kernels.filling import fill_array
from matchwood.kernels.pushes import HEAD, NO_LIST, group_of_list, list_bounds, may_have_ranges
from matchwood.kernels.records import (
    header_access,
    header_inline,
    header_is_and,
    header_push,
    header_rest,
    is_several,
    list_of_code,
    may_hold,
    record_end,
    reference_at,
    state_of_record,
    word_high,
    word_literal,
    word_low,
    word_slot,
)
from matchwood.match.event.literal_kernels import (
    CALLS_BEFORE,
    CHECKED,
    FALSE_SEEN,
    GROUPS_FOUND,
    LITERALS_TRUE,
    NO,
    PUSHED,
    TRUE_SEEN,
    UNKNOWN,
    WAITING,
    YES,
    list_word,
    literal_holds,
    pack_state,
    state_epoch,
    state_truth,
    word_holds,
)
from matchwood.match.event.stab_kernels import stab, stab_lists

# Push lists between prefetching what they need and reading it.
_AHEAD = 8


@inlined
def _pull(record, ix, sc, list_start, list_codes, epoch):
    """Whether a node is true, evaluated from its operands; nodes over nodes remember the answer."""
    first = ix.first[0]
    frames = sc.frames
    top = 0
    frames[0], frames[1], frames[2] = record, 0, 0  # record, next operand, one is unknown
    delivered = -1
    while True:
        base = 3 * top
        at = frames[base]
        header = ix.records[at]
        node = state_of_record(at)
        decisive = NO if header_is_and(header) else YES
        inline = header_inline(header)
        rest = header_rest(header)
        i = frames[base + 1]
        result = -1
        if rest > 0 and i == 0 and delivered < 0 and state_epoch(sc.state[node]) == epoch:
            result = NO if state_truth(sc.state[node]) == FALSE_SEEN else YES
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
                code = sc.codes[word_slot(word)]
                truth = NO
                if is_several(word):
                    if may_hold(word, code):
                        ref = word_literal(word)
                        truth = literal_holds(ref, ix, sc, list_start, list_codes, epoch)
                elif code < 0:
                    truth = list_word(word, ix, list_of_code(code), list_start, list_codes)
                elif word_low(word) <= code <= word_high(word):
                    truth = YES
                if truth == decisive:
                    result = decisive
                    break
            i = 1
        descended = False
        while result < 0 and i <= rest:
            ref = reference_at(ix.records, at + 1 + inline, i - 1)
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
        if rest > 0 and result != UNKNOWN and state_epoch(sc.state[node]) != epoch:
            sc.state[node] = pack_state(epoch, TRUE_SEEN if result == YES else FALSE_SEEN)
        if top == 0:
            return result
        top -= 1
        delivered = result


@inlined
def _and_holds(at, header, ix, sc, list_start, list_codes, epoch):
    """The operands of an `and` other than its access operand, which is true."""
    records = ix.records
    codes = sc.codes
    inline = header_inline(header)
    rest = header_rest(header)
    skip = header_access(header)
    asks = np.int64(skip == 0)
    if asks < rest:
        prefetch(records, max(reference_at(records, at + 1 + inline, asks) - ix.first[0], 0))
    k = at + 1 + skip
    while k < at + 1 + inline:
        word = records[k]
        k += 1
        code = codes[word_slot(word)]
        if is_several(word):
            if not may_hold(word, code):
                return NO
            ref = word_literal(word)
            if literal_holds(ref, ix, sc, list_start, list_codes, epoch) == NO:
                return NO
        elif not word_low(word) <= code <= word_high(word):
            if code >= 0:
                return NO
            if list_word(word, ix, list_of_code(code), list_start, list_codes) == NO:
                return NO
    unknown = NO
    first = ix.first[0]
    for number in range(asks, rest):
        ref = reference_at(records, at + 1 + inline, number)
        if ref < first:
            truth = literal_holds(ref, ix, sc, list_start, list_codes, epoch)
        else:
            truth = _pull(ref - first, ix, sc, list_start, list_codes, epoch)
        if truth == NO:
            return NO
        unknown |= truth == UNKNOWN
    return UNKNOWN if unknown else YES


@inlined
def _emit(group, seen, out, found, epoch):
    """Add a group to those found, unless it is among them; how many there are then.

    No branch, because whether a group was found before cannot be foreseen. `out` has room for one
    more than all groups.
    """
    out[found] = group
    found += seen[group] != epoch
    seen[group] = epoch
    return found


@inlined
def _drain(end, ix, sc, list_start, list_codes, waiting, epoch):
    """Find everything that follows from the push lists queue[:end], and from records that waited.

    A node is taken from the queue once, but may be in it as often as it is an operand of an `or`
    or is found true. The queue is first in, first out: what a list will read is prefetched while
    those before it are processed.
    """
    pushes, records = ix.pushes, ix.records
    queue, state, seen, out = sc.queue, sc.state, sc.seen, sc.out
    found = sc.counts[GROUPS_FOUND]
    checked = 0
    pushed = np.uint8(pack_state(epoch, PUSHED))
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
            if begin + _AHEAD < end:
                soon = np.int64(queue[begin + _AHEAD])
                if soon < 0:
                    prefetch(seen, group_of_list(soon))
                else:
                    if may_have_ranges(pushes[soon + 1]):
                        prefetch(records, pushes[soon + HEAD])
                    if pushes[soon] >= 0:
                        prefetch(state, pushes[soon])
            if at < 0:
                found = _emit(group_of_list(at), seen, out, found, epoch)
                continue
            node = pushes[at]
            if node >= 0:
                if state[node] == pushed:
                    continue
                state[node] = pushed
            r, ranges_end, ors_end, emits_end = list_bounds(pushes, at)
            for i in range(ranges_end, ors_end):
                queue[end] = pushes[i]
                end += 1
            for i in range(ors_end, emits_end):
                found = _emit(np.int64(pushes[i]), seen, out, found, epoch)
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
                push = header_push(header)
                if push < 0 or state[state_of_record(record)] != pushed:
                    queue[end] = push
                    end += 1
            elif truth == UNKNOWN:
                sc.wait[sc.counts[WAITING]] = record
                sc.counts[WAITING] += 1
            record = record_end(record, header)
    sc.counts[GROUPS_FOUND] = found
    sc.counts[CHECKED] += checked


@inlined
def match_one(ix, sc, slots, codes, list_start, list_codes, hits, waiting, epoch):
    """Match one event: the groups that match are out[:counts[GROUPS_FOUND]].

    `slots` are those that have a code; `hits` are the opaque atoms that are true of its strings.
    `waiting` are records that nothing wakes, see `cell_index`. If lazy atoms are requested, the
    caller sets their states and calls again, with counts[CALLS_BEFORE] above 0 and the records that
    wait (wait[:counts[WAITING]]) as `waiting`.
    """
    top = 0
    for i in range(len(slots)):
        sc.codes[slots[i]] = codes[i]
    if sc.counts[CALLS_BEFORE] == 0:
        fill_array(sc.counts, 0)
        for hit in hits:
            sc.opaque[hit] = pack_state(epoch, TRUE_SEEN)
            if ix.opaque_push[hit] != NO_LIST:
                sc.queue[top] = ix.opaque_push[hit]
                top += 1
        for slot in slots:
            code = sc.codes[slot]
            if code >= 0:
                top = stab(slot, code, ix, sc, top)
        for slot in ix.null_slots:
            if sc.codes[slot] == 0:
                top = stab(slot, 0, ix, sc, top)
        top = stab_lists(ix, sc, slots, list_start, list_codes, epoch, top)
        sc.counts[LITERALS_TRUE] = top
    sc.counts[WAITING] = 0
    left = len(waiting)
    if sc.counts[CALLS_BEFORE] == 0 and left > 0:
        left = _woken(ix, sc, list_start, list_codes, waiting, epoch)
    _drain(top, ix, sc, list_start, list_codes, waiting[:left], epoch)
    if len(ix.asked) > 0:
        top = _ask(ix, sc, list_start, list_codes, epoch)
        _drain(top, ix, sc, list_start, list_codes, waiting[:0], epoch)
    for i in range(len(slots)):
        sc.codes[slots[i]] = 0


@lean
def _woken(ix, sc, list_start, list_codes, waiting, epoch):
    """Keep the records whose access operands, all of them literals, are true; returns how many.

    The records that are kept will be checked without their access operands.
    """
    left = 0
    for i in range(len(waiting)):
        if i + _AHEAD < len(waiting):
            prefetch(ix.records, waiting[i + _AHEAD])
        word = ix.records[waiting[i] + 1]
        if header_access(ix.records[waiting[i]]):
            true = word_holds(word, ix, sc, list_start, list_codes, epoch)
        else:
            inline = header_inline(ix.records[waiting[i]])
            ref = reference_at(ix.records, waiting[i] + 1 + inline, 0)
            true = literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES
        if true:
            waiting[left] = waiting[i]
            left += 1
    sc.counts[CHECKED] += len(waiting) - left
    return left


@lean
def _ask(ix, sc, list_start, list_codes, epoch):
    """Queue the true literals that nothing wakes: negated patterns, and lazy atoms that matter."""
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
        return sc.seen[group_of_list(position)] != epoch
    ranges, ranges_end, ors_end, emits_end = list_bounds(pushes, np.int64(position))
    if ranges_end > ranges:
        return True
    for i in range(ranges_end, ors_end):
        place = pushes[i]
        if place < 0:
            if sc.seen[group_of_list(place)] != epoch:
                return True
        elif sc.state[pushes[place]] != pack_state(epoch, PUSHED):
            return True
    for i in range(ors_end, emits_end):
        if sc.seen[pushes[i]] != epoch:
            return True
    return False


@inlined
def expand_groups(groups, group_start, always, keep, out):
    """Write the rules of the groups found, and of those that are always true; returns how many.

    Groups below the first bound have one rule, whose ordinal is the number of the group: for these,
    which are nearly all, nothing has to be looked up.
    """
    found = 0
    single = np.int64(group_start[0])
    for i in range(len(groups) + len(always)):
        group = np.int64(groups[i] if i < len(groups) else always[i - len(groups)])
        first, end = group, group + 1
        if group >= single:
            first = np.int64(group_start[group - single])
            end = np.int64(group_start[group - single + 1])
        for ordinal in range(first, end):
            if len(keep) == 0 or keep[ordinal]:
                out[found] = ordinal
                found += 1
    return found


@lean
def expand(groups, group_start, always, keep, out):
    """`expand_groups`, as a kernel of its own."""
    return expand_groups(groups, group_start, always, keep, out)


@lean
def count_ors(pushes):
    """How many `or`s all push lists name together."""
    at = np.int64(0)
    ors = np.int64(0)
    while at < len(pushes):
        _, ranges_end, ors_end, at = list_bounds(pushes, at)
        ors += ors_end - ranges_end
    return ors
