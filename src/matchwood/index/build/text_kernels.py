"""Cutting rule texts into operators and predicate texts.

Two arrays have rows of int64, whose columns are named below:

    spans     | start | end | hash | place | candidate |      one row per predicate that was cut
    frames    | ands | chain | chain operator | ors | nots |  one row per open parenthesis

Some hundred predicates are cut before they are numbered, so that what finding one of them in the
table reads is prefetched while others are looked up (`predicate_text_kernels`).
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.index.build.predicate_text_kernels import (
    SPAN_END,
    SPAN_HASH,
    SPAN_PLACE,
    SPAN_START,
    hash_text,
    number_spans,
)
from matchwood.index.build.word_kernels import (
    BETWEEN_WORD,
    BYTE_CLASSES,
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
from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.programs import AND, NOT, OR, XNOR, XOR, pack_operator

# Bytes of the longest rule that is cut here; longer ones are left to the parser.
MAX_BYTES = 1 << 16

# Parentheses and `not`s that may be open at once; deeper rules are left to the parser.
MOST_LEVELS = 190

# The only word in the program of a rule that is left to the parser.
LEFT = -(1 << 31)

# Predicates that are cut before they are numbered, at least.
_AT_ONCE = 256

# Rows of `spans`: the longest rule may follow, which has a predicate for every other byte at most.
SPANS = _AT_ONCE + MAX_BYTES // 2 + 1

# What the numbers in `progress` are: rules that are done, words that are written, and distinct
# predicate texts.
PROGRESS_NUMBERS = 3
RULES_DONE, WORDS_WRITTEN, TEXTS_FOUND = range(PROGRESS_NUMBERS)

# Columns of `frames`: the operands of `and` so far, the operators of the chain of `xor` or `xnor`,
# which of the two these are (-1: none), the operators of `or`, and the `not`s before the next
# operand.
FRAME_COLUMNS = 5
_ANDS, _CHAIN, _CHAIN_OPERATOR, _ORS, _NOTS = range(FRAME_COLUMNS)


@lean
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


@inlined
def _emit(operator, operands, words, at):
    words[at] = pack_operator(operator, operands)
    return at + 1


@inlined
def _close(frames, top, words, at):
    """Close the open chains of `and`, and of `xor` or `xnor`."""
    if frames[top, _ANDS] > 1:
        at = _emit(AND, frames[top, _ANDS], words, at)
    frames[top, _ANDS] = 0
    if frames[top, _CHAIN_OPERATOR] >= 0:
        at = _emit(frames[top, _CHAIN_OPERATOR], frames[top, _CHAIN] + 1, words, at)
        frames[top, _CHAIN], frames[top, _CHAIN_OPERATOR] = 0, -1
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
        at = _close(frames, top, words, at)
        if frames[top, _ORS] > 0:
            at = _emit(OR, frames[top, _ORS] + 1, words, at)
        if i == high:
            return i, at, top, levels
        top -= 1
        levels -= 1
        i += 1


@inlined
def _connect(word, frames, top, words, at):
    """Count a connective between two operands; returns the end of the program, -1 if it is none."""
    if word == OR:
        at = _close(frames, top, words, at)
        frames[top, _ORS] += 1
    elif word == XOR or word == XNOR:
        if frames[top, _ANDS] > 1:
            at = _emit(AND, frames[top, _ANDS], words, at)
        frames[top, _ANDS] = 0
        frames[top, _CHAIN] += 1
        if frames[top, _CHAIN_OPERATOR] >= 0 and frames[top, _CHAIN_OPERATOR] != word:
            at = _emit(frames[top, _CHAIN_OPERATOR], frames[top, _CHAIN], words, at)
            frames[top, _CHAIN] = 1
        frames[top, _CHAIN_OPERATOR] = word
    elif word != AND:
        return -1
    return at


@lean
def _rule(data, low, high, words, at, spans, cut, frames):
    """Write the program of one rule from words[at] on, and its predicates to spans[cut:]: (end of
    the program, end of the spans). The first is -1 to leave the rule to the parser."""
    if high - low > MAX_BYTES:
        return -1, cut
    classes = BYTE_CLASSES
    top = 0
    levels = 0
    _open_frame(frames, 0)
    i = low
    while True:
        i, top, levels = _before_operand(classes, data, i, high, frames, top, levels)
        if i < 0:
            return -1, cut
        end = _predicate_end(classes, data, i, high)
        if end <= i:
            return -1, cut
        spans[cut, SPAN_START], spans[cut, SPAN_END] = i, end
        spans[cut, SPAN_HASH], spans[cut, SPAN_PLACE] = hash_text(data, i, end), at
        cut += 1
        i, at, top, levels = _after_operand(
            classes, data, end, high, words, at + 1, frames, top, levels
        )
        if i < 0:
            return -1, cut
        if i == high:
            return at, cut
        end = word_end(classes, data, i, high)
        at = _connect(keyword(data, i, end), frames, top, words, at)
        if at < 0:
            return -1, cut
        i = end


@lean
def split_texts(data, offsets, words, ends, table, texts, spans, frames, progress):
    """Cut rules from progress[RULES_DONE] on, until the table of predicate texts could overflow."""
    rule, at, count = progress[RULES_DONE], progress[WORDS_WRITTEN], progress[TEXTS_FOUND]
    rules = len(offsets) - 1
    while rule < rules:
        cut = 0
        while rule < rules and cut < _AT_ONCE:
            low, high = offsets[rule], offsets[rule + 1]
            if high - low <= MAX_BYTES and count + cut + (high - low) // 2 + 1 > len(texts):
                break
            end, after = _rule(data, low, high, words, at, spans, cut, frames)
            if end < 0:
                words[at] = LEFT
                end, after = at + 1, cut
            at, cut = end, after
            rule += 1
            ends[rule] = at
        count = number_spans(data, words, spans, cut, table, texts, count)
        if cut < _AT_ONCE:
            break
    progress[RULES_DONE], progress[WORDS_WRITTEN], progress[TEXTS_FOUND] = rule, at, count
