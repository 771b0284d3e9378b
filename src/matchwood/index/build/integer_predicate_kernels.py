"""Reading predicate texts over plain integers, such as `a between 1 and 9`, without the parser."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.index.build.predicate_text_kernels import TEXT_END, TEXT_START, hash_text
from matchwood.index.build.word_kernels import (
    BETWEEN_WORD,
    BYTE_CLASSES,
    WORD,
    keyword,
    skip_space,
    word_end,
)
from matchwood.kernels.compiled import compiled, inlined
from matchwood.kernels.predicate_codes import BETWEEN, EQ, GE, GT, IN, LE, LT
from matchwood.kernels.programs import AND, NOT
from matchwood.kernels.sorting import sort_items

# Columns of what `read_integer_predicates` returns: where the name ends, its hash, the predicate
# (-1: it has to be parsed), and whether it is negated.
INTEGER_COLUMNS = 4
NAME_END, NAME_HASH, PREDICATE, NEGATED = range(INTEGER_COLUMNS)

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _integer(data, at, end):
    """(value, end) of a plain integer of at most 18 digits; the end is -1 if there is none."""
    minus = at < end and data[at] == 45
    if minus:
        at += 1
    value = np.int64(0)
    low = at
    while at < end and 48 <= data[at] <= 57:
        value = value * 10 + (data[at] - 48)
        at += 1
    if at == low or at - low > 18 or (at < end and BYTE_CLASSES[data[at]] == WORD):
        return np.int64(0), np.int64(-1)
    return -value if minus else value, np.int64(at)


@inlined
def _name_end(data, at, end):
    """Where the plain name of an attribute ends, -1 if there is none."""
    if at == end or BYTE_CLASSES[data[at]] != WORD or 48 <= data[at] <= 57:
        return -1
    name_end = word_end(BYTE_CLASSES, data, at, end)
    for i in range(at, name_end):
        if data[i] >= 128 or (data[i] == 46 and (i == at or not (data[i + 1] | 32) >= 97)):
            return -1
    return name_end


@inlined
def _comparison(data, i, end):
    """(predicate, negated, end) of a sign of comparison; the predicate is -1 if there is none."""
    a = data[i]
    b = data[i + 1] if i + 1 < end else np.uint8(0)
    if a == 61:  # = ==
        return EQ, 0, i + (2 if b == 61 else 1)
    if a == 33 and b == 61:  # !=
        return EQ, 1, i + 2
    if a == 60 and b == 62:  # <>
        return EQ, 1, i + 2
    if a == 60:  # <= <
        return (LE, 0, i + 2) if b == 61 else (LT, 0, i + 1)
    if a == 62:  # >= >
        return (GE, 0, i + 2) if b == 61 else (GT, 0, i + 1)
    return -1, 0, i


@inlined
def _two_bounds(data, i, end, values, used):
    """Read `integer and integer`; returns how many values are used then, -1 if it is not that."""
    low, i = _integer(data, skip_space(BYTE_CLASSES, data, i, end), end)
    if i < 0:
        return -1
    i = skip_space(BYTE_CLASSES, data, i, end)
    after = word_end(BYTE_CLASSES, data, i, end)
    if keyword(data, i, after) != AND:
        return -1
    high, i = _integer(data, skip_space(BYTE_CLASSES, data, after, end), end)
    if i != end:
        return -1
    values[used], values[used + 1] = low, high
    return used + 2


@inlined
def _integers(data, i, end, values, used):
    """Read `(integer, …)`; returns how many values are used then, -1 if it is not that."""
    i = skip_space(BYTE_CLASSES, data, i, end)
    if i == end or data[i] != 40:
        return -1
    while True:
        value, i = _integer(data, skip_space(BYTE_CLASSES, data, i + 1, end), end)
        if i < 0:
            return -1
        values[used] = value
        used += 1
        i = skip_space(BYTE_CLASSES, data, i, end)
        if i == end or (data[i] != 44 and data[i] != 41):
            return -1
        if data[i] == 41:
            return used if i + 1 == end else -1


@compiled
def _distinct(values, low, high):
    """Sort values[low:high] and keep each once; where they end then."""
    sort_items(values, low, high)
    kept = low + 1
    for i in range(low + 1, high):
        if values[i] != values[kept - 1]:
            values[kept] = values[i]
            kept += 1
    return kept


@compiled
def _one_simple(data, at, end, values, used):
    """(end of the name, predicate, negated, values used) of `name op integer` and the like; the
    predicate is -1 if the text is not of that kind."""
    none = (0, -1, 0, used)
    name_end = _name_end(data, at, end)
    if name_end < 0:
        return none
    i = skip_space(BYTE_CLASSES, data, name_end, end)
    if i == end:
        return none
    op, negated, sign_end = _comparison(data, i, end)
    if op >= 0:
        value, i = _integer(data, skip_space(BYTE_CLASSES, data, sign_end, end), end)
        if i != end:
            return none
        values[used] = value
        return name_end, op, negated, used + 1
    after = word_end(BYTE_CLASSES, data, i, end)
    if keyword(data, i, after) == NOT:
        negated = 1
        i = skip_space(BYTE_CLASSES, data, after, end)
        after = word_end(BYTE_CLASSES, data, i, end)
    if keyword(data, i, after) == BETWEEN_WORD:
        op = BETWEEN
        read = _two_bounds(data, after, end, values, used)
    elif after - i == 2 and data[i] | 32 == 105 and data[i + 1] | 32 == 110:  # in
        op = IN
        read = _integers(data, after, end, values, used)
        if read >= 0:
            read = _distinct(values, used, read)
            if read == used + 1:
                op = EQ
    else:
        return none
    return (name_end, op, negated, read) if read >= 0 else none


@compiled
def read_integer_predicates(data, texts):
    """Read predicate texts over plain integers without the parser.

    Returns columns, which are named above, the bounds of the values of each predicate, and values;
    those of a list are sorted and distinct.
    """
    count = len(texts)
    columns = np.empty((count, INTEGER_COLUMNS), np.int64)
    bounds = np.zeros(count + 1, np.int64)
    room = 0
    for i in range(count):
        room += (texts[i, TEXT_END] - texts[i, TEXT_START]) // 2 + 2
    values = np.empty(room, np.int64)
    used = 0
    for i in range(count):
        start, end = texts[i, TEXT_START], texts[i, TEXT_END]
        name_end, op, negated, used = _one_simple(data, start, end, values, used)
        columns[i, NAME_END], columns[i, PREDICATE], columns[i, NEGATED] = name_end, op, negated
        columns[i, NAME_HASH] = hash_text(data, start, name_end) if op >= 0 else 0
        bounds[i + 1] = used
    return columns, bounds, values[:used].copy()


@inlined
def _hash_predicate(axis, op, values, low, high):
    mixed = np.uint64(axis) * _FACTOR ^ np.uint64(op)
    for i in range(low, high):
        mixed = (mixed ^ np.uint64(values[i])) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@compiled
def number_integer_atoms(axis, op, bounds, values):
    """Numbers for predicates of which `axis` is not below zero, equal ones the same, and -1 for the
    others; and the predicate that each number was first given to."""
    count = len(axis)
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.full(size, -1, np.int32)
    numbers = np.full(count, -1, np.int64)
    chosen = np.empty(count, np.int64)
    found = 0
    for i in range(count):
        if axis[i] < 0:
            continue
        low, high = bounds[i], bounds[i + 1]
        place = _hash_predicate(axis[i], op[i], values, low, high) & (size - 1)
        while table[place] >= 0:
            other = chosen[table[place]]
            same = axis[other] == axis[i] and op[other] == op[i]
            same = same and bounds[other + 1] - bounds[other] == high - low
            if same:
                for j in range(high - low):
                    if values[bounds[other] + j] != values[low + j]:
                        same = False
                        break
            if same:
                break
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = found
            chosen[found] = i
            found += 1
        numbers[i] = table[place]
    return numbers, chosen[:found].copy()
