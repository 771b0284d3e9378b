"""Cutting rule texts into operators and predicate texts.

Two arrays have rows of int64, whose columns are named below:

    texts    | start | end | hash |                           one row per distinct predicate text
    frames   | ands | chain | chain operator | ors | nots |   one row per open parenthesis
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.index.build.word_kernels import (
    BETWEEN_WORD,
    CLOSE,
    LEAVE,
    OPEN,
    QUOTE,
    SPACE,
    WORD,
    keyword,
    skip_space,
    word_end,
)
from matchwood.kernels.compiled import compiled, inlined
from matchwood.kernels.programs import AND, NOT, OR, XNOR, XOR, pack_operator

# Bytes of the longest rule that is cut here; longer ones are left to the parser.
MAX_BYTES = 1 << 16

# Parentheses and `not`s that may be open at once; deeper rules are left to the parser.
MOST_LEVELS = 190

# The only word in the program of a rule that is left to the parser.
LEFT = -(1 << 31)

# Columns of `texts`: the bytes that the text lies between, and its hash.
TEXT_COLUMNS = 3
TEXT_START, TEXT_END, TEXT_HASH = range(TEXT_COLUMNS)

# Columns of `frames`: the operands of `and` so far, the operators of the chain of `xor` or `xnor`,
# which of the two these are (-1: none), the operators of `or`, and the `not`s before the next
# operand.
FRAME_COLUMNS = 5
_ANDS, _CHAIN, _CHAIN_OPERATOR, _ORS, _NOTS = range(FRAME_COLUMNS)


@compiled
def refill_table(table, texts, count):
    """Enter the first `count` texts into an empty hash table."""
    mask = len(table) - 1
    for number in range(count):
        bucket = texts[number, TEXT_HASH] & mask
        while table[bucket] >= 0:
            bucket = (bucket + 1) & mask
        table[bucket] = number


@compiled
def _predicate_end(classes, data, at, end):
    """Where the predicate that starts at `at` ends, without trailing space; -1 to leave the rule to
    the parser."""
    depth = 0
    last = at
    betweens = 0
    while at < end:
        kind = classes[data[at]]
        if kind == SPACE:
            at += 1
            continue
        if kind == LEAVE:
            return -1
        if kind == WORD:
            low = at
            while at < end and classes[data[at]] == WORD:
                at += 1
            if data[low] == 46 and not (at > low + 1 and 48 <= data[low + 1] <= 57):
                return -1  # a dot with space around it
            if data[at - 1] == 46 and not 48 <= data[low] <= 57:
                return -1
            if depth == 0:
                word = keyword(data, low, at)
                if word == BETWEEN_WORD:
                    betweens += 1
                elif word == AND and betweens > 0:
                    betweens -= 1
                elif word == AND or word == OR or word == XOR or word == XNOR:
                    return last
            last = at
            continue
        if kind == QUOTE:
            quote = data[at]
            at += 1
            while at < end and data[at] != quote:
                at += 1
            if at == end:
                return -1
            at += 1
            last = at
            continue
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE:
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
    """The number of a predicate text, which is added if it is new."""
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
    bucket = hashed & mask
    while table[bucket] >= 0:
        number = table[bucket]
        base = texts[number, TEXT_START]
        if texts[number, TEXT_HASH] == hashed and texts[number, TEXT_END] - base == high - low:
            same = True
            for i in range(high - low):
                if data[base + i] != data[low + i]:
                    same = False
                    break
            if same:
                return number
        bucket = (bucket + 1) & mask
    number = count[0]
    table[bucket] = number
    texts[number, TEXT_START], texts[number, TEXT_END], texts[number, TEXT_HASH] = low, high, hashed
    count[0] += 1
    return number


@compiled
def _emit(operator, operands, words, at):
    words[at] = pack_operator(operator, operands)
    return at + 1


@compiled
def _close(frame, words, at):
    """Close the open chains of `and`, and of `xor` or `xnor`."""
    if frame[_ANDS] > 1:
        at = _emit(AND, frame[_ANDS], words, at)
    frame[_ANDS] = 0
    if frame[_CHAIN_OPERATOR] >= 0:
        at = _emit(frame[_CHAIN_OPERATOR], frame[_CHAIN] + 1, words, at)
        frame[_CHAIN], frame[_CHAIN_OPERATOR] = 0, -1
    return at


@inlined
def _open_frame(frames, top):
    frames[top, _ANDS], frames[top, _CHAIN], frames[top, _CHAIN_OPERATOR] = 0, 0, -1
    frames[top, _ORS], frames[top, _NOTS] = 0, 0


@inlined
def _before_operand(classes, data, i, high, frames, top, levels):
    """Read parentheses and `not`s: (where the predicate after them starts, top frame, open levels);
    it starts at -1 to leave the rule to the parser."""
    while True:
        i = skip_space(classes, data, i, high)
        if i == high:
            return -1, top, levels
        kind = classes[data[i]]
        if kind == OPEN:
            top += 1
            _open_frame(frames, top)
            i += 1
        elif kind == CLOSE or kind == LEAVE:
            return -1, top, levels
        else:
            end = word_end(classes, data, i, high)
            if keyword(data, i, end) != NOT:
                return i, top, levels
            frames[top, _NOTS] += 1
            i = end
        levels += 1
        if levels >= MOST_LEVELS:
            return -1, top, levels


@inlined
def _after_operand(classes, data, i, high, words, at, frames, top, levels):
    """Write the `not`s of an operand, and close the parentheses after it: (where the connective
    starts, end of the program, top frame, open levels).

    The connective starts at `high` if the rule is complete, at -1 to leave it to the parser.
    """
    while True:
        for _ in range(frames[top, _NOTS]):
            at = _emit(NOT, 1, words, at)
        levels -= frames[top, _NOTS]
        frames[top, _NOTS] = 0
        frames[top, _ANDS] += 1
        i = skip_space(classes, data, i, high)
        if i < high and classes[data[i]] != CLOSE:
            return i, at, top, levels
        if (i == high) != (top == 0):
            return -1, at, top, levels
        at = _close(frames[top], words, at)
        if frames[top, _ORS] > 0:
            at = _emit(OR, frames[top, _ORS] + 1, words, at)
        if i == high:
            return i, at, top, levels
        top -= 1
        levels -= 1
        i += 1


@inlined
def _connect(word, frame, words, at):
    """Count a connective between two operands; returns the end of the program, -1 if it is none."""
    if word == OR:
        at = _close(frame, words, at)
        frame[_ORS] += 1
    elif word == XOR or word == XNOR:
        if frame[_ANDS] > 1:
            at = _emit(AND, frame[_ANDS], words, at)
        frame[_ANDS] = 0
        frame[_CHAIN] += 1
        if frame[_CHAIN_OPERATOR] >= 0 and frame[_CHAIN_OPERATOR] != word:
            at = _emit(frame[_CHAIN_OPERATOR], frame[_CHAIN], words, at)
            frame[_CHAIN] = 1
        frame[_CHAIN_OPERATOR] = word
    elif word != AND:
        return -1
    return at


@compiled
def _rule(classes, data, low, high, words, at, table, texts, frames, count):
    """Write the program of one rule from words[at] on; returns its end, or -1 to leave the rule to
    the parser."""
    if high - low > MAX_BYTES:
        return -1
    top = 0
    levels = 0
    _open_frame(frames, 0)
    i = low
    while True:
        i, top, levels = _before_operand(classes, data, i, high, frames, top, levels)
        if i < 0:
            return -1
        end = _predicate_end(classes, data, i, high)
        if end <= i:
            return -1
        words[at] = _number(data, i, end, table, texts, count)
        i, at, top, levels = _after_operand(
            classes, data, end, high, words, at + 1, frames, top, levels
        )
        if i < 0:
            return -1
        if i == high:
            return at
        end = word_end(classes, data, i, high)
        at = _connect(keyword(data, i, end), frames[top], words, at)
        if at < 0:
            return -1
        i = end


@compiled
def split_texts(classes, data, offsets, words, ends, table, texts, frames, count, done):
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
