"""The records of a segment, rewritten as the program of a sweep; `sweep_program` has its form."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.compiled import codec, compiled, inlined
from matchwood.kernels.pushes import last_group
from matchwood.kernels.records import (
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
    word_literal,
)

# The key of what is true of every event. Those of intervals are their inline words, from 0 on, and
# those of all other literals are below this one.
ALWAYS_KEY = -1

# Literals of one slot come in blocks of so many numbers; the last one may be filled up.
BLOCK_SHIFT = 4
LITERALS_PER_BLOCK = 1 << BLOCK_SHIFT

# How many rules a node of a run is the root of: none, one, or more.
NO_RULE, ONE_RULE, MORE_RULES = range(3)

# Columns of the array `runs`: 1 for `and`s; literals and nodes among the operands of each node; how
# many rules each has; the number of the first node, or -1 if no other asks for them; how many
# nodes there are; and where their literals, nodes and ordinals begin.
RUN_COLUMNS = 9
(
    RUN_IS_AND,
    RUN_LITERALS,
    RUN_NODES,
    RUN_RULES,
    RUN_NUMBER,
    RUN_COUNT,
    RUN_LITERAL,
    RUN_NODE,
    RUN_ORDINAL,
) = range(RUN_COLUMNS)

# Columns of the array `facts`, which has one row per node: its number, where its record starts,
# 1 for an `and`, 1 if another node asks for it, the group of its rules or -1, and how many operands
# are literals and nodes.
FACT_COLUMNS = 7
NUMBER, RECORD, IS_AND, USED, RULES, LITERALS, NODES = range(FACT_COLUMNS)


@codec
def key_of_literal(literal: Any) -> Any:
    """The key of a literal that is not one interval.

    >>> key_of_literal(0), literal_of_key(-2)
    (-2, 0)
    """
    return ALWAYS_KEY - 1 - literal


@codec
def literal_of_key(key: Any) -> Any:
    """The literal of a key below `ALWAYS_KEY`."""
    return ALWAYS_KEY - 1 - key


@compiled
def node_facts(records, pushes, count, first):
    """What the program of a sweep depends on, for each of `count` nodes."""
    facts = np.empty((count, FACT_COLUMNS), np.int32)
    at = 0
    for node in range(count):
        header = records[at]
        inline, rest = header_inline(header), header_rest(header)
        nodes = 0
        for number in range(rest):
            nodes += reference_at(records, at + 1 + inline, number) >= first
        facts[node, NUMBER] = node
        facts[node, RECORD] = at
        facts[node, IS_AND] = header_is_and(header)
        facts[node, USED] = is_used(header)
        group = np.int64(-1)
        if header_is_root(header):
            group = np.int64(last_group(pushes, header_push(header)))
        facts[node, RULES] = group
        facts[node, LITERALS] = inline + rest - nodes
        facts[node, NODES] = nodes
        at = record_end(at, header)
    return facts


@compiled
def mark_needed(facts, records, first, needed):
    """Mark the nodes that those in `needed`, a byte per node, depend on."""
    node_of_state = np.empty(state_of_record(len(records)) + 1, np.int32)
    for node in range(len(facts)):
        node_of_state[state_of_record(facts[node, RECORD])] = node
    for node in range(len(facts) - 1, -1, -1):
        if needed[node]:
            at = np.int64(facts[node, RECORD])
            begin = at + 1 + header_inline(records[at])
            for number in range(header_rest(records[at])):
                ref = reference_at(records, begin, number)
                if ref >= first:
                    needed[node_of_state[state_of_record(ref - first)]] = 1


@inlined
def _mixed(key):
    """A hash of a key. Its high bits have to reach the low ones: keys may differ in these alone."""
    mixed = np.uint64(key)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) >> np.uint64(1))


@inlined
def _number_key(key, table, keys, found):
    """(the number of a key, how many there are now): keys are numbered as they are first met."""
    place = _mixed(key) & (len(table) - 1)
    while table[place] >= 0 and keys[table[place]] != key:
        place = (place + 1) & (len(table) - 1)
    if table[place] < 0:
        table[place] = found
        keys[found] = key
        found += 1
    return table[place], found


@compiled
def operands_of_nodes(facts, records, first, number_of_state, more, table):
    """(the distinct keys of literals, which of them each literal operand is, the new number of each
    operand that is a node), in the order of `facts`; the keys `more` come after those of nodes.
    `number_of_state` has the new number of each node by `state_of_record`.

    `table` is filled with -1 and has at least twice as many entries as there are distinct keys.
    """
    literals, nodes = len(more), 0
    for i in range(len(facts)):
        literals += facts[i, LITERALS]
        nodes += facts[i, NODES]
    keys = np.empty(len(table) // 2, np.int64)
    literal_key = np.empty(literals, np.int32)
    node_number = np.empty(nodes, np.int32)
    found, literals, nodes = 0, 0, 0
    for i in range(len(facts)):
        at = np.int64(facts[i, RECORD])
        inline_end = at + 1 + header_inline(records[at])
        for k in range(at + 1, inline_end):
            key = records[k]
            if is_several(key):
                key = key_of_literal(word_literal(key))
            literal_key[literals], found = _number_key(key, table, keys, found)
            literals += 1
        for number in range(header_rest(records[at])):
            ref = reference_at(records, inline_end, number)
            if ref >= first:
                node_number[nodes] = number_of_state[state_of_record(ref - first)]
                nodes += 1
                continue
            literal_key[literals], found = _number_key(key_of_literal(ref), table, keys, found)
            literals += 1
    for key in more:
        literal_key[literals], found = _number_key(key, table, keys, found)
        literals += 1
    return keys[:found].copy(), literal_key, node_number
