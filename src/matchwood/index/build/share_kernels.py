"""The passes that make shared nodes out of programs; `shared_nodes` explains them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.kernels.hash_entries import EMPTY, entry_number, may_be, pack_entry
from matchwood.kernels.programs import (
    ALWAYS,
    AND,
    FALSE,
    GUARD,
    NEVER,
    NOT,
    OR,
    TRUE,
    XNOR,
    XOR,
    negation_of,
    operands_of,
    operator_of,
)
from matchwood.kernels.sorting import sort_items

_SEED = np.uint64(14695981039346656037)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

# The bit of `need` for a part that is needed as it is.
_POSITIVE = 1

# The bit of `need` for a part that is needed negated.
_NEGATIVE = 2


# Nodes and operands that one operand of `xor` or `xnor` makes, at most; those of other operators
# make fewer.
_NODES_PER_WORD = 6
_OPERANDS_PER_WORD = 12

# What the numbers in `progress` are: rules that are done, and nodes that are made.
PROGRESS_NUMBERS = 2
RULES_DONE, NODES_MADE = range(PROGRESS_NUMBERS)


@lean
def node_bounds(program, rule_start):
    """Upper bounds: nodes, operands of all nodes, and the work space of one rule."""
    nodes = np.int64(1)
    operands = np.int64(1)
    widest = np.int64(1)
    for rule in range(len(rule_start) - 1):
        widest = max(widest, rule_start[rule + 1] - rule_start[rule])
        for at in range(rule_start[rule], rule_start[rule + 1]):
            word = program[at]
            if word < 0:
                count = operands_of(word)
                operator = operator_of(word)
                if operator == XOR or operator == XNOR:
                    nodes += _NODES_PER_WORD * count
                    operands += _OPERANDS_PER_WORD * count
                else:
                    nodes += 2
                    operands += 2 * count
    return nodes, operands, widest


@compiled
def count_uses(start, operands, roots, first):
    """How many nodes and rules use each node."""
    uses = np.zeros(len(start) - 1, np.int32)
    for i in range(start[len(start) - 1]):
        if operands[i] >= first:
            uses[operands[i] - first] += 1
    for ref in roots:
        if ref >= first:
            uses[ref - first] += 1
    return uses


@inlined
def _apart(ref, op, operator, uses, first):
    """Whether an operand is taken apart: a node of the same operator that nothing else uses."""
    return ref >= first and operator[ref - first] == op and uses[ref - first] < 2


@lean
def operands_taken_apart(operator, start, operands, uses, first, size):
    """How many operands all nodes have once they are reorganised, at most; and each, in `size`."""
    total = np.int64(0)
    for node in range(len(operator)):
        size[node] = 0
        for i in range(start[node], start[node + 1]):
            ref = operands[i]
            if _apart(ref, operator[node], operator, uses, first):
                size[node] += size[ref - first]
            else:
                size[node] += 1
        total += size[node]
    return total


@lean
def reorganise_nodes(
    operator, start, operands, uses, first, table, new_operator, new_start, new_operands, roots,
    mapped, items,
):  # fmt: skip
    """Every node again, smaller ones taken apart or reused; roots are mapped in place.

    `mapped` has room for a reference per node, and `items` for the operands of any node.
    """
    count = np.int64(0)
    for node in range(len(operator)):
        size = 0
        for i in range(start[node], start[node + 1]):
            ref = np.int64(operands[i])
            if ref >= first:
                mine = mapped[ref - first]
                if _apart(ref, operator[node], operator, uses, first) and mine >= first:
                    inner = mine - first
                    if new_operator[inner] == operator[node]:
                        for j in range(new_start[inner], new_start[inner + 1]):
                            items[size] = new_operands[j]
                            size += 1
                        continue
                ref = mine
            items[size] = ref
            size += 1
        mapped[node], count = _close(
            operator[node], items, 0, size, table, new_operator, new_start, new_operands, count,
            first,
        )  # fmt: skip
    for rule in range(len(roots)):
        if roots[rule] >= first:
            roots[rule] = mapped[roots[rule] - first]
    return count


@compiled
def live_nodes(operator, start, operands, roots, first):
    """Only the nodes that a rule reaches, numbered anew; roots are mapped in place."""
    count = len(operator)
    number = np.full(count, -1, np.int64)
    for ref in roots:
        if ref >= first:
            number[ref - first] = 0
    for node in range(count - 1, -1, -1):
        if number[node] == 0:
            for i in range(start[node], start[node + 1]):
                if operands[i] >= first:
                    number[operands[i] - first] = 0
    live = 0
    room = 0
    for node in range(count):
        if number[node] == 0:
            number[node] = live
            live += 1
            room += start[node + 1] - start[node]
    new_operator = np.empty(live, np.uint8)
    new_start = np.zeros(live + 1, np.int64)
    new_operands = np.empty(room, np.int32)
    at = 0
    for node in range(count):
        if number[node] >= 0:
            new_operator[number[node]] = operator[node]
            for i in range(start[node], start[node + 1]):
                ref = operands[i]
                new_operands[at] = ref if ref < first else first + number[ref - first]
                at += 1
            new_start[number[node] + 1] = at
    new_roots = np.empty(len(roots), np.int32)
    for rule in range(len(roots)):
        ref = roots[rule]
        new_roots[rule] = ref if ref < first else first + number[ref - first]
    return new_operator, new_start, new_operands, new_roots


@inlined
def _is_node(node, op, items, low, size, operator, start, kept):
    """Whether a node is `op` over items[low:low + size]."""
    base = start[node]
    if operator[node] != op or start[node + 1] - base != size:
        return False
    for i in range(size):
        if kept[base + i] != items[low + i]:
            return False
    return True


@inlined
def _hash(op, items, low, high):
    mixed = _SEED + np.uint64(op)
    for i in range(low, high):
        mixed = (mixed ^ np.uint64(items[i])) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) >> np.uint64(1))


@lean
def refill_table(table, operator, start, kept, count):
    """Enter the first `count` nodes into an empty hash table."""
    mask = len(table) - 1
    for node in range(count):
        hashed = _hash(operator[node], kept, start[node], start[node + 1])
        place = hashed & mask
        while table[place] != EMPTY:
            place = (place + 1) & mask
        table[place] = pack_entry(hashed, node)


@inlined
def _intern(op, items, low, high, table, operator, start, kept, count, first):
    """The node `op` over items[low:high] (sorted, unique, two or more), made if it is new.

    Returns (reference, count of nodes).
    """
    hashed = _hash(op, items, low, high)
    mask = len(table) - 1
    place = hashed & mask
    size = high - low
    while table[place] != EMPTY:
        if may_be(table[place], hashed):
            node = entry_number(table[place])
            if _is_node(node, op, items, low, size, operator, start, kept):
                return np.int64(first + node), count
        place = (place + 1) & mask
    table[place] = pack_entry(hashed, count)
    operator[count] = op
    base = start[count]
    for i in range(size):
        kept[base + i] = items[low + i]
    start[count + 1] = base + size
    return np.int64(first + count), count + 1


@lean
def _close(op, items, low, high, table, operator, start, kept, count, first):
    """The reference of `op` over items[low:high]: sorted, deduped, constants folded."""
    absorbing = NEVER if op == AND else ALWAYS
    neutral = ALWAYS if op == AND else NEVER
    sort_items(items, low, high)
    kept_to = low
    for i in range(low, high):
        value = items[i]
        if value == absorbing:
            return np.int64(absorbing), count
        if value == neutral or (kept_to > low and items[kept_to - 1] == value):
            continue
        items[kept_to] = value
        kept_to += 1
    if kept_to == low:
        return np.int64(neutral), count
    if kept_to == low + 1:
        return items[low], count
    return _intern(op, items, low, kept_to, table, operator, start, kept, count, first)


@lean
def _pair(op, a, b, items, table, operator, start, kept, count, first):
    items[0] = a
    items[1] = b
    return _close(op, items, 0, 2, table, operator, start, kept, count, first)


@lean
def share_programs(
    program, rule_start, first, table, operator, start, kept, roots, work, progress
):  # fmt: skip
    """Rules from progress[RULES_DONE] on, until the table could overflow: first which polarities of
    each part are needed, then their nodes.

    The rows of `work` are scratch: the polarities and sizes of parts, the references of the parts
    read so far, one stack per polarity, and operands.
    """
    need, size, positive, negative, left, right, two = work
    count = progress[NODES_MADE]
    for rule in range(progress[RULES_DONE], len(roots)):
        low = rule_start[rule]
        length = rule_start[rule + 1] - low
        progress[RULES_DONE], progress[NODES_MADE] = rule, count
        if 2 * (count + _NODES_PER_WORD * length) > len(table):
            return
        _needs(program, low, length, need, size)
        depth = 0
        for i in range(length):
            word = program[low + i]
            op = operator_of(word) if word < 0 else -1
            arity = operands_of(word) if word < 0 else 0
            base = depth - arity
            if op < 0:
                positive[depth], negative[depth] = word, negation_of(word)
            elif op == TRUE or op == FALSE:
                positive[depth] = ALWAYS if op == TRUE else NEVER
                negative[depth] = NEVER if op == TRUE else ALWAYS
            elif op == NOT:
                positive[base], negative[base] = negative[base], positive[base]
            elif op == GUARD:
                # whatever the polarity, the guards are to be true
                for j in range(base, depth - 1):
                    negative[j] = positive[j]
                positive[base], count = _close(
                    AND, positive, base, depth, table, operator, start, kept, count, first
                )
                negative[base], count = _close(
                    AND, negative, base, depth, table, operator, start, kept, count, first
                )
            elif op == AND or op == OR:
                # both stacks are cut back to `base`, so that operands may be sorted in place
                if need[i] & _POSITIVE:
                    positive[base], count = _close(
                        op, positive, base, depth, table, operator, start, kept, count, first
                    )
                if need[i] & _NEGATIVE:
                    negative[base], count = _close(
                        AND + OR - op, negative, base, depth, table, operator, start, kept, count,
                        first,
                    )  # fmt: skip
            elif need[i]:
                for j in range(arity):
                    left[j], right[j] = positive[base + j], negative[base + j]
                flips = (arity - 1) & 1 if op == XNOR else 0
                wanted = need[i] if flips == 0 else (need[i] >> 1) | ((need[i] & 1) << 1)
                count = _parity(
                    arity, wanted, left, right, two, table, operator, start, kept, count, first
                )
                positive[base] = left[0] if flips == 0 else right[0]
                negative[base] = right[0] if flips == 0 else left[0]
            depth = base + 1
        roots[rule] = positive[0]
    progress[RULES_DONE], progress[NODES_MADE] = len(roots), count


@lean
def _needs(program, low, length, need, size):
    """Which polarities of each part of a rule are needed, from its root down."""
    for i in range(length):
        word = program[low + i]
        size[i] = 1
        need[i] = 0
        if word < 0:
            child = i - 1
            for _ in range(operands_of(word)):
                size[i] += size[child]
                child -= size[child]
    need[length - 1] = _POSITIVE
    for i in range(length - 1, -1, -1):
        word = program[low + i]
        if word >= 0:
            continue
        op = operator_of(word)
        wanted = need[i]
        if op == NOT:
            wanted = (wanted >> 1) | ((wanted & 1) << 1)
        elif op == XOR or op == XNOR:
            wanted = _POSITIVE | _NEGATIVE if wanted else 0
        child = i - 1
        for _ in range(operands_of(word)):
            need[child] |= wanted
            child -= size[child]


@lean
def _parity(width, wanted, left, right, two, table, operator, start, kept, count, first):
    """xor of the pairs (left, right), joined two by two; the result is left[0], right[0]."""
    while width > 1:
        inner = width > 2
        half = 0
        for j in range(0, width - 1, 2):
            p1, n1, p2, n2 = left[j], right[j], left[j + 1], right[j + 1]
            p, n = np.int64(NEVER), np.int64(NEVER)
            if inner or wanted & _POSITIVE:
                a, count = _pair(AND, p1, n2, two, table, operator, start, kept, count, first)
                b, count = _pair(AND, n1, p2, two, table, operator, start, kept, count, first)
                p, count = _pair(OR, a, b, two, table, operator, start, kept, count, first)
            if inner or wanted & _NEGATIVE:
                a, count = _pair(AND, p1, p2, two, table, operator, start, kept, count, first)
                b, count = _pair(AND, n1, n2, two, table, operator, start, kept, count, first)
                n, count = _pair(OR, a, b, two, table, operator, start, kept, count, first)
            left[half], right[half] = p, n
            half += 1
        if width & 1:
            left[half], right[half] = left[width - 1], right[width - 1]
            half += 1
        width = half
    return count
