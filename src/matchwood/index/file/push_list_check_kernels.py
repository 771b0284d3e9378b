"""Whether push lists, and the trees that lead to them, are safe for kernels (see `validate`).

The queue of a kernel has room for every push list once, and for everything that the lists name. The
list of a node is read once per event, whatever leads to it; that of a literal as often as the
literal is found. So beside the bounds of every index, `check_stabs` makes sure that no code finds
more than what the literals of its slot have, each counted once.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import codec, compiled, inlined
from matchwood.kernels.filling import fill_array
from matchwood.kernels.programs import atom_of, pack_literal
from matchwood.kernels.pushes import HEAD, NO_LIST, WIDE, WIDE_HEAD, group_of_list, list_bounds
from matchwood.kernels.records import FIRST_VALUE, state_of_record

# What a check returns if all is well; otherwise it returns where something is wrong.
FINE = -1

# Places in the queue that one list can take: fewer than this.
_MOST = 1 << 29

# The bits of a weight, once shifted, that hold the places in the queue.
_PLACES_MASK = (1 << 31) - 1


class Lists(NamedTuple):
    """What `check_lists` finds out about push lists."""

    starts: NDArray[np.uint8]  # one bit per position: whether a list starts there
    nodes_from: NDArray[np.int64]  # one number: lists from this position on belong to nodes
    weight: NDArray[np.int64]  # of literals' lists, by position / 2; see `_pack_weight`


@codec
def _pack_weight(woken, places, at):
    """How much a literal's push list at `at` adds to the queue; never 0, which says no list.

        | records woken: 32 bits | places in the queue: 31 bits | at % 2: 1 bit |

    A list has at least three words, so that position / 2 and position % 2 tell it from others.
    """
    return np.int64(woken) << 32 | np.int64(places) << 1 | np.int64(at) & 1


@codec
def _woken(weight):
    return weight >> 32


@codec
def _places(weight):
    return (weight >> 1) & _PLACES_MASK


@inlined
def _bounds(pushes, at):
    """The bounds of a list as `list_bounds` has them; the end is before the start if the counts are
    missing or negative."""
    if len(pushes) - at < HEAD:
        return at, at, at, at - 1
    counts = pushes[at + 1]
    if counts < 0:
        if counts != WIDE or len(pushes) - at < WIDE_HEAD:
            return at, at, at, at - 1
        if min(pushes[at + 2], pushes[at + 3], pushes[at + 4]) < 0:
            return at, at, at, at - 1
    return list_bounds(pushes, at)


@inlined
def _is_group(push, groups, never):
    """Whether a push list consists of one group, other than the one that is always true."""
    group = group_of_list(np.int64(push))
    return 0 <= group < groups and group != never


@inlined
def _next_list(pushes_of, begin, groups, never):
    """The first literal or node from `begin` on whose list is written out, or their number if there
    is none; -1 if one before it is invalid."""
    while begin < len(pushes_of) and pushes_of[begin] < 0:
        if pushes_of[begin] != NO_LIST and not _is_group(pushes_of[begin], groups, never):
            return -1
        begin += 1
    return begin


@compiled
def check_lists(pushes, literal_push, push_at, record_at, groups, never, lists):
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
            lists.weight[at >> 1] = _pack_weight(woken, places, at)
        elif node < len(push_at):
            if pushes[at] != state_of_record(record_at[node]) or push_at[node] != at:
                return at
            node = _next_list(push_at, node + 1, groups, never)
        else:
            return at
        lists.starts[at >> 3] |= 1 << (at & 7)
        at = end
    return FINE if literal == len(literal_push) and node == len(push_at) else at


@compiled
def check_list_contents(
    pushes, lists, records, record_at, node_of, wakeable, groups, never, first, last, woken
):  # fmt: skip
    """Ranges are of `and`s that have a push list, each in one range; `or`s are lists of nodes;
    groups are not the one that is always true.

    Checks the lists that start in first..last, and writes to `woken` how many nodes are in their
    ranges. Where several threads do this at once, two of them may find the same node: then more are
    in ranges than `wakeable` has lost.
    """
    nodes_from = lists.nodes_from[0]
    woken[0] = 0
    at = np.int64(first)
    while at < last and not (lists.starts[at >> 3] >> (at & 7)) & 1:
        at += 1
    while at < last:
        begin, ranges_end, ors_end, end = _bounds(pushes, at)
        for i in range(begin, ranges_end, 2):
            record, size = pushes[i], np.int64(pushes[i + 1])
            if record < 0 or record >= len(records) or size < 1:
                return i
            node = node_of[state_of_record(record)]
            if node < 0 or record_at[node] != record or node + size > len(record_at):
                return i
            for k in range(node, node + size):
                if not wakeable[k]:
                    return i
                wakeable[k] = 0
            woken[0] += size
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
def check_trees(tree_at, tree_size, tree_points, tree_start, bounds, codes):
    """A tree for each slot, one after the other, with leaves for all codes; all entries but those
    at leaves have one of the `bounds`."""
    at = np.int64(1)
    for slot in range(len(codes)):
        size = tree_size[slot]
        if codes[slot] < 2 or codes[slot] > size or size > 1 << 29 or size & (size - 1):
            return slot
        if tree_at[slot] != at:
            return slot
        at += 2 * np.int64(size) + 1
    if at != len(tree_start) or tree_start[0] != 0:
        return len(codes)
    for i in range(len(tree_start) - 1):
        if tree_start[i] > tree_start[i + 1]:
            return i
    points = np.int64(0)
    for slot in range(len(codes)):
        if tree_points[slot] != points:
            return slot
        at, size = np.int64(tree_at[slot]), np.int64(tree_size[slot])
        points += tree_start[at + 2 * size] - tree_start[at + size]
    return FINE if tree_start[-1] - points == bounds else len(codes)


@inlined
def _weight(push, lists, groups, never):
    """The weight of a literal's push list; 0 if it is not one."""
    if push < 0:
        return _pack_weight(0, 1, 0) if _is_group(push, groups, never) else np.int64(0)
    if push >= lists.nodes_from[0]:
        return np.int64(0)
    weight = lists.weight[push >> 1]
    return weight if weight & 1 == push & 1 else np.int64(0)  # the list starts just there


@compiled
def _weigh_stabs(
    at, size, points, codes, tree_start, bound, push, lists, groups, never, queued, woken
):
    """Add up what each code of a slot finds in the tree at `at`, as differences from code to code;
    returns the first entry that is wrong, or FINE."""
    width = 2 * size
    for node in range(-1, 2 * size):
        if node > 0 and node & (node - 1) == 0:
            width >>= 1  # a new level: a tree node stands for that many codes
        low = np.int64(tree_start[at + node])
        high = np.int64(tree_start[at + node + 1])
        begin = node * width - size
        middle = begin + (width >> 1)
        half = (low + high) >> 1
        if node > 0 and width > 1 and (high - low) & 1:
            return low
        for i in range(low, high):
            weight = _weight(push[i], lists, groups, never)
            code = begin if width == 1 else np.int64(bound[i - points])
            if weight == 0 or code < 0 or code >= codes:
                return i
            if node == -1:  # true of codes from the bound on
                a, b = code, size
            elif node == 0:  # up to the bound
                a, b = np.int64(FIRST_VALUE), code + 1
            elif width == 1:
                a, b = code, code + 1
            else:  # from the bound to the middle, or from the middle to the bound
                a = max(begin, code) if i < half else middle
                b = middle if i < half else min(begin + width, code + 1)
            if a < b:
                queued[a] += _places(weight)
                queued[b] -= _places(weight)
                woken[a] += _woken(weight)
                woken[b] -= _woken(weight)
    return np.int64(FINE)


@compiled
def check_stabs(
    tree_at, tree_size, tree_points, tree_start, bound, push, literal_push, lists, atom_slot,
    atom_opaque, codes, groups, never, first, last, atom,
):  # fmt: skip
    """Entries have push lists of literals, and those found by one code weigh no more than the
    lists of all literals of the slot, which a list of values may find.

    Checks the slots first..last; `atom` is the first one of these.
    """
    if tree_start[-1] != len(push):
        return len(push)
    widest = 1
    for slot in range(first, last):
        widest = max(widest, tree_size[slot])
    queued = np.zeros(widest + 1, np.int64)  # differences from code to code
    woken = np.zeros(widest + 1, np.int64)
    for slot in range(first, last):
        size = np.int64(tree_size[slot])
        at = np.int64(tree_at[slot])
        fill_array(queued[: size + 1], 0)
        fill_array(woken[: size + 1], 0)
        wrong = _weigh_stabs(
            at, size, np.int64(tree_points[slot]), codes[slot], tree_start, bound, push, lists,
            groups, never, queued, woken,
        )  # fmt: skip
        if wrong != FINE:
            return wrong
        most_queued, most_woken = np.int64(0), np.int64(0)
        while atom < len(atom_slot) and atom_slot[atom] == slot:
            for ref in (pack_literal(atom, 0), pack_literal(atom, 1)):
                if literal_push[ref] != NO_LIST and atom_opaque[atom] < 0:
                    weight = _weight(literal_push[ref], lists, groups, never)
                    most_queued += _places(weight)
                    most_woken += _woken(weight)
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
        if ref <= last or ref >= len(literal_push) or opaque[atom_of(ref)] < 0:
            return i
        if asked_push[i] == NO_LIST or asked_push[i] != literal_push[ref]:
            return i
        last = ref
    return FINE
