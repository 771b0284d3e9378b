"""Rule texts in bulk: compiled code finds the structure, the parser reads each predicate once.

`split` walks UTF-8 text and cuts it at `and`, `or`, `xor`, `xnor`, `not` and parentheses. What lies
between is a predicate's text; equal texts are one. It decides nothing about predicates: the
parser of the language reads each distinct one, and any rule with a text that it refuses, or that
uses more than is cut here (comments, variables, JSON, depth, size), is left to it whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.atoms import BETWEEN, EQ, GE, GT, IN, LE, LT
from matchwood.index.program import AND, NOT, OR, XNOR, XOR

MAX_BYTES = 1 << 16  # of a rule that is cut here
_LEVELS = 190
LEFT = -(1 << 31)  # the only word of a program that is left to the parser

_SPACE, _WORD, _QUOTE, _OPEN, _CLOSE, _OTHER, _LEAVE = range(7)

_CLASS = np.full(256, _OTHER, np.uint8)
for _byte in b" \t\n\r\f\v":
    _CLASS[_byte] = _SPACE
for _byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.":
    _CLASS[_byte] = _WORD
_CLASS[128:] = _WORD
_CLASS[ord("'")] = _CLASS[ord("`")] = _QUOTE
_CLASS[ord("(")], _CLASS[ord(")")] = _OPEN, _CLOSE
for _byte in b'?"{}[];':
    _CLASS[_byte] = _LEAVE
_CLASS.flags.writeable = False

Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]


def split(data: Bytes, offsets: Longs) -> tuple[NDArray[np.int32], Longs, Longs]:
    """(programs, their bounds, bounds of the distinct predicate texts).

    A word that is not an operator is the number of a predicate text.
    """
    rules = len(offsets) - 1
    words = np.empty(int(offsets[-1] - offsets[0]) + 2 * rules + 2, np.int32)
    ends = np.zeros(rules + 1, np.int64)
    table = np.full(1 << 16, -1, np.int32)
    texts = np.empty((1 << 15, 3), np.int64)  # start, end, hash
    frames = np.empty((_LEVELS + 2, 5), np.int64)
    count = np.zeros(1, np.int64)
    done = 0
    while True:
        done = _split(_CLASS, data, offsets, words, ends, table, texts, frames, count, done)
        if done == rules:
            break
        table, texts = _grown(table, texts, int(count[0]))
    return words[: ends[rules]].copy(), ends, texts[: count[0], :2].copy()


def _grown(table: NDArray[np.int32], texts: Longs, count: int) -> tuple[NDArray[np.int32], Longs]:
    larger = np.full(4 * len(table), -1, np.int32)
    _refill(larger, texts, count)
    return larger, np.concatenate([texts, np.empty((3 * len(texts), 3), np.int64)])


@compiled
def _refill(table, texts, count):
    mask = len(table) - 1
    for number in range(count):
        place = texts[number, 2] & mask
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = number


@compiled
def _keyword(data, low, high):
    """The connective or other word that matters, by its letters in any case; -1 for none."""
    size = high - low
    if size < 2 or size > 7:
        return -1
    a, b = data[low] | 32, data[low + 1] | 32
    if size == 2:
        return OR if a == 111 and b == 114 else -1  # or
    c = data[low + 2] | 32
    if size == 3:
        if a == 97 and b == 110 and c == 100:  # and
            return AND
        if a == 120 and b == 111 and c == 114:  # xor
            return XOR
        if a == 110 and b == 111 and c == 116:  # not
            return NOT
        return -1
    if size == 4:  # xnor
        if a == 120 and b == 110 and c == 111 and data[low + 3] | 32 == 114:
            return XNOR
        return -1
    if size == 7 and a == 98 and b == 101 and c == 116 and data[low + 3] | 32 == 119:
        if data[low + 4] | 32 == 101 and data[low + 5] | 32 == 101 and data[low + 6] | 32 == 110:
            return 100  # between
    return -1


@compiled
def _predicate_end(classes, data, at, end):
    """Where the predicate that starts at `at` ends, its trailing space left off; -1 to leave."""
    depth = 0
    last = at
    betweens = 0
    while at < end:
        kind = classes[data[at]]
        if kind == _SPACE:
            at += 1
            continue
        if kind == _LEAVE:
            return -1
        if kind == _WORD:
            low = at
            while at < end and classes[data[at]] == _WORD:
                at += 1
            if data[low] == 46 and not (at > low + 1 and 48 <= data[low + 1] <= 57):
                return -1  # a dot with space around it
            if data[at - 1] == 46 and not 48 <= data[low] <= 57:
                return -1
            if depth == 0:
                word = _keyword(data, low, at)
                if word == 100:
                    betweens += 1
                elif word == AND and betweens > 0:
                    betweens -= 1
                elif word == AND or word == OR or word == XOR or word == XNOR:
                    return last
            last = at
            continue
        if kind == _QUOTE:
            quote = data[at]
            at += 1
            while at < end and data[at] != quote:
                at += 1
            if at == end:
                return -1
            at += 1
            last = at
            continue
        if kind == _OPEN:
            depth += 1
        elif kind == _CLOSE:
            if depth == 0:
                return last
            depth -= 1
        elif data[at] == 45 and at + 1 < end and data[at + 1] == 45:
            return -1  # a comment
        at += 1
        last = at
    return last if depth == 0 else -1


@compiled
def _number(data, low, high, table, texts, count):
    """The number of a predicate text, new or known."""
    mixed = np.uint64(14695981039346656037)
    i = low
    while i + 4 <= high:
        four = np.uint64(data[i]) | np.uint64(data[i + 1]) << np.uint64(8)
        four |= np.uint64(data[i + 2]) << np.uint64(16) | np.uint64(data[i + 3]) << np.uint64(24)
        mixed = (mixed ^ four) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        i += 4
    while i < high:
        mixed = (mixed ^ np.uint64(data[i])) * np.uint64(1099511628211)
        i += 1
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    hashed = np.int64(mixed >> np.uint64(1))
    mask = len(table) - 1
    place = hashed & mask
    while table[place] >= 0:
        number = table[place]
        if texts[number, 2] == hashed and texts[number, 1] - texts[number, 0] == high - low:
            base = texts[number, 0]
            same = True
            for i in range(high - low):
                if data[base + i] != data[low + i]:
                    same = False
                    break
            if same:
                return number
        place = (place + 1) & mask
    number = count[0]
    table[place] = number
    texts[number, 0], texts[number, 1], texts[number, 2] = low, high, hashed
    count[0] += 1
    return number


@compiled
def _emit(operator, operands, words, at):
    words[at] = -(operands * 8 + operator) - 1
    return at + 1


@compiled
def _close(frame, words, at):
    """Close the chains of `and` and of xor and xnor; frame: ands, parities, operator, ors, nots."""
    if frame[0] > 1:
        at = _emit(AND, frame[0], words, at)
    frame[0] = 0
    if frame[2] >= 0:
        at = _emit(frame[2], frame[1] + 1, words, at)
        frame[1], frame[2] = 0, -1
    return at


@compiled
def _rule(classes, data, low, high, words, at, table, texts, frames, count):
    """The program of one rule from words[at] on; where it ends, or -1 to leave it."""
    top = 0
    levels = 0
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3], frames[0, 4] = 0, 0, -1, 0, 0
    i = low
    if high - low > MAX_BYTES:
        return -1
    while True:
        while i < high and classes[data[i]] == _SPACE:
            i += 1
        if i == high:
            return -1
        kind = classes[data[i]]
        if kind == _OPEN:
            top += 1
            levels += 1
            if levels >= _LEVELS:
                return -1
            frames[top, 0], frames[top, 1], frames[top, 2] = 0, 0, -1
            frames[top, 3], frames[top, 4] = 0, 0
            i += 1
            continue
        if kind == _WORD:
            end = i
            while end < high and classes[data[end]] == _WORD:
                end += 1
            if _keyword(data, i, end) == NOT:
                frames[top, 4] += 1
                levels += 1
                if levels >= _LEVELS:
                    return -1
                i = end
                continue
        elif kind == _CLOSE or kind == _LEAVE:
            return -1
        end = _predicate_end(classes, data, i, high)
        if end <= i:
            return -1
        words[at] = _number(data, i, end, table, texts, count)
        at += 1
        i = end
        while True:  # after an operand
            for _ in range(frames[top, 4]):
                at = _emit(NOT, 1, words, at)
            levels -= frames[top, 4]
            frames[top, 4] = 0
            frames[top, 0] += 1
            while i < high and classes[data[i]] == _SPACE:
                i += 1
            if i == high:
                if top > 0:
                    return -1
                at = _close(frames[0], words, at)
                if frames[0, 3] > 0:
                    at = _emit(OR, frames[0, 3] + 1, words, at)
                return at
            if classes[data[i]] == _CLOSE:
                if top == 0:
                    return -1
                at = _close(frames[top], words, at)
                if frames[top, 3] > 0:
                    at = _emit(OR, frames[top, 3] + 1, words, at)
                top -= 1
                levels -= 1
                i += 1
                continue
            break
        end = i
        while end < high and classes[data[end]] == _WORD:
            end += 1
        word = _keyword(data, i, end)
        i = end
        frame = frames[top]
        if word == AND:
            continue
        if word == OR:
            at = _close(frame, words, at)
            frame[3] += 1
        elif word == XOR or word == XNOR:
            if frame[0] > 1:
                at = _emit(AND, frame[0], words, at)
            frame[0] = 0
            frame[1] += 1
            if frame[2] >= 0 and frame[2] != word:
                at = _emit(frame[2], frame[1], words, at)
                frame[1] = 1
            frame[2] = word
        else:
            return -1


@compiled
def _split(classes, data, offsets, words, ends, table, texts, frames, count, done):
    """Rules from `done` on, until the table of predicate texts could overflow."""
    for rule in range(done, len(offsets) - 1):
        low, high = offsets[rule], offsets[rule + 1]
        if count[0] + (high - low) // 2 + 1 > min(len(texts), len(table) // 2):
            if high - low <= MAX_BYTES:
                return rule
        at = ends[rule]
        end = _rule(classes, data, low, high, words, at, table, texts, frames, count)
        if end < 0:
            words[at] = LEFT
            end = at + 1
        ends[rule + 1] = end
    return len(offsets) - 1


@compiled
def _integer(data, at, end):
    """(value, where it ends) of a plain integer of at most 18 digits; ends at -1 for none."""
    minus = at < end and data[at] == 45
    if minus:
        at += 1
    value = np.int64(0)
    low = at
    while at < end and 48 <= data[at] <= 57:
        value = value * 10 + (data[at] - 48)
        at += 1
    if at == low or at - low > 18 or (at < end and _CLASS[data[at]] == _WORD):
        return np.int64(0), np.int64(-1)
    return -value if minus else value, np.int64(at)


@compiled
def _skip(data, at, end):
    while at < end and _CLASS[data[at]] == _SPACE:
        at += 1
    return at


@compiled
def _word_end(data, at, end):
    while at < end and _CLASS[data[at]] == _WORD:
        at += 1
    return at


@compiled
def _one_simple(data, at, end, values, used):
    """(end of the name, op, negated, values used) of `name op integer` and the like; op -1."""
    none = (np.int64(0), np.int64(-1), np.int64(0), used)
    if at == end or _CLASS[data[at]] != _WORD or 48 <= data[at] <= 57 or data[at] >= 128:
        return none
    name_end = _word_end(data, at, end)
    for i in range(at, name_end):
        if data[i] >= 128 or (data[i] == 46 and (i == at or not (data[i + 1] | 32) >= 97)):
            return none
    i = _skip(data, name_end, end)
    if i == end:
        return none
    op, negated = np.int64(-1), np.int64(0)
    a = data[i]
    b = data[i + 1] if i + 1 < end else np.uint8(0)
    if a == 61:  # = ==
        op = EQ
        i += 2 if b == 61 else 1
    elif a == 33 and b == 61:  # !=
        op, negated = EQ, np.int64(1)
        i += 2
    elif a == 60:  # <> <= <
        op = EQ if b == 62 else (LE if b == 61 else LT)
        negated = np.int64(1 if b == 62 else 0)
        i += 2 if b == 62 or b == 61 else 1
    elif a == 62:  # >= >
        op = GE if b == 61 else GT
        i += 2 if b == 61 else 1
    if op >= 0:
        i = _skip(data, i, end)
        value, i = _integer(data, i, end)
        if i != end:
            return none
        values[used] = value
        return np.int64(name_end), op, negated, used + 1
    word_end = _word_end(data, i, end)
    if _keyword(data, i, word_end) == NOT:
        negated = np.int64(1)
        i = _skip(data, word_end, end)
        word_end = _word_end(data, i, end)
    if _keyword(data, i, word_end) == 100:
        low, i = _integer(data, _skip(data, word_end, end), end)
        if i < 0:
            return none
        i = _skip(data, i, end)
        word_end = _word_end(data, i, end)
        if _keyword(data, i, word_end) != AND:
            return none
        high, i = _integer(data, _skip(data, word_end, end), end)
        if i != end:
            return none
        values[used], values[used + 1] = low, high
        return np.int64(name_end), np.int64(BETWEEN), negated, used + 2
    if word_end - i != 2 or data[i] | 32 != 105 or data[i + 1] | 32 != 110:  # in
        return none
    i = _skip(data, word_end, end)
    if i == end or data[i] != 40:
        return none
    first = used
    while True:
        value, i = _integer(data, _skip(data, i + 1, end), end)
        if i < 0:
            return none[0], none[1], none[2], first
        values[used] = value
        used += 1
        i = _skip(data, i, end)
        if i == end or (data[i] != 44 and data[i] != 41):
            return none[0], none[1], none[2], first
        if data[i] == 41:
            if i + 1 != end:
                return none[0], none[1], none[2], first
            return np.int64(name_end), np.int64(IN), negated, used


@compiled
def simple(data, texts):
    """Predicate texts over plain integers, read without the parser.

    (columns: end of the name, op or -1, negated; bounds of values; values).
    """
    count = len(texts)
    columns = np.empty((count, 3), np.int64)
    bounds = np.zeros(count + 1, np.int64)
    room = 0
    for i in range(count):
        room += (texts[i, 1] - texts[i, 0]) // 2 + 2
    values = np.empty(room, np.int64)
    used = 0
    for i in range(count):
        name_end, op, negated, used = _one_simple(data, texts[i, 0], texts[i, 1], values, used)
        columns[i, 0], columns[i, 1], columns[i, 2] = name_end, op, negated
        bounds[i + 1] = used
    return columns, bounds, values[:used].copy()
