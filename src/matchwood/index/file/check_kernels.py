"""Checks of the atoms, groups and records of an index; `validate` says why."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.index.file.push_list_check_kernels import (
    FINE,
)
from matchwood.kernels.compiled import compiled
from matchwood.kernels.pushes import NO_LIST
from matchwood.kernels.records import (
    GROUP,
    INTERVAL,
    LAZY,
    LITERAL,
    VALUE_TEST,
    has_row,
    header_access,
    header_inline,
    header_is_and,
    header_node,
    header_rest,
    is_used,
    reference_number,
    reference_target,
    word_high,
    word_low,
    word_row,
    word_slot,
)


@compiled
def check_atoms(slot, family_low, family_high, start, low, high, kind, opaque, codes, opaques):
    """Atoms are in order of slots; families and intervals lie inside the codes; intervals are
    sorted, disjoint and inside their family; opaque atoms are numbered in order, without gaps."""
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
        below = family_low[i] - 1
        for j in range(start[i], min(start[i + 1], len(low))):
            if low[j] <= below or high[j] < low[j] or high[j] > family_high[i]:
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
def check_rows(row_literal, first):
    """Rows belong to literals; two rows of the same literal would do no harm."""
    for i in range(len(row_literal)):
        if row_literal[i] < 0 or row_literal[i] >= first:
            return i
    return FINE


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
    """Groups are not empty, follow each other from 0 on, and have no more rules than there are."""
    if group_start[0] != 0:
        return 0
    for i in range(1, len(group_start)):
        if group_start[i] <= group_start[i - 1] or group_start[i] > rules:
            return i
    return FINE


@compiled
def check_claims(group_of, literal_group, always, groups, first):
    """A group belongs to one node or one literal, or is the one that is always true."""
    taken = np.zeros(groups, np.uint8)
    if len(always) > 1:
        return len(always)
    for group in always:
        if group < 0 or group >= groups:
            return 0
        taken[group] = 1
    for i in range(len(group_of)):
        group = group_of[i]
        if group != -1:
            if group < 0 or group >= groups or taken[group]:
                return i
            taken[group] = 1
    for i in range(len(literal_group)):
        literal, root = literal_group[i, LITERAL], literal_group[i, GROUP]
        if literal < 0 or literal >= first or root < 0 or root >= groups or taken[root]:
            return i
        taken[root] = 1
    return FINE


@compiled
def check_records(
    records, levels, push_at, codes, row_literal, first, expected, record_at, wakeable
):
    """Records follow each other without gaps, numbered in order; every word of a record is one
    that kernels can follow; references to nodes go to lower levels, so that no stack of kernels
    is deeper than there are levels."""
    count = len(record_at)
    used_at = np.empty(max(0, min(expected, count)), np.int32)  # records that others ask for
    used = 0
    used_below = 0  # how many of them are on lower levels
    level = 0
    at = 0
    for node in range(count):
        if node == levels[level]:
            used_below = used
            level += 1
        if at >= len(records):
            return node
        header = records[at]
        inline = header_inline(header)
        inline_end = at + 1 + inline
        end = inline_end + header_rest(header)
        if header_node(header) != node or end > len(records) or end == at + 1:
            return node
        access = header_access(header)
        if access > 1 or access > inline:
            return node
        for k in range(at + 1, inline_end):
            word = records[k]
            slot = word_slot(word)
            if slot >= len(codes):
                return node
            if has_row(word):
                row = word_row(word)
                if row >= len(row_literal):
                    return node
            else:
                high = word_high(word)
                if high >= codes[slot] or word_low(word) > high + 1:
                    return node
        for k in range(inline_end, end):
            word = records[k]
            ref = reference_target(word)
            other = reference_number(word)
            if ref >= first:
                if other < 0 or other >= used_below or used_at[other] != ref - first:
                    return node
            elif other < 0 or other >= len(row_literal) or row_literal[other] != ref:
                return node
        if is_used(header):
            if used == len(used_at):
                return node
            used_at[used] = at
            used += 1
        record_at[node] = at
        wakeable[node] = header_is_and(header) and push_at[node] != NO_LIST
        at = end
    return FINE if at == len(records) and used == expected else count
