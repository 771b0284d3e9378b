"""Shared nodes to the arrays that kernels read.

The steps, in order: levels and probabilities; the *access* operand of each `and` (propagation on
demand: the operand least likely to be true is the only one that wakes the node); a new order of
nodes, by level and access operand, so that what one operand wakes lies together; which nodes have
to be found by pushing at all; records; push lists; and the stabbing trees of literals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.atoms import AtomArrays
from matchwood.index.layout import (
    ACCESS_SHIFT,
    CODE_MASK,
    INLINE_SHIFT,
    LOW_SHIFT,
    MAX_SLOTS,
    NEGATED_SHIFT,
    NOT_INLINE,
    SLOT_SHIFT,
)
from matchwood.index.nodes import ALWAYS, Shared
from matchwood.index.program import AND, OR
from matchwood.index.stabbing import stabbing_trees

# PUSHES. A push list is [node or -1, counts, (record, count)…, `or` lists…, groups…], what follows
# when its source is true: records of `and`s to check, push lists of `or`s, groups of rules to
# emit. Counts are ranges << 21 | ors << 11 | emits, or -1 and the three in words of their own. A
# list of one group is not written out: in its place stands -2 - group.

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Arranged(NamedTuple):
    """What a segment holds beside its atoms; every array is read only by kernels."""

    records: Longs
    used: Ints  # one number: how many nodes another node asks for
    row_literal: Ints  # the literal of each row of masks that a batch computes beforehand
    levels: Ints  # first node of each level from 2 on; literals are level 1
    group_of: Ints  # the group of rules whose root a node is, or -1
    push_at: Ints  # where the push list of a node starts, -1 for none; see PUSHES
    pushes: Ints
    tree_at: Ints  # first tree node of each slot
    tree_size: Ints  # leaves of each slot's tree, a power of two
    tree_start: Ints  # entries of tree node i: stabs[tree_start[i]:tree_start[i + 1]]
    stab_bound: Ints  # bound of an entry: low codes upward, then high codes downward
    stab_push: Ints  # push list of an entry
    literal_push: Ints  # push list of each literal, -1 for none
    asked: Ints  # literals with a push list that no interval finds: opaque or negated opaque
    asked_push: Ints
    literal_group: Longs  # (literal, group) of rules that are one predicate, for batches
    group_start: Ints  # rules of group g: group_start[g]:group_start[g + 1]
    always: Ints  # groups that are true of every event


def arrange(
    shared: Shared, atoms: AtomArrays, codes: Ints, probability: NDArray[np.float32]
) -> tuple[Arranged, Longs]:
    """The arrays, and the order of rules: new ordinal → rule (rules never true come last)."""
    order, group_start, group_root = _groups(shared.roots)
    count = len(shared.operator)
    level, chance, access = _estimate(
        shared.operator, shared.start, shared.operands, shared.first, probability
    )
    number, access = _order(shared, level, access, count)
    inverse = np.empty(count, np.int64)
    inverse[number] = np.arange(count)
    group_of = np.full(count, -1, np.int32)
    literal_groups = []
    always = []
    for_nodes = group_root >= shared.first
    group_of[number[group_root[for_nodes] - shared.first]] = np.flatnonzero(for_nodes)
    for group in np.flatnonzero(~for_nodes):
        if group_root[group] == ALWAYS:
            always.append(group)
        elif group_root[group] >= 0:
            literal_groups.append((group_root[group], group))
    literal_group = np.array(literal_groups, np.int64).reshape(-1, 2)
    operator = shared.operator[inverse]
    parts = _records(
        operator, shared.start, shared.operands, shared.first, inverse, number, access[inverse],
        atoms.slot, atoms.family_low, atoms.family_high, atoms.start, atoms.low, atoms.high,
        atoms.opaque, probability, chance, codes,
    )  # fmt: skip
    records, record_at, used, row_literal = parts
    new_start, new_operands = _renumbered(
        shared.start, shared.operands, shared.first, inverse, number
    )
    literals = 2 * len(atoms.slot)
    pushes, push_at, literal_push = _pushes(
        operator, new_start, new_operands, shared.first, access[inverse], group_of,
        record_at, literal_group, literals,
    )  # fmt: skip
    trees = stabbing_trees(literal_push, atoms, codes)
    top = int(level.max()) if count else 1
    levels = np.searchsorted(level[inverse], np.arange(2, top + 2)).astype(np.int32)
    arranged = Arranged(
        records, used, row_literal, levels, group_of, push_at, pushes, *trees,
        literal_group, group_start, np.array(always, np.int32),
    )  # fmt: skip
    return arranged, order


def _groups(roots: Ints) -> tuple[Longs, Ints, Longs]:
    """Rules with one root are one group: (order, bounds, root of each group)."""
    # `never` sorts first by value and must come last: its rules belong to no group
    key = np.where(roots == ALWAYS - 1, np.iinfo(np.int32).max, roots)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    live = int(np.searchsorted(ordered, np.iinfo(np.int32).max))
    ordered = ordered[:live]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if live else np.empty(0, int)
    start = np.r_[first, live].astype(np.int32)
    return order, start, ordered[first].astype(np.int64)


@compiled
def _estimate(operator, start, operands, first, probability):
    """Level, chance of being true, and access operand of each node."""
    count = len(operator)
    level = np.empty(count, np.int32)
    chance = np.empty(count, np.float32)
    access = np.full(count, -1, np.int64)
    for node in range(count):
        highest = 1
        product = 1.0
        best = np.inf
        for i in range(start[node], start[node + 1]):
            ref = operands[i]
            p = probability[ref] if ref < first else chance[ref - first]
            if ref >= first:
                highest = max(highest, level[ref - first])
            certain = min(p, 1.0)  # a lazy atom counts for more, so that nothing waits for it
            product *= certain if operator[node] == AND else 1.0 - certain
            # where chances are alike, a literal is cheaper to be woken by than a node
            if p + (0.0 if ref < first else 1e-4) < best:
                best = p + (0.0 if ref < first else 1e-4)
                access[node] = ref
        level[node] = highest + 1
        chance[node] = product if operator[node] == AND else 1.0 - product
        if operator[node] == OR:
            access[node] = operands[start[node]]
    return level, chance, access


def _order(shared: Shared, level: Ints, access: Longs, count: int) -> tuple[Longs, Longs]:
    """New numbers by level, then access operand; accesses in the new numbers."""
    number = np.empty(count, np.int64)
    placed = 0
    access = access.copy()
    by_level = np.argsort(level, kind="stable")
    bounds = np.searchsorted(level[by_level], np.arange(2, (level.max() if count else 1) + 2))
    for low, high in zip(np.r_[0, bounds][:-1], bounds, strict=True) if count else ():
        nodes = by_level[low:high]
        inner = access[nodes] >= shared.first
        access[nodes[inner]] = shared.first + number[access[nodes[inner]] - shared.first]
        key = np.lexsort((access[nodes], shared.operator[nodes]))
        number[nodes[key]] = np.arange(placed, placed + len(nodes))
        placed += len(nodes)
    return number, access


@compiled
def _renumbered(start, operands, first, inverse, number):
    count = len(inverse)
    new_start = np.zeros(count + 1, np.int64)
    for node in range(count):
        old = inverse[node]
        new_start[node + 1] = new_start[node] + start[old + 1] - start[old]
    new_operands = np.empty(new_start[count], np.int32)
    for node in range(count):
        at = new_start[node]
        for i in range(start[inverse[node]], start[inverse[node] + 1]):
            ref = operands[i]
            new_operands[at] = ref if ref < first else first + number[ref - first]
            at += 1
    return new_start, new_operands


@compiled
def _inline(ref, slot, family_low, family_high, iv_start, iv_low, iv_high, opaque, codes):
    """The word of a literal; NOT_INLINE if it has none, and below 0 (the sign bit) if it has
    several intervals, in which case its row is still to be filled in."""
    atom = ref >> 1
    where = np.int64(slot[atom])
    count = iv_start[atom + 1] - iv_start[atom]
    if opaque[atom] >= 0 or codes[where] > CODE_MASK or where >= MAX_SLOTS:
        return np.int64(NOT_INLINE)
    negated = np.int64(ref & 1)
    several = (np.int64(-1) << 63) | (where << SLOT_SHIFT)
    low, high = np.int64(1), np.int64(0)
    if count > 1:
        return several
    if count > 0:
        low, high = np.int64(iv_low[iv_start[atom]]), np.int64(iv_high[iv_start[atom]])
    if negated:
        if count == 0:
            low, high = np.int64(family_low[atom]), np.int64(family_high[atom])
        elif low == family_low[atom]:
            low, high = high + 1, np.int64(family_high[atom])
        elif high == family_high[atom]:
            low, high = np.int64(family_low[atom]), low - 1
        else:
            return several
    return (where << SLOT_SHIFT) | (negated << NEGATED_SHIFT) | (low << LOW_SHIFT) | high


@compiled
def _records(
    operator, start, operands, first, inverse, number, access,
    slot, family_low, family_high, iv_start, iv_low, iv_high, opaque, probability, chance, codes,
):  # fmt: skip
    count = len(operator)
    records = np.empty(start[count] + count, np.int64)
    record_at = np.empty(count, np.int32)
    used = np.zeros(count, np.int32)
    for i in range(start[count]):
        if operands[i] >= first:
            used[number[operands[i] - first]] = 1
    place = np.empty(count, np.int64)
    seen = 0
    for node in range(count):
        place[node] = seen
        seen += used[node]
    row = np.full(first, -1, np.int64)
    for i in range(start[count]):
        ref = operands[i]
        if ref < first and row[ref] < 0:
            word = _inline(
                ref, slot, family_low, family_high, iv_start, iv_low, iv_high, opaque, codes
            )
            if word < 0:
                row[ref] = 0
    rows = 0
    for ref in range(first):
        if row[ref] == 0:
            row[ref] = -1
            rows += 1
    row_literal = np.empty(rows, np.int32)
    next_row = 0  # rows are numbered in the order of their first use
    widest = 0
    for node in range(count):
        widest = max(widest, start[node + 1] - start[node])
    refs = np.empty(widest, np.int64)
    keys = np.empty(widest, np.float64)
    at = 0
    for node in range(count):
        old = inverse[node]
        low = start[old]
        size = start[old + 1] - low
        is_and = operator[node] == AND
        for i in range(size):
            ref = operands[low + i]
            if ref < first:
                refs[i] = ref
                keys[i] = probability[ref]
                if opaque[ref >> 1] >= 0:
                    keys[i] += 2.0 if is_and else -2.0
            else:
                refs[i] = first + number[ref - first]
                keys[i] = chance[ref - first] + (1.0 if is_and else -1.0)
            if not is_and:
                keys[i] = -keys[i]
            if is_and and refs[i] == access[node]:
                keys[i] = -9.0
        by = np.argsort(keys[:size])
        record_at[node] = at
        header = at
        at += 1
        inline_access = 0
        for j in range(size):
            ref = refs[by[j]]
            if ref < first:
                word = _inline(
                    ref, slot, family_low, family_high, iv_start, iv_low, iv_high, opaque, codes
                )
                if word != NOT_INLINE:
                    if word < 0:
                        if row[ref] < 0:
                            row[ref] = next_row
                            row_literal[next_row] = ref
                            next_row += 1
                        word |= row[ref]
                    records[at] = word
                    at += 1
                    if j == 0:
                        inline_access = 1
        inline = at - header - 1
        for j in range(size):
            ref = refs[by[j]]
            if (
                ref >= first
                or opaque[ref >> 1] >= 0
                or (
                    _inline(
                        ref, slot, family_low, family_high, iv_start, iv_low, iv_high, opaque, codes
                    )
                    == NOT_INLINE
                )
            ):
                if ref >= first:
                    target = first + np.int64(record_at[ref - first])
                    records[at] = (place[ref - first] << 32) | target
                else:
                    if row[ref] < 0:
                        row[ref] = next_row
                        row_literal[next_row] = ref
                        next_row += 1
                    records[at] = (row[ref] << 32) | ref
                at += 1
        records[header] = (
            (np.int64(node) << 32)
            | (np.int64(1 if is_and else 0) << 31)
            | (np.int64(inline_access) << ACCESS_SHIFT)
            | (np.int64(inline) << INLINE_SHIFT)
            | np.int64(at - header - 1 - inline)
        )
    for node in range(count):
        if used[node]:
            records[record_at[node]] |= np.int64(-1) << 63
    return records[:at].copy(), record_at, np.array([seen], np.int32), row_literal


@compiled
def _mark(operator, start, operands, first, access, group_of):
    """Which nodes have to be found by pushing: 0 none, 1 only to emit its rules, 2 as a node.

    From the top: an `and` with rules is woken by its access operand, an `or` with rules by all of
    its operands. An `or` that only rules use is dissolved: its operands emit the rules.
    """
    count = len(operator)
    role = np.zeros(count, np.uint8)
    for node in range(count - 1, -1, -1):
        if operator[node] == AND:
            if group_of[node] >= 0:
                role[node] = 2
            if role[node] == 2 and access[node] >= first:
                role[access[node] - first] = 2
        else:
            if role[node] == 0 and group_of[node] >= 0:
                role[node] = 1
            if role[node] > 0:
                for i in range(start[node], start[node + 1]):
                    if operands[i] >= first:
                        role[operands[i] - first] = 2
    return role


@compiled
def _begin(source, sizes, at):
    """Where the entries of a list begin."""
    if sizes[source, 0] < 1 << 10 and sizes[source, 1] < 1 << 10 and sizes[source, 2] < 1 << 11:
        return at[source] + 2
    return at[source] + 5


@compiled
def _emit_place(source, sizes, at):
    return _begin(source, sizes, at) + 2 * sizes[source, 0] + sizes[source, 1]


@compiled
def _fill_pushes(
    role, operator, start, operands, first, access, group_of, record_at, literal_group, total,
    sizes, pushes, at, only,
):  # fmt: skip
    """Counts into `sizes` (ranges, ors, emits a source), or, given places, writes the lists."""
    count = len(operator)
    writing = len(pushes) > 0
    cursor = np.zeros((total, 3), np.int32) if writing else sizes
    previous = np.full(total, -1, np.int32)  # the last node that a source's newest range holds
    previous_at = np.zeros(total, np.int32)
    for node in range(count):
        if role[node] == 0:
            continue
        if operator[node] == AND:
            source = access[node]
            if previous[source] >= 0 and previous[source] == node - 1:
                if writing:
                    pushes[previous_at[source] + 1] += 1
            else:
                if writing:
                    place = _begin(source, sizes, at) + 2 * cursor[source, 0]
                    pushes[place] = record_at[node]
                    pushes[place + 1] = 1
                    previous_at[source] = place
                cursor[source, 0] += 1
            previous[source] = node
            continue
        for i in range(start[node], start[node + 1]):
            source = operands[i]
            if role[node] == 2:
                if writing:
                    place = _begin(source, sizes, at) + 2 * sizes[source, 0] + cursor[source, 1]
                    pushes[place] = at[first + node]
                cursor[source, 1] += 1
            else:
                if writing and at[source] >= 0:
                    pushes[_emit_place(source, sizes, at) + cursor[source, 2]] = group_of[node]
                only[source] = group_of[node]
                cursor[source, 2] += 1
    for node in range(count):
        if role[node] == 2 and group_of[node] >= 0:
            source = first + node
            if writing and at[source] >= 0:
                pushes[_emit_place(source, sizes, at) + cursor[source, 2]] = group_of[node]
            only[source] = group_of[node]
            cursor[source, 2] += 1
    for i in range(len(literal_group)):
        source = literal_group[i, 0]
        if writing and at[source] >= 0:
            pushes[_emit_place(source, sizes, at) + cursor[source, 2]] = literal_group[i, 1]
        only[source] = literal_group[i, 1]
        cursor[source, 2] += 1


def _pushes(
    operator: NDArray[np.uint8],
    start: Longs,
    operands: Ints,
    first: int,
    access: Longs,
    group_of: Ints,
    record_at: Ints,
    literal_group: Longs,
    literals: int,
) -> tuple[Ints, Ints, Ints]:
    """(push lists, where each node's starts, where each literal's starts)."""
    role = _mark(operator, start, operands, first, access, group_of)
    total = max(first, literals) + len(operator)
    sizes = np.zeros((total, 3), np.int32)
    only = np.full(total, -1, np.int32)  # the last group that a source emits
    shape = (role, operator, start, operands, first, access, group_of, record_at, literal_group)
    none = np.empty(0, np.int32)
    _fill_pushes(*shape, total, sizes, none, none, only)
    lengths = 2 * sizes[:, 0].astype(np.int64) + sizes[:, 1] + sizes[:, 2]
    one_group = (sizes[:, 0] == 0) & (sizes[:, 1] == 0) & (sizes[:, 2] == 1)
    wide = (sizes[:, 0] >= 1 << 10) | (sizes[:, 1] >= 1 << 10) | (sizes[:, 2] >= 1 << 11)
    lengths[lengths > 0] += 2
    lengths[wide] += 3
    lengths[one_group] = 0
    at = np.where(lengths > 0, np.cumsum(lengths) - lengths, -1).astype(np.int32)
    at[one_group] = -2 - only[one_group]
    pushes = np.zeros(int(lengths.sum()), np.int32)
    live = at >= 0
    numbers = np.arange(total) - first
    pushes[at[live]] = np.maximum(numbers[live], -1)
    packed = sizes[:, 0] << 21 | sizes[:, 1] << 11 | sizes[:, 2]
    pushes[at[live] + 1] = np.where(wide, -1, packed)[live]
    for column in range(3):
        pushes[at[live & wide] + 2 + column] = sizes[live & wide, column]
    if len(pushes):
        _fill_pushes(*shape, total, sizes, pushes, at, only)
    return pushes, at[first : first + len(operator)].copy(), at[:literals].copy()
