"""The tokens of JSON text: strings, numbers, words, and whole values that no rule asks for.

Every function starts at a place and returns the place after what it read, or UNUSUAL: the text is
not JSON, is not UTF-8, or has something that is left to Python's own parser. So nothing is accepted
here that `json.loads` would refuse. A text is an address and its end (see `kernels.text_bytes`).

Strings are read eight bytes at a time. `_stops` marks the bytes of a word that end such a run; only
its lowest mark is exact, as subtracting borrows from the bytes above.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, inlined, lean, trailing_zeros
from matchwood.kernels.text_bytes import byte_at, word_at

# What a function returns in place of a position: Python's own parser is to read the text.
UNUSUAL = -(1 << 62)

# Levels of objects and lists within a value that is skipped. The rest of an event adds at most
# `json_scan_kernels.MOST_LEVELS`, and together they stay below the limit of levels of an event.
SKIPPED_LEVELS = 60

# Characters of the longest number that is read here. Python can be told to refuse integers of over
# 640 digits, and refuses those of over 4,300 by itself.
LONGEST_NUMBER = 600

# What a function may note beside a place: that a key has a dot, and that an object within the event
# has a key. With both, an attribute may be spelt two ways. A place is below NOTES, and each note is
# a bit above: | notes | place: 40 bits |
NOTES = 1 << 40
DOTTED, NESTED = NOTES, 2 * NOTES
BOTH_NOTES = DOTTED | NESTED
PLACE = NOTES - 1

QUOTE, BACKSLASH, COMMA, COLON, DOT = 34, 92, 44, 58, 46
OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST = 123, 125, 91, 93
MINUS, PLUS, ZERO, NINE, SMALL_E, SMALL_U = 45, 43, 48, 57, 101, 117

# The eight bytes of a word: all 1, all 0x20, all with their highest bit alone, and others.
_ONES = np.int64(0x0101010101010101)
_SPACES = np.int64(0x2020202020202020)
_HIGHS = np.int64(-0x7F7F7F7F7F7F7F80)
_QUOTES = np.int64(0x2222222222222222)
_BACKSLASHES = np.int64(0x5C5C5C5C5C5C5C5C)
_DOTS = np.int64(0x2E2E2E2E2E2E2E2E)
_NEWLINES = np.int64(0x0A0A0A0A0A0A0A0A)
_BELOW_HIGH = np.int64(0x7676767676767676)  # what takes a digit above 9 to the highest bit
_ZEROS = np.int64(0x3030303030303030)

# `true`, and so on, as the first four bytes of a word; `alse` is what follows the f of `false`.
_TRUE = np.int64(0x65757274)
_NULL = np.int64(0x6C6C756E)
_ALSE = np.int64(0x65736C61)
_FOUR_BYTES = np.int64(0xFFFFFFFF)


@codec
def _zeros(word):
    """Marks the bytes of a word that are zero; only the lowest mark is exact."""
    return (word - _ONES) & ~word & _HIGHS


@inlined
def stops(word):
    """Marks the bytes that end a run of plain ASCII in a string; the lowest mark is exact."""
    return (
        _zeros(word ^ _QUOTES)
        | _zeros(word ^ _BACKSLASHES)
        | ((word - _SPACES) & ~word & _HIGHS)
        | (word & _HIGHS)
    )


@inlined
def dots(word):
    """Not 0 if a byte of the word is a dot."""
    return _zeros(word ^ _DOTS)


@inlined
def first_mark(marks):
    """The place of the lowest byte that is marked; there is one."""
    return trailing_zeros(marks) >> 3


@inlined
def next_token(text, i, end):
    """The place of the next byte that is no white space; `end` if there is none."""
    while i < end:
        c = byte_at(text, i)
        if c > 32 or (c != 32 and c != 10 and c != 13 and c != 9):
            break
        i += 1
    return i


@lean
def after_character(text, i, end):
    """The place after a character of several bytes; UNUSUAL if it is not UTF-8."""
    c = byte_at(text, i)
    if c < 0xC2 or c > 0xF4:
        return UNUSUAL
    more = 1 if c < 0xE0 else (2 if c < 0xF0 else 3)
    if i + more >= end:
        return UNUSUAL
    second = byte_at(text, i + 1)
    low, high = 0x80, 0xBF
    if c == 0xE0:
        low = 0xA0  # below is a spelling that is too long
    elif c == 0xED:
        high = 0x9F  # above is half of a surrogate pair
    elif c == 0xF0:
        low = 0x90
    elif c == 0xF4:
        high = 0x8F
    if second < low or second > high:
        return UNUSUAL
    for k in range(2, more + 1):
        if byte_at(text, i + k) >> 6 != 2:
            return UNUSUAL
    return i + more + 1


@lean
def hex_value(text, i, end):
    """The value of four hexadecimal digits; UNUSUAL if they are not there."""
    if i + 4 > end:
        return UNUSUAL
    value = 0
    for k in range(i, i + 4):
        c = byte_at(text, k)
        lower = c | 32
        if 48 <= c <= 57:
            digit = c - 48
        elif 97 <= lower <= 102:
            digit = lower - 87
        else:
            return UNUSUAL
        value = value * 16 + digit
    return value


@lean
def _after_escape(text, i, end):
    """The place after an escape, whose backslash is at i; half of a surrogate pair is unusual."""
    if i + 1 >= end:
        return UNUSUAL
    c = byte_at(text, i + 1)
    if c == SMALL_U:
        value = hex_value(text, i + 2, end)
        if value < 0 or 0xDC00 <= value <= 0xDFFF:
            return UNUSUAL
        if value < 0xD800 or value > 0xDBFF:
            return i + 6
        if i + 8 > end or byte_at(text, i + 6) != BACKSLASH or byte_at(text, i + 7) != SMALL_U:
            return UNUSUAL
        second = hex_value(text, i + 8, end)
        return i + 12 if 0xDC00 <= second <= 0xDFFF else UNUSUAL
    # " \ / b f n r t
    known = c == 34 or c == 92 or c == 47 or c == 98 or c == 102 or c == 110 or c == 114 or c == 116
    return i + 2 if known else UNUSUAL


@inlined
def string_end(text, i, end):
    """The place of the quote that ends the string whose first character is at i.

    If the string has escapes, the place is returned as -1 - place.
    """
    if i + 8 <= end:  # most strings are short
        marks = stops(word_at(text, i))
        if marks != 0:
            close = i + first_mark(marks)
            if byte_at(text, close) == QUOTE:
                return close
    return _any_string_end(text, i, end)


@lean
def _any_string_end(text, i, end):
    """`string_end`, however long the string is, and whatever is in it."""
    escaped = False
    while True:
        if i + 8 <= end:
            marks = stops(word_at(text, i))
            if marks == 0:
                i += 8
                continue
            i += first_mark(marks)
        elif i >= end:
            return UNUSUAL
        c = byte_at(text, i)
        if c == QUOTE:
            return -1 - i if escaped else i
        if c == BACKSLASH:
            escaped = True
            i = _after_escape(text, i, end)
        elif c >= 0x80:
            i = after_character(text, i, end)
        elif c < 32:
            return UNUSUAL
        else:
            i += 1
        if i < 0:
            return UNUSUAL


@inlined
def _put_character(code, into, n):
    """Write a character as UTF-8; the number of bytes written so far."""
    if code < 0x80:
        into[n] = code
        return n + 1
    if code < 0x800:
        into[n] = 0xC0 | code >> 6
        into[n + 1] = 0x80 | code & 63
        return n + 2
    if code < 0x10000:
        into[n] = 0xE0 | code >> 12
        into[n + 1] = 0x80 | code >> 6 & 63
        into[n + 2] = 0x80 | code & 63
        return n + 3
    into[n] = 0xF0 | code >> 18
    into[n + 1] = 0x80 | code >> 12 & 63
    into[n + 2] = 0x80 | code >> 6 & 63
    into[n + 3] = 0x80 | code & 63
    return n + 4


@lean
def unescape(text, i, end, into):
    """Write the string i..end, which `string_end` has read, without escapes; how many bytes."""
    n = 0
    while i < end:
        c = byte_at(text, i)
        if c != BACKSLASH:
            into[n] = c
            n += 1
            i += 1
            continue
        c = byte_at(text, i + 1)
        i += 2
        if c == SMALL_U:
            code = hex_value(text, i, end)
            i += 4
            if 0xD800 <= code <= 0xDBFF:
                code = 0x10000 + ((code - 0xD800) << 10) + hex_value(text, i + 2, end) - 0xDC00
                i += 6
            n = _put_character(code, into, n)
            continue
        if c == 98:
            c = 8
        elif c == 102:
            c = 12
        elif c == 110:
            c = 10
        elif c == 114:
            c = 13
        elif c == 116:
            c = 9
        into[n] = c
        n += 1
    return n


@inlined
def after_digits(text, i, end):
    """The place after digits; i itself if there is none."""
    while i + 8 <= end:
        digits = word_at(text, i) ^ _ZEROS
        marks = (digits + _BELOW_HIGH | digits) & _HIGHS  # of bytes above 9
        if marks != 0:
            return i + first_mark(marks)
        i += 8
    while i < end:
        c = byte_at(text, i)
        if c < ZERO or c > NINE:
            break
        i += 1
    return i


@inlined
def after_number(text, i, end):
    """The place after a number; a very long one is unusual, as Python may refuse it."""
    start = i
    if i < end and byte_at(text, i) == MINUS:
        i += 1
    if i >= end:
        return UNUSUAL
    c = byte_at(text, i)
    if c == ZERO:
        i += 1
    elif ZERO < c <= NINE:
        i = after_digits(text, i + 1, end)
    else:
        return UNUSUAL
    if i < end and byte_at(text, i) == DOT:
        after = after_digits(text, i + 1, end)
        if after == i + 1:
            return UNUSUAL
        i = after
    if i < end and byte_at(text, i) | 32 == SMALL_E:
        i += 1
        if i < end and (byte_at(text, i) == PLUS or byte_at(text, i) == MINUS):
            i += 1
        after = after_digits(text, i, end)
        if after == i:
            return UNUSUAL
        i = after
    return i if i - start <= LONGEST_NUMBER else UNUSUAL


@lean
def after_word(text, i, end, c):
    """The place after `true`, `false` or `null`, whose first character is c."""
    if c == 102:
        i += 1
    if i + 4 > end:
        return UNUSUAL
    word = np.int64(0)
    for k in range(4):
        word |= np.int64(byte_at(text, i + k)) << (8 * k)
    expected = _TRUE if c == 116 else (_ALSE if c == 102 else _NULL)
    return i + 4 if word == expected else UNUSUAL


@lean
def has_dot(text, i, end):
    """Whether one of the characters i..end is a dot."""
    while i + 8 <= end:
        if dots(word_at(text, i)) != 0:
            return True
        i += 8
    while i < end:
        if byte_at(text, i) == DOT:
            return True
        i += 1
    return False


@lean
def after_colon(text, i, end):
    """The place of the value after the colon that is next."""
    i = next_token(text, i, end)
    if i >= end or byte_at(text, i) != COLON:
        return UNUSUAL
    return next_token(text, i + 1, end)


@lean
def after_key(text, i, end):
    """The place of the value of a key that no rule asks for, with notes; the key starts at i."""
    close = string_end(text, i, end)
    if close < 0:
        return UNUSUAL  # an escape may spell a dot
    notes = NESTED | DOTTED if has_dot(text, i, close) else NESTED
    value = after_colon(text, close + 1, end)
    return value if value < 0 else value | notes


@lean
def after_value(text, i, end):
    """The place after a value that no rule asks for, with notes; i is its first character.

    `levels` has a bit for each object or list around the place, 1 for an object; the lowest bit is
    that of the innermost.
    """
    levels = np.int64(0)
    depth = 0
    notes = 0
    while True:
        if i >= end:
            return UNUSUAL
        c = byte_at(text, i)
        closed = False
        if MINUS <= c <= NINE:  # first, as lists of numbers are what is long
            i = after_number(text, i, end)
        elif c == QUOTE:
            i = string_end(text, i + 1, end)
            i = (i if i >= 0 else -1 - i) + 1 if i != UNUSUAL else i
        elif c == OPEN_OBJECT or c == OPEN_LIST:
            if depth >= SKIPPED_LEVELS:
                return UNUSUAL
            depth += 1
            levels = levels << 1 | (c == OPEN_OBJECT)
            i = next_token(text, i + 1, end)
            closed = i < end and byte_at(text, i) == c + 2  # `}` is `{` + 2, `]` is `[` + 2
            if not closed:
                if c == OPEN_LIST:
                    continue
                if i >= end or byte_at(text, i) != QUOTE:
                    return UNUSUAL
                i = after_key(text, i + 1, end)
                if i < 0:
                    return UNUSUAL
                notes |= i & BOTH_NOTES
                i &= PLACE
                continue
        elif c == 116 or c == 102 or c == 110:
            i = after_word(text, i, end, c)
        else:
            return UNUSUAL
        if i < 0:
            return UNUSUAL
        while True:  # the place is after a value, or at what closes an empty object or list
            if closed:
                depth -= 1
                levels >>= 1
                i += 1
            if depth == 0:
                return i | notes
            i = next_token(text, i, end)
            if i >= end:
                return UNUSUAL
            c = byte_at(text, i)
            if c == COMMA:
                break
            if c != (CLOSE_OBJECT if levels & 1 else CLOSE_LIST):
                return UNUSUAL
            closed = True
        i = next_token(text, i + 1, end)
        if levels & 1:
            if i >= end or byte_at(text, i) != QUOTE:
                return UNUSUAL
            i = after_key(text, i + 1, end)
            if i < 0:
                return UNUSUAL
            notes |= i & BOTH_NOTES
            i &= PLACE


@inlined
def _newlines(text, i):
    """Marks the bytes of a word that end a line; the lowest mark is exact."""
    return _zeros(word_at(text, i) ^ _NEWLINES)


@lean
def line_bounds(text, i, end, line, starts, ends, lines):
    """Write where lines that are not blank start and end, and their numbers, from `line` on.

    Returns (how many, where the next line starts, its number): fewer than all lines if there is no
    more room.
    """
    found = 0
    while i < end and found < len(starts):
        start = i
        while i + 32 <= end:
            marks = _newlines(text, i) | _newlines(text, i + 8)
            if marks | _newlines(text, i + 16) | _newlines(text, i + 24) != 0:
                break
            i += 32
        while i < end:
            if i + 8 <= end:
                marks = _newlines(text, i)
                if marks == 0:
                    i += 8
                    continue
                i += first_mark(marks)
                break
            if byte_at(text, i) == 10:
                break
            i += 1
        for k in range(start, i):
            c = byte_at(text, k)
            if c != 32 and (c < 9 or c > 13):
                starts[found] = start
                ends[found] = i
                lines[found] = line
                found += 1
                break
        i += 1
        line += 1
    return found, min(i, end), line
