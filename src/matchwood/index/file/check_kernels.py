"""Checks of the atoms, groups and records of an index; `validate` says why."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.index.file.push_list_check_kernels import (
    FINE,
)
from matchwood.kernels.compiled import compiled
from matchwood.kernels.pushes import NO_LIST, last_group, list_bounds
from matchwood.kernels.records import (
    GROUP,
    INTERVAL,
    LAZY,
    LITERAL,
    VALUE_TEST,
    header_access,
    header_inline,
    header_is_and,
    header_is_root,
    header_push,
    header_rest,
    is_several,
    is_used,
    record_end,
    reference_at,
    state_of_record,
    word_high,
    word_literal,
    word_low,
    word_slot,
)


@compiled
def check_atoms(slot, family_low, family_high, start, low, high, kind, opaque, codes, opaques):
    """Atoms are in order of slots; families and intervals lie inside the codes; intervals are
    sorted and disjoint; opaque atoms are numbered in order, without gaps."""
    if start[0] != 0 or start[-1] != len(low):
        return len(slot)
    numbered = 0
    last = 0
    for i in range(len(slot)):
        if slot[i] < last or slot[i] >= len(codes) or start[i] > start[i + 1]:
            return i
        last = slot[i]
        size = codes[slot[i]]
        if family_low[i] < 0 or family_low[i] > size or not -1 <= family_high[i] < size:
            return i
        below = -1
        for j in range(start[i], min(start[i + 1], len(low))):
            if low[j] <= below or high[j] < low[j] or high[j] >= size:
                return i
            below = high[j]
        if opaque[i] == -1:
            if kind[i] != INTERVAL:
                return i
        elif opaque[i] != numbered or not VALUE_TEST <= kind[i] <= LAZY or start[i] != start[i + 1]:
            return i
        else:
            numbered += 1
    return FINE if numbered == opaques else len(slot)


@compiled
def check_levels(levels, count):
    """Levels reach from 0 to the number of nodes, and none is empty."""
    if len(levels) == 0 or levels[0] != 0 or levels[-1] != count:
        return len(levels)
    for i in range(1, len(levels)):
        if levels[i] <= levels[i - 1]:
            return i
    return FINE


@compiled
def check_groups(group_start, rules):
    """Groups are not empty, follow each other, and have no more rules than there are."""
    if group_start[0] < 0 or group_start[0] > rules:
        return 0
    for i in range(1, len(group_start)):
        if group_start[i] <= group_start[i - 1] or group_start[i] > rules:
            return i
    return FINE


@compiled
def check_claims(records, pushes, literal_group, always, groups, first):
    """A group belongs to one node or one literal, or is the one that is always true; the push list
    of a node that has one ends with it."""
    taken = np.zeros(groups, np.uint8)
    if len(always) > 1:
        return len(always)
    for group in always:
        if group < 0 or group >= groups:
            return 0
        taken[group] = 1
    at = np.int64(0)
    while at < len(records):
        header = records[at]
        if header_is_root(header):
            push = header_push(header)
            if push >= 0:
                _, _, ors_end, end = list_bounds(pushes, push)
                if ors_end == end:
                    return at
            group = np.int64(NO_LIST)
            if push != NO_LIST:
                group = np.int64(last_group(pushes, push))
            if group < 0 or group >= groups or taken[group]:
                return at
            taken[group] = 1
        at = record_end(at, header)
    for i in range(len(literal_group)):
        literal, root = literal_group[i, LITERAL], literal_group[i, GROUP]
        if literal < 0 or literal >= first or root < 0 or root >= groups or taken[root]:
            return i
        taken[root] = 1
    return FINE


@compiled
def locate_nodes(records, record_at, push_at):
    """Write where the records of all nodes start, and where their push lists are: records follow
    each other without gaps, and none is without operands."""
    at = np.int64(0)
    for node in range(len(record_at)):
        if at >= len(records):
            return node
        header = records[at]
        end = record_end(at, header)
        if end > len(records) or end == at + 1:
            return node
        record_at[node] = at
        push_at[node] = header_push(header)
        at = end
    return FINE if at == len(records) else len(record_at)


@compiled
def number_states(records, record_at):
    """The node of each record, by `state_of_record`, or -1."""
    node_of = np.full(state_of_record(len(records)) + 1, -1, np.int32)
    for node in range(len(record_at)):
        node_of[state_of_record(record_at[node])] = node
    return node_of


@compiled
def check_records(
    records, record_at, push_at, levels, codes, first, node_of, begin, end, wakeable
):  # fmt: skip
    """Every word of the records of the nodes begin..end is one that kernels can follow; references
    to nodes go to lower levels, so that no stack of kernels is deeper than there are levels."""
    below = 0  # how many nodes are on lower levels
    level = 0
    for node in range(begin, end):
        while node >= levels[level]:
            below = levels[level]
            level += 1
        at = np.int64(record_at[node])
        header = records[at]
        inline_end = at + 1 + header_inline(header)
        if header_access(header) > header_inline(header):
            return node
        for k in range(at + 1, inline_end):
            word = records[k]
            slot = word_slot(word)
            if slot >= len(codes):
                return node
            if is_several(word):
                if word_literal(word) >= first:
                    return node
            else:
                high = word_high(word)
                if high >= codes[slot] or word_low(word) > high + 1:
                    return node
        for number in range(header_rest(header)):
            ref = reference_at(records, inline_end, number)
            if ref >= first:
                if ref - first >= len(records) or not is_used(records[ref - first]):
                    return node
                other = node_of[state_of_record(ref - first)]
                if other < 0 or other >= below or record_at[other] != ref - first:
                    return node
        wakeable[node] = header_is_and(header) and push_at[node] != NO_LIST
    return FINE
