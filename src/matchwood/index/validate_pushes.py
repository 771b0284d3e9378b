"""Whether push lists, and the trees that lead to them, are fit for kernels (see `validate`).

The queue of a kernel has room for every push list once, and for what every list names. A node's
list is read once an event, whatever leads to it; a literal's as often as the literal is found. So
beside the bounds of every index, `check_stabs` makes sure that no code finds more than the slot's
literals have, each taken once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined
from matchwood.index.layout import NODE_MASK

NONE = -1  # no push list; from here downward -2 - the one group that is all of a list
FINE = -1  # what a check returns; otherwise the place where something is wrong
_MOST = 1 << 29  # places in the queue that one list can take
_PLACES = (1 << 32) - 1


class Lists(NamedTuple):
    """What is known of push lists once they are walked."""

    starts: NDArray[np.uint8]  # a bit for every position: a list starts there
    nodes_from: NDArray[np.int64]  # one number: from here on lists are of nodes
    # of literals, by position / 2, for no list is as short as that:
    # records woken << 32 | places in the queue << 1 | position % 2; 0 for no list
    weight: NDArray[np.int64]


def empty_lists(pushes: NDArray[np.int32]) -> Lists:
    """Room for what `check_lists` finds out."""
    bits = np.zeros(len(pushes) // 8 + 1, np.uint8)
    return Lists(bits, np.zeros(1, np.int64), np.zeros(len(pushes) // 2 + 1, np.int64))


@inlined
def _bounds(pushes, at):
    """Where ranges start and end, `or`s end and groups end; the end before the start if counts
    are not there or below zero."""
    if len(pushes) - at < 2:
        return at, at, at, at - 1
    counts = np.int64(pushes[at + 1])
    if counts >= 0:
        ranges_end = at + 2 + 2 * (counts >> 21)
        ors_end = ranges_end + ((counts >> 11) & 1023)
        return at + 2, ranges_end, ors_end, ors_end + (counts & 2047)
    if counts != -1 or len(pushes) - at < 5:
        return at, at, at, at - 1
    ranges, ors, emits = pushes[at + 2], pushes[at + 3], pushes[at + 4]
    if ranges < 0 or ors < 0 or emits < 0:
        return at, at, at, at - 1
    ranges_end = at + 5 + 2 * np.int64(ranges)
    ors_end = ranges_end + np.int64(ors)
    return at + 5, ranges_end, ors_end, ors_end + np.int64(emits)


@inlined
def _is_group(push, groups, never):
    """Whether a push list is one group, but not the one that is always true."""
    group = -2 - np.int64(push)
    return 0 <= group < groups and group != never


@inlined
def _next_list(pushes_of, begin, groups, never):
    """The first literal or node from `begin` on whose list is written out, or how many there are;
    -1 where one before it says nonsense."""
    while begin < len(pushes_of) and pushes_of[begin] < 0:
        if pushes_of[begin] != NONE and not _is_group(pushes_of[begin], groups, never):
            return -1
        begin += 1
    return begin


@compiled
def check_lists(pushes, literal_push, push_at, groups, never, lists):
    """Push lists fill their array: those of literals, then those of nodes, each in order and
    where its literal or node says."""
    at = np.int64(0)
    literal = _next_list(literal_push, 0, groups, never)
    node = _next_list(push_at, 0, groups, never)
    lists.nodes_from[0] = len(pushes) if node == len(push_at) else push_at[node]
    while at < len(pushes):
        begin, ranges_end, ors_end, end = _bounds(pushes, at)
        if end <= begin or end > len(pushes) or literal < 0 or node < 0:
            return at
        if literal < len(literal_push):
            if pushes[at] != -1 or literal_push[literal] != at:
                return at
            literal = _next_list(literal_push, literal + 1, groups, never)
            woken = np.int64(0)
            for i in range(begin + 1, ranges_end, 2):
                woken += max(pushes[i], 0)
            places = 1 + woken + ors_end - ranges_end
            if places >= _MOST:
                return at
            lists.weight[at >> 1] = woken << 32 | places << 1 | at & 1
        elif node < len(push_at):
            if pushes[at] != node or push_at[node] != at:
                return at
            node = _next_list(push_at, node + 1, groups, never)
        else:
            return at
        lists.starts[at >> 3] |= 1 << (at & 7)
        at = end
    return FINE if literal == len(literal_push) and node == len(push_at) else at


@compiled
def check_list_contents(pushes, lists, records, record_at, wakeable, groups, never):
    """Ranges are of `and`s that have a push list, each in one range; `or`s are lists of nodes;
    groups are not the one that is always true."""
    nodes_from = lists.nodes_from[0]
    at = np.int64(0)
    while at < len(pushes):
        begin, ranges_end, ors_end, end = _bounds(pushes, at)
        for i in range(begin, ranges_end, 2):
            record, size = pushes[i], np.int64(pushes[i + 1])
            if record < 0 or record >= len(records) or size < 1:
                return i
            node = (records[record] >> 32) & NODE_MASK
            if node >= len(record_at) or record_at[node] != record or node + size > len(record_at):
                return i
            for k in range(node, node + size):
                if not wakeable[k]:
                    return i
                wakeable[k] = 0
        for i in range(ranges_end, ors_end):
            target = pushes[i]
            if target < 0:
                if not _is_group(target, groups, never):
                    return i
            elif target < nodes_from or target >= len(pushes):
                return i
            elif not (lists.starts[target >> 3] >> (target & 7)) & 1:
                return i
        for i in range(ors_end, end):
            if pushes[i] < 0 or pushes[i] >= groups or pushes[i] == never:
                return i
        at = end
    return FINE


@compiled
def check_trees(tree_at, tree_size, tree_start, codes):
    """A tree for each slot, one after the other, with leaves for all codes."""
    at = np.int64(0)
    for slot in range(len(codes)):
        size = tree_size[slot]
        if codes[slot] < 2 or codes[slot] > size or size > 1 << 29 or size & (size - 1):
            return slot
        if tree_at[slot] != at:
            return slot
        at += 2 * np.int64(size)
    if at + 1 != len(tree_start) or tree_start[0] != 0:
        return len(codes)
    for i in range(len(tree_start) - 1):
        if tree_start[i] > tree_start[i + 1]:
            return i
    return FINE


@inlined
def _weight(push, lists, groups, never):
    """The weight of a literal's push list; 0 where it is none."""
    if push < 0:
        return np.int64(2) if _is_group(push, groups, never) else np.int64(0)
    if push >= lists.nodes_from[0]:
        return np.int64(0)
    weight = lists.weight[push >> 1]
    return weight if weight & 1 == push & 1 else np.int64(0)


@compiled
def check_stabs(
    tree_at, tree_size, tree_start, bound, push, literal_push, lists, atom_slot, atom_opaque,
    codes, groups, never,
):  # fmt: skip
    """Entries have push lists of literals, and those found by one code weigh no more than the
    lists of all literals of the slot, which a list of values may find."""
    if tree_start[-1] != len(push):
        return len(push)
    widest = 1
    for size in tree_size:
        widest = max(widest, size)
    queued = np.zeros(widest + 1, np.int64)  # differences from code to code
    woken = np.zeros(widest + 1, np.int64)
    atom = 0
    for slot in range(len(codes)):
        size = np.int64(tree_size[slot])
        at = np.int64(tree_at[slot])
        queued[: size + 1] = 0
        woken[: size + 1] = 0
        if tree_start[at] != tree_start[at + 1]:
            return tree_start[at]
        width = 2 * size
        for place in range(1, 2 * size):
            if place & (place - 1) == 0:
                width >>= 1  # a new level: tree node `place` stands for that many codes
            low = np.int64(tree_start[at + place])
            high = np.int64(tree_start[at + place + 1])
            begin = place * width - size
            middle = begin + (width >> 1)
            half = (low + high) >> 1
            if width == 1:
                half = low
            elif (high - low) & 1:
                return low
            for i in range(low, high):
                weight = _weight(push[i], lists, groups, never)
                code = np.int64(bound[i])
                if weight == 0 or code < 0 or code >= codes[slot]:
                    return i
                # true of codes from the bound to the middle, or from the middle to the bound
                a = max(begin, code) if i < half else middle
                b = middle if i < half else min(begin + width, code + 1)
                if a < b:
                    queued[a] += (weight & _PLACES) >> 1
                    queued[b] -= (weight & _PLACES) >> 1
                    woken[a] += weight >> 32
                    woken[b] -= weight >> 32
        most_queued, most_woken = np.int64(0), np.int64(0)
        while atom < len(atom_slot) and atom_slot[atom] == slot:
            for ref in (2 * atom, 2 * atom + 1):
                if literal_push[ref] != NONE and atom_opaque[atom] < 0:
                    weight = _weight(literal_push[ref], lists, groups, never)
                    most_queued += (weight & _PLACES) >> 1
                    most_woken += weight >> 32
            atom += 1
        sum_queued, sum_woken = np.int64(0), np.int64(0)
        for code in range(size):
            sum_queued += queued[code]
            sum_woken += woken[code]
            if sum_queued > most_queued or sum_woken > most_woken:
                return tree_start[at]
    return FINE


@compiled
def check_asked(asked, asked_push, literal_push, opaque):
    """The literals that codes do not decide and that have a push list, in order, with it."""
    last = -1
    for i in range(len(asked)):
        ref = asked[i]
        if ref <= last or ref >= len(literal_push) or opaque[ref >> 1] < 0:
            return i
        if asked_push[i] == NONE or asked_push[i] != literal_push[ref]:
            return i
        last = ref
    return FINE
