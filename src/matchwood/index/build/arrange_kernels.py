"""Records, roles and push lists of nodes, written into arrays; `arrange` lists the steps."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array, UInt8Array
from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.kernels.programs import AND, OR, atom_of, pack_literal
from matchwood.kernels.pushes import GROUPS, HEAD, ORS, RANGES, WIDE_HEAD, fit_one_word
from matchwood.kernels.records import (
    CODE_MASK,
    GROUP,
    LITERAL,
    MAX_SLOTS,
    NOT_INLINE,
    add_reference,
    mark_used,
    pack_header,
    pack_interval,
    pack_several,
    with_push,
    words_of_record,
)
from matchwood.kernels.sorting import sort_by_keys

# The role of a node that is not pushed.
NO_ROLE = 0

# The role of a node of which only the rules are emitted, by its operands.
EMITTED = 1

# The role of a node that has to be found true itself.
FOUND = 2


class NodeTable(NamedTuple):
    """Shared nodes in their new order, for `lay_out_records`."""

    operator: UInt8Array  # AND or OR, by new number
    start: Int64Array  # bounds of the operands, by old number
    operands: Int32Array  # references with old numbers
    inverse: Int64Array  # the old number of each node
    number: Int64Array  # the new number of each node, by old number
    access: Int64Array  # the access operand, a reference with new numbers, by new number
    chance: NDArray[np.float32]  # of being true, by old number
    group_of: Int32Array  # the group of rules whose root a node is, or -1, by new number


class LiteralTable(NamedTuple):
    """What the order and the words of operands depend on, by literal (`opaque` by atom)."""

    word: Int64Array  # see `inline_words`
    probability: NDArray[np.float32]
    opaque: Int32Array  # -1 where an atom is a set of codes


class NodeRoles(NamedTuple):
    """Nodes in their new order, and how each takes part in pushing, for push lists."""

    role: UInt8Array  # NO_ROLE, EMITTED or FOUND
    operator: UInt8Array
    start: Int64Array
    operands: Int32Array
    first: int
    access: Int64Array
    group_of: Int32Array


@compiled
def estimate_nodes(operator, start, operands, first, probability):
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
            # if chances are equal, being woken by a literal is cheaper than by a node
            if p + (0.0 if ref < first else 1e-4) < best:
                best = p + (0.0 if ref < first else 1e-4)
                access[node] = ref
        level[node] = highest + 1
        chance[node] = product if operator[node] == AND else 1.0 - product
        if operator[node] == OR:
            access[node] = operands[start[node]]
    return level, chance, access


@lean
def renumber_operands(start, operands, first, inverse, number, new_start, new_operands):
    """Write the operands of all nodes, by new number, in new numbers."""
    for node in range(len(inverse)):
        at = new_start[node]
        for i in range(start[inverse[node]], start[inverse[node] + 1]):
            ref = operands[i]
            new_operands[at] = ref if ref < first else first + number[ref - first]
            at += 1


@compiled
def inline_words(slot, family_low, family_high, iv_start, iv_low, iv_high, opaque, codes):
    """The inline word of each literal, or NOT_INLINE."""
    words = np.full(2 * len(slot), NOT_INLINE, np.int64)
    for atom in range(len(slot)):
        where = slot[atom]
        if opaque[atom] >= 0 or codes[where] > CODE_MASK or where >= MAX_SLOTS:
            continue
        begin, count = iv_start[atom], iv_start[atom + 1] - iv_start[atom]
        low, high = np.int64(1), np.int64(0)  # true of no code
        if count > 0:
            low, high = np.int64(iv_low[begin]), np.int64(iv_high[begin])
        family_from, family_to = np.int64(family_low[atom]), np.int64(family_high[atom])
        is_null = count == 1 and high == 0
        if (family_from == 0 or low == 0) and not is_null:  # a test of truth
            absent = count > 0 and low == 0
            for negated in range(2):
                ref = pack_literal(atom, negated)
                words[ref] = pack_several(where, absent != negated, ref)
            continue
        word = pack_interval(where, 0, low, high)
        if count > 1:
            word = pack_several(where, 0, pack_literal(atom, 0))
        words[pack_literal(atom, 0)] = word
        if count == 0:
            word = pack_interval(where, 1, family_from, family_to)
        elif count == 1 and low == family_from:
            word = pack_interval(where, 1, high + 1, family_to)
        elif count == 1 and high == family_to:
            word = pack_interval(where, 1, family_from, low - 1)
        else:
            word = pack_several(where, 0, pack_literal(atom, 1))
        words[pack_literal(atom, 1)] = word
    return words


@lean
def mark_used_nodes(start, operands, first, number, used):
    """Set `used` to 1, by new number, for each node that another node asks for."""
    for i in range(start[len(number)]):
        if operands[i] >= first:
            used[number[operands[i] - first]] = 1


@lean
def measure_records(start, operands, words, sizes):
    """Write how many words the record of each node has, by old number."""
    first = len(words)
    for node in range(len(sizes)):
        inline = 0
        for i in range(start[node], start[node + 1]):
            ref = operands[i]
            inline += ref < first and words[ref] != NOT_INLINE
        sizes[node] = words_of_record(inline, start[node + 1] - start[node] - inline)


@compiled
def _sorted_operands(node, nodes, literals, refs, keys):
    """Write the operands of a node to `refs` in the order of its record, in new numbers: the access
    operand first, then those that decide the node soonest, and nodes and opaque literals after
    intervals. Returns how many they are."""
    old = nodes.inverse[node]
    low = nodes.start[old]
    size = nodes.start[old + 1] - low
    first = len(literals.word)
    is_and, access = nodes.operator[node] == AND, nodes.access[node]
    # each array is read out of its tuple once, because that counts references
    operands, number, chance = nodes.operands, nodes.number, nodes.chance
    probability, opaque = literals.probability, literals.opaque
    for i in range(size):
        ref = operands[low + i]
        if ref < first:
            refs[i] = ref
            keys[i] = probability[ref]
            if opaque[atom_of(ref)] >= 0:
                keys[i] += 2.0 if is_and else -2.0
        else:
            refs[i] = first + number[ref - first]
            keys[i] = chance[ref - first] + (1.0 if is_and else -1.0)
        if not is_and:
            keys[i] = -keys[i]
        if is_and and refs[i] == access:
            keys[i] = -9.0
    sort_by_keys(keys, refs, size)
    return size


@lean
def _write_record(ordered, literals, record_at, records, at):
    """Write the operands of a record from records[at] on: (inline words, references)."""
    words = literals.word
    first = len(words)
    begin = at
    for ref in ordered:
        if ref < first and words[ref] != NOT_INLINE:
            records[at] = words[ref]
            at += 1
    inline = at - begin
    rest = 0
    for ref in ordered:
        if ref < first and words[ref] != NOT_INLINE:
            continue
        target = np.int64(ref if ref < first else first + record_at[ref - first])
        word = records[at + (rest >> 1)] if rest & 1 else np.int64(0)
        records[at + (rest >> 1)] = add_reference(word, rest, target)
        rest += 1
    return inline, rest


@compiled
def lay_out_records(nodes, literals, used, record_at, records, low, high):
    """Write the records of the nodes low..high, without the places of their push lists; see
    `kernels.records`."""
    widest = 0
    for node in range(low, high):
        old = nodes.inverse[node]
        widest = max(widest, nodes.start[old + 1] - nodes.start[old])
    refs = np.empty(widest, np.int64)
    keys = np.empty(widest, np.float64)
    first = len(literals.word)
    for node in range(low, high):
        at = np.int64(record_at[node])
        size = _sorted_operands(node, nodes, literals, refs, keys)
        inline, rest = _write_record(refs[:size], literals, record_at, records, at + 1)
        access = refs[0] < first and literals.word[refs[0]] != NOT_INLINE
        is_and = nodes.operator[node] == AND
        root = nodes.group_of[node] >= 0
        header = pack_header(is_and, root, access, inline, rest)
        records[at] = mark_used(header) if used[node] else header


@lean
def write_push_places(records, record_at, push_at):
    """Add the places of push lists to the headers of all nodes."""
    for node in range(len(record_at)):
        at = np.int64(record_at[node])
        records[at] = with_push(records[at], push_at[node])


@compiled
def mark_roles(operator, start, operands, first, access, group_of):
    """The role of each node in pushing: NO_ROLE, EMITTED or FOUND.

    From the top down: an `and` with rules is woken by its access operand, an `or` with rules by all
    of its operands. An `or` that only rules use is dissolved: its operands emit the rules.
    """
    count = len(operator)
    role = np.zeros(count, np.uint8)
    for node in range(count - 1, -1, -1):
        if operator[node] == AND:
            if group_of[node] >= 0:
                role[node] = FOUND
            if role[node] == FOUND and access[node] >= first:
                role[access[node] - first] = FOUND
        else:
            if role[node] == NO_ROLE and group_of[node] >= 0:
                role[node] = EMITTED
            if role[node] != NO_ROLE:
                for i in range(start[node], start[node + 1]):
                    if operands[i] >= first:
                        role[operands[i] - first] = FOUND
    return role


@compiled
def count_pushes(roles, literal_group, sizes, only):
    """Count the ranges, `or`s and groups of each source in `sizes`, and write the last group that a
    source emits to `only`."""
    role, operator, start, operands = roles.role, roles.operator, roles.start, roles.operands
    access, group_of, first = roles.access, roles.group_of, roles.first
    newest = np.full(len(sizes), -1, np.int32)  # the last node that a source's newest range holds
    for node in range(len(operator)):
        if role[node] == NO_ROLE:
            continue
        if operator[node] == AND:
            source = access[node]
            if newest[source] < 0 or newest[source] != node - 1:
                sizes[source, RANGES] += 1
            newest[source] = node
            continue
        for i in range(start[node], start[node + 1]):
            if role[node] == FOUND:
                sizes[operands[i], ORS] += 1
            else:
                sizes[operands[i], GROUPS] += 1
                only[operands[i]] = group_of[node]
    for node in range(len(operator)):
        if role[node] == FOUND and group_of[node] >= 0:
            sizes[first + node, GROUPS] += 1
            only[first + node] = group_of[node]
    for i in range(len(literal_group)):
        source = literal_group[i, LITERAL]
        sizes[source, GROUPS] += 1
        only[source] = literal_group[i, GROUP]


@inlined
def _entries_at(source, sizes, at):
    """Where the entries of a list begin."""
    short = fit_one_word(sizes[source, RANGES], sizes[source, ORS], sizes[source, GROUPS])
    return at[source] + (HEAD if short else WIDE_HEAD)


@inlined
def _add_group(source, group, sizes, written, at, pushes):
    """Add a group to a list, unless the list is not written out because it has nothing else."""
    if at[source] >= 0:
        begin = _entries_at(source, sizes, at) + 2 * sizes[source, RANGES] + sizes[source, ORS]
        pushes[begin + written[source, GROUPS]] = group
    written[source, GROUPS] += 1


@compiled
def fill_pushes(roles, literal_group, record_at, sizes, at, pushes):
    """Write the entries of all lists, whose counts are `sizes` and which start at `at`."""
    role, operator, start, operands = roles.role, roles.operator, roles.start, roles.operands
    access, group_of, first = roles.access, roles.group_of, roles.first
    written = np.zeros_like(sizes)
    newest = np.full(len(sizes), -1, np.int32)  # the last node that a source's newest range holds
    newest_at = np.zeros(len(sizes), np.int32)  # where that range is written
    for node in range(len(operator)):
        if role[node] == NO_ROLE:
            continue
        if operator[node] == AND:
            source = access[node]
            if newest[source] >= 0 and newest[source] == node - 1:
                pushes[newest_at[source] + 1] += 1
            else:
                entry = _entries_at(source, sizes, at) + 2 * written[source, RANGES]
                pushes[entry], pushes[entry + 1] = record_at[node], 1
                newest_at[source] = entry
                written[source, RANGES] += 1
            newest[source] = node
            continue
        for i in range(start[node], start[node + 1]):
            source = operands[i]
            if role[node] == FOUND:
                begin = _entries_at(source, sizes, at) + 2 * sizes[source, RANGES]
                pushes[begin + written[source, ORS]] = at[first + node]
                written[source, ORS] += 1
            else:
                _add_group(source, group_of[node], sizes, written, at, pushes)
    for node in range(len(operator)):
        if role[node] == FOUND and group_of[node] >= 0:
            _add_group(first + node, group_of[node], sizes, written, at, pushes)
    for i in range(len(literal_group)):
        source, group = literal_group[i, LITERAL], literal_group[i, GROUP]
        _add_group(source, group, sizes, written, at, pushes)
