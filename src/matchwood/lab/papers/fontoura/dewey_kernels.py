"""Kernels of Dewey ID: writing and reading the IDs of leaves, and evaluation by them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.compiled import codec, compiled, inlined, lean
from matchwood.kernels.programs import AND, operands_of, operator_of

# Bits of an ID inside an annotation, and of a word of the table of long IDs.
_BITS = 32

# The number of valid bits that an ID outside the table starts with: more than is ever read.
_ENOUGH = 1 << 20

# Columns of an operator that `annotate` is inside of: the operator, how many operands it has, and
# how many of them were begun.
_OPERATOR, _OPERANDS, _BEGUN = range(3)


@codec
def pack_short(operand: Any, bits: Any) -> Any:
    """An entry of the table of short operands: | operand: 4 bits | bits that it takes: 4 bits |."""
    return operand << 4 | bits


@codec
def unpack_short(entry: Any) -> Any:
    """(operand, bits) of an entry of the table of short operands."""
    return entry >> 4, entry & 15


@codec
def pack_leaf(rule, dewey_id):
    """The annotation of a leaf: | rule: 32 bits | its ID, or where the table has it: 32 bits |."""
    return np.uint64(rule) << np.uint64(_BITS) | np.uint64(dewey_id)


@codec
def rule_of(leaf):
    """The rule of an annotation."""
    return np.int64(leaf >> np.uint64(_BITS))


@codec
def pack_step(operand: Any, is_marked: Any) -> Any:
    """A step of a path: which operand it leads to, and whether it has the paper's *, 0 or 1."""
    return 2 * operand + is_marked


@codec
def unpack_step(step: Any) -> Any:
    """(operand, is_marked) of a step."""
    return step >> 1, step & 1


@compiled
def annotate(words, start, out):
    """Write the annotations of all leaves; returns the table of long IDs and the longest length."""
    widest = 0
    for rule in range(len(start) - 1):
        widest = max(widest, start[rule + 1] - start[rule])
    path = np.empty(widest + 2, np.int32)
    stack = np.empty((widest + 1, 3), np.int64)
    table = np.zeros(64, np.uint32)
    used, leaf, longest = 0, 0, 0
    for rule in range(len(start) - 1):
        first = leaf
        fits = True
        for long in range(2):  # once more, into the table, if an ID is too long
            if long and fits:
                break
            leaf = first
            top, base = 0, 0
            if start[rule] < start[rule + 1] and _operator(words[start[rule]]) != AND:
                path[0] = pack_step(1, 1)  # an AND is put on top of all else: 1*
                base = 1
            for at in range(start[rule], start[rule + 1]):
                if top > 0:
                    stack[top - 1, _BEGUN] += 1
                    operand = stack[top - 1, _BEGUN]
                    is_last = operand == stack[top - 1, _OPERANDS]
                    path[base + top - 1] = pack_step(
                        operand, is_last and stack[top - 1, _OPERATOR] == AND
                    )
                if words[at] < 0:
                    stack[top, _OPERATOR] = operator_of(words[at])
                    stack[top, _OPERANDS] = operands_of(words[at])
                    stack[top, _BEGUN] = 0
                    top += 1
                    continue
                length = base + top
                longest = max(longest, length)
                if used + length * 2 + 4 > len(table):
                    table = _larger(table, used + length * 2 + 4)
                bits = _pack(path, length, table, used)
                packed = table[used]
                if long:
                    packed = used
                    used += bits // _BITS + 1
                fits = fits and bits <= _BITS
                out[leaf] = pack_leaf(rule, packed)
                leaf += 1
                while top > 0 and stack[top - 1, _BEGUN] == stack[top - 1, _OPERANDS]:
                    top -= 1
    return table[: used + 2].copy(), longest


@inlined
def _operator(word):
    return operator_of(word) if word < 0 else -1


@compiled
def _larger(array, least):
    larger = np.zeros(2 * least, array.dtype)
    larger[: len(array)] = array
    return larger


@lean
def _pack(path, length, table, at):
    """Write the ID of a path from table[at] on, with zeros behind it; how many bits it takes.

    A step takes at most two words of the table: operands are below 2 ** 31.
    """
    window = np.uint64(0)  # its upper bits are not yet written
    valid, bits = 0, 0
    for level in range(length):
        operand, is_marked = unpack_step(path[level])
        digits = 0
        while operand >> digits:
            digits += 1
        below = operand & ((1 << (digits - 1)) - 1)
        marks = level & 1 == 0
        for part in range(2):  # the ones and a zero, then the digits and the mark
            if part == 0:
                value, width = (1 << (digits + 1)) - 2, digits + 1
            elif marks:
                value, width = 2 * below + is_marked, digits
            else:
                value, width = below, digits - 1
            if width > 0:
                window |= np.uint64(value) << np.uint64(64 - valid - width)
            valid += width
            bits += width
            if valid >= _BITS:
                table[at] = window >> np.uint64(_BITS)
                window <<= np.uint64(_BITS)
                valid -= _BITS
                at += 1
    table[at] = window >> np.uint64(_BITS)
    return bits


@inlined
def open_id(word, table):
    """Where to read on in the table, the next bits of an ID from the highest on, and how many."""
    low = word << np.uint64(_BITS)
    if low >> np.uint64(63):
        return np.int64(0), low, np.int64(_ENOUGH)
    at = np.int64(low >> np.uint64(_BITS))
    window = np.uint64(table[at]) << np.uint64(_BITS)
    return at + 2, window | np.uint64(table[at + 1]), np.int64(64)


@inlined
def next_step(at, window, valid, table, short, marks):
    """The next step, as `pack_step` packs it, and what is read after it; 33 bits or more are
    valid."""
    operand, bits = unpack_short(np.int64(short[window >> np.uint64(56)]))
    if operand:
        window <<= np.uint64(bits)
        valid -= bits
    else:
        digits = np.int64(0)
        while window >> np.uint64(63):
            digits += 1
            window <<= np.uint64(1)
        window <<= np.uint64(1)
        valid -= digits + 1
        at, window, valid = _refill(at, window, valid, table)
        below = np.int64(window >> np.uint64(65 - digits))
        operand = (np.int64(1) << (digits - 1)) | below
        window <<= np.uint64(digits - 1)
        valid -= digits - 1
    is_marked = np.int64(0)
    if marks:
        is_marked = np.int64(window >> np.uint64(63))
        window <<= np.uint64(1)
        valid -= 1
    at, window, valid = _refill(at, window, valid, table)
    return pack_step(operand, is_marked), at, window, valid


@inlined
def _refill(at, window, valid, table):
    if valid <= _BITS:
        if at < len(table):
            window |= np.uint64(table[at]) << np.uint64(_BITS - valid)
        at += 1
        valid += _BITS
    return at, window, valid


@lean
def evaluate(annotations, table, short, levels, out):
    """Algorithms 1–3 for one rule after the other: the rules that are true, and rules seen.

    A level of the path that is being followed has its step, whether its node is true as far as it
    has been explored, the operands explored and whether the last of them was marked: what the
    recursion holds in its calls. Even levels are ANDs. IDs below a node that is decided, an AND
    that is false or an OR that is true, are not read to their end. `short` is the table of short
    operands.
    """
    path, result, explored, marked = levels
    match_count, seen, length = 0, 0, 0
    rule = np.int64(-1)
    for word in annotations:
        leaf_rule = rule_of(word)
        if leaf_rule != rule:
            if rule >= 0 and _close(result, marked, length, 0):
                out[match_count] = rule
                match_count += 1
            rule = leaf_rule
            seen += 1
            length = 0
            result[0], explored[0], marked[0] = 1, 0, 0
        at, window, valid = open_id(word, table)
        level = 0
        known = True  # the path so far is the one that is being followed
        while result[level] != level & 1:
            step, at, window, valid = next_step(at, window, valid, table, short, level & 1 == 0)
            if known and level < length and path[level] == step:
                level += 1
                continue
            if known:
                _close(result, marked, length, level)
                known = False
            path[level] = step
            length = level + 1
            leaf = window >> np.uint64(63) == 0
            if level & 1:
                result[level] |= leaf
            else:
                explored[level] += 1
                operand, marked[level] = unpack_step(step)
                result[level] &= operand == explored[level]
            if leaf or result[level] == level & 1:
                break
            level += 1
            result[level], explored[level], marked[level] = 1 - (level & 1), 0, 0
    if rule >= 0 and _close(result, marked, length, 0):
        out[match_count] = rule
        match_count += 1
    return match_count, seen


@lean
def _close(result, marked, length, shared):
    """Close the nodes below level `shared`, each passing its result up; returns whether that level
    is true."""
    for level in range(length - 1, shared, -1):
        if level & 1:
            result[level - 1] &= result[level]
        else:
            result[level - 1] |= result[level] & marked[level]
    return result[shared] & (marked[shared] | (shared & 1))
