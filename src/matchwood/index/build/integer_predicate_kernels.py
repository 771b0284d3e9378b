"""Reading predicate texts over plain integers, such as `a between 1 and 9`, without the parser."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.index.build.text_kernels import TEXT_END, TEXT_START
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

# Columns of what `read_integer_predicates` returns: where the name ends, the predicate (-1: it has
# to be parsed), and whether it is negated.
_COLUMNS = 3
_NAME_END, _PREDICATE, _NEGATED = range(_COLUMNS)


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
    else:
        return none
    return (name_end, op, negated, read) if read >= 0 else none


@compiled
def read_integer_predicates(data, texts):
    """Read predicate texts over plain integers without the parser.

    Returns columns (end of the name, predicate or -1, negated), the bounds of values, and values.
    """
    count = len(texts)
    columns = np.empty((count, _COLUMNS), np.int64)
    bounds = np.zeros(count + 1, np.int64)
    room = 0
    for i in range(count):
        room += (texts[i, TEXT_END] - texts[i, TEXT_START]) // 2 + 2
    values = np.empty(room, np.int64)
    used = 0
    for i in range(count):
        start, end = texts[i, TEXT_START], texts[i, TEXT_END]
        name_end, op, negated, used = _one_simple(data, start, end, values, used)
        columns[i, _NAME_END], columns[i, _PREDICATE], columns[i, _NEGATED] = name_end, op, negated
        bounds[i + 1] = used
    return columns, bounds, values[:used].copy()
