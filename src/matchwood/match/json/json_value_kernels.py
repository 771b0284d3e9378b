"""Values of JSON text to codes: names of attributes, strings, numbers, and hits of patterns.

`JsonIndex` is what these kernels read: the names and constants of a segment as bytes. UTF-8 sorts
as code points do, so that the codes of strings are found by comparing bytes.

A name is found by a hash of what it stands in and of its own bytes. `a.b` may be spelt `"a.b"`, or
`"b"` in `"a"`: an entry is a pair of a node (a name that was read so far) and a key, and leads to
the node of both. All spellings of an attribute are entries, which lead to the same node.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.compiled import codec, inlined, lean
from matchwood.kernels.records import OTHER
from matchwood.kernels.text_bytes import address_of, byte_at, can_load_word, word_at
from matchwood.match.json.json_arrays import (
    ENTRY_AT,
    ENTRY_HASH,
    ENTRY_KEY,
    ENTRY_SIZE,
    GAP_AT,
    NUMBER_AT,
    NUMBER_END,
    NUMBER_FIRST,
    STRING_AT,
    STRING_END,
    STRING_FIRST,
    cache_at,
    index_at,
    scratch_at,
)
from matchwood.match.json.json_token_kernels import (
    COLON,
    DOT,
    DOTTED,
    MINUS,
    QUOTE,
    SMALL_E,
    UNUSUAL,
    after_colon,
    after_number,
    dots,
    first_mark,
    has_dot,
    next_token,
    stops,
    string_end,
    unescape,
)

# The node of an event itself, and what no rule asks for.
ROOT, NO_NODE = 0, -1

# The largest integer up to which all integers are doubles.
_EXACT = 1 << 53

# Powers of ten that are doubles: up to this one.
MOST_TENS = 22

# The largest number to which one more digit can be added within 63 bits.
_MOST_BEFORE_DIGIT = (1 << 63) // 10 - 1

# Twice the relative error of a product or quotient that may be off by rounding three times.
_ERROR = 2.0**-50

# The largest exponent that is told apart: beyond it, a number is unusual anyway.
_MOST_EXPONENT = 100_000

_FACTOR = np.int64(-0x61C8864680B583EB)
_SIGN = np.int64(-(1 << 63))
_BYTE = np.int64(0xFF)


@codec
def mix(h: Any, word: Any) -> Any:
    """Add eight bytes to a hash."""
    h = (h ^ word) * _FACTOR
    return h ^ (h >> 29)


@codec
def seed_of(parent: Any) -> Any:
    """The hash that the bytes of a key are added to."""
    return np.int64(parent + 1) * _FACTOR


@codec
def place_of(h: Any, mask: Any) -> Any:
    """Where a hash is looked for first."""
    return (h ^ (h >> 32)) & mask


@codec
def element_key(attribute: Any, attributes: Any) -> Any:
    """The key in the cache of an attribute's value within a list, where `contains` differs."""
    return attribute + attributes


@lean
def _byte_by_byte(text, i, size):
    """`_short_word`, without a load beyond the last of the bytes."""
    word = np.int64(0)
    for k in range(size):
        word |= np.int64(byte_at(text, i + k)) << (8 * k)
    return word


@inlined
def _short_word(text, i, size):
    """So many bytes from a place on, fewer than eight, as the lowest of a word."""
    if can_load_word(text, i):
        return word_at(text, i) & ((np.int64(1) << (8 * size)) - 1)
    return _byte_by_byte(text, i, size)


@lean
def _equal_words(left, left_at, right, right_at, size):
    """`equal_bytes` of at least eight bytes."""
    i = 0
    last = size - 8
    while i < last:
        if word_at(left, left_at + i) != word_at(right, right_at + i):
            return False
        i += 8
    return word_at(left, left_at + last) == word_at(right, right_at + last)


@inlined
def equal_bytes(left, left_at, right, right_at, size):
    """Whether two runs of bytes are the same."""
    if size < 8:
        return _short_word(left, left_at, size) == _short_word(right, right_at, size)
    return _equal_words(left, left_at, right, right_at, size)


@inlined
def _order(left, left_at, left_size, right, right_at, right_size):
    """Below, above or equal to 0, as the first run of bytes sorts before or after the second.

    The first eight bytes of both are the same.
    """
    for i in range(8, min(left_size, right_size)):
        difference = byte_at(left, left_at + i) - byte_at(right, right_at + i)
        if difference != 0:
            return difference
    return left_size - right_size


# Names


@inlined
def _node_of(view, parent, h, text, i, size):
    """The node of a key of this hash and these bytes; NO_NODE if no rule asks for it."""
    ix = index_at(view)
    mask = len(ix.table) - 1
    place = place_of(h, mask)
    while ix.table[place] >= 0:
        entry = np.int64(ix.table[place])
        if ix.entry_hash[entry] == h and ix.entry_parent[entry] == parent:
            at = ix.entry_at[entry]
            same = ix.entry_at[entry + 1] - at == size
            if same and equal_bytes(text, i, address_of(ix.key_bytes), at, size):
                return np.int64(ix.entry_node[entry])
        place = (place + 1) & mask
    return np.int64(NO_NODE)


@lean
def _unusual_key(view, text, i, end, parent):
    """`key_node` for a key with escapes, or with characters beyond ASCII."""
    close = string_end(text, i, end)
    if close == UNUSUAL:
        return close, np.int64(NO_NODE)
    key, at = text, i
    size = close - i
    if close < 0:
        close = -1 - close
        buffer = scratch_at(view).buffer
        if close - i > len(buffer):
            return UNUSUAL, np.int64(NO_NODE)
        size = unescape(text, i, close, buffer)
        key, at = address_of(buffer), 0
    notes = DOTTED if has_dot(key, at, at + size) else 0
    h = seed_of(parent)
    tail = np.int64(0)
    for k in range(size):
        tail |= np.int64(byte_at(key, at + k)) << (8 * (k & 7))
        if k & 7 == 7:
            h = mix(h, tail)
            tail = np.int64(0)
    node = _node_of(view, parent, mix(h, tail), key, at, size)
    value = after_colon(text, close + 1, end)
    return (value, node) if value < 0 else (value | notes, node)


@inlined
def key_node(view, text, i, end, parent):
    """(the place of the value, with notes; the node) of the key whose first character is at i."""
    start = i
    h = seed_of(parent)
    notes = 0
    while True:
        if i + 8 > end:
            return _unusual_key(view, text, start, end, parent)
        word = word_at(text, i)
        marks = stops(word)
        if marks != 0:
            break
        h = mix(h, word)
        if dots(word) != 0:
            notes = DOTTED
        i += 8
    tail = first_mark(marks)
    i += tail
    if byte_at(text, i) != QUOTE:
        return _unusual_key(view, text, start, end, parent)
    word &= (np.int64(1) << (8 * tail)) - 1
    if dots(word) != 0:
        notes = DOTTED
    node = _node_of(view, parent, mix(h, word), text, start, i - start)
    i += 1
    if i < end and byte_at(text, i) == COLON:
        i += 1
        if i < end and byte_at(text, i) <= 32:
            i = next_token(text, i, end)
    else:
        i = after_colon(text, i, end)
    return (i, node) if i < 0 else (i | notes, node)


# Strings


@inlined
def _head(text, i, size):
    """The first eight bytes of a string, as a number whose order is that of the bytes."""
    word = word_at(text, i) if size >= 8 else _short_word(text, i, size)
    head = np.int64(0)
    for k in range(8):  # one instruction, which turns the bytes around
        head = head << 8 | (word >> (8 * k) & _BYTE)
    return head ^ _SIGN


@inlined
def string_code(view, text, i, size, attribute):
    """The code of a string."""
    ix = index_at(view)
    at = ix.attributes[attribute, STRING_AT]
    first = ix.attributes[attribute, STRING_FIRST]
    if first < 0:
        return OTHER
    low, high = at, ix.attributes[attribute, STRING_END]
    if low == high:
        return first
    head = _head(text, i, size)
    constants = address_of(ix.string_bytes)
    while low < high:
        middle = (low + high) >> 1
        known = ix.string_head[middle]
        order = np.int64(-1 if known > head else 1)
        if known == head:
            known_at = ix.string_at[middle]
            known_size = ix.string_at[middle + 1] - known_at
            order = _order(text, i, size, constants, known_at, known_size)
        if order == 0:
            return first + 2 * (middle - at) + 1
        if order > 0:
            low = middle + 1
        else:
            high = middle
    return first + 2 * (low - at)


@lean
def text_hash(text, i, size, key):
    """The hash of a string of an attribute."""
    h = mix(seed_of(key), np.int64(size))
    if size < 8:
        return mix(h, _short_word(text, i, size))
    last = size - 8
    k = 0
    while k < last:
        h = mix(h, word_at(text, i + k))
        k += 8
    return mix(h, word_at(text, i + last))


@codec
def kept_bits(h: Any) -> Any:
    """The bits of a hash that an entry of the cache keeps."""
    return h & 0x7FFFFFFF


@lean
def known_string(view, text, i, size, key, h):
    """The entry of a string in the cache, or -1."""
    cache = cache_at(view)
    mask = len(cache.table) - 1
    place = place_of(h, mask)
    while cache.table[place] >= 0:
        entry = np.int64(cache.table[place])
        row = cache.entries[entry]
        if row[ENTRY_HASH] == kept_bits(h) and row[ENTRY_KEY] == key and row[ENTRY_SIZE] == size:
            if equal_bytes(text, i, address_of(cache.bytes), row[ENTRY_AT], size):
                return entry
        place = (place + 1) & mask
    return np.int64(-1)


# Numbers


@inlined
def _places(ix, attribute, low_number, high_number):
    """How many doubles of an attribute lie below the first number, and not above the second."""
    low, high = ix.attributes[attribute, NUMBER_AT], ix.attributes[attribute, NUMBER_END]
    at = low
    end = high
    while low < high:
        middle = (low + high) >> 1
        if ix.doubles[middle] < low_number:
            low = middle + 1
        else:
            high = middle
    above = low
    while above < end and ix.doubles[above] <= high_number:
        above += 1
    return low - at, above - at


@lean
def _digits(text, i, end):
    """(mantissa, exponent, whether it is an integer, whether no digit was left out)."""
    mantissa = np.int64(0)
    exponent = np.int64(0)
    scale = 0
    integer = True
    complete = True
    while i < end:
        c = byte_at(text, i)
        i += 1
        if c == DOT:
            scale = 1
            integer = False
        elif c | 32 == SMALL_E:
            integer = False
            sign = 1
            if byte_at(text, i) == MINUS:
                sign = -1
            power = 0
            while i < end:
                c = byte_at(text, i)
                if 48 <= c <= 57 and power < _MOST_EXPONENT:
                    power = power * 10 + c - 48
                i += 1
            exponent += sign * power
        elif mantissa <= _MOST_BEFORE_DIGIT:
            mantissa = mantissa * 10 + (c - 48)
            exponent -= scale
        else:
            complete = False
            exponent += 1 - scale
    return mantissa, exponent, integer, complete


@lean
def number_code(view, text, i, end, attribute):
    """(the place after a number, its code); the code is UNUSUAL if only exact decimals tell it.

    A double that is not one of those nearest to constants lies on the same side of each constant
    as of its double, as rounding keeps the order; see `event.double_codes`.
    """
    ix = index_at(view)
    stop = after_number(text, i, end)
    if stop < 0 or ix.attributes[attribute, NUMBER_FIRST] < 0:
        return stop, np.int64(OTHER)
    negative = byte_at(text, i) == MINUS
    mantissa, exponent, integer, complete = _digits(text, i + negative, stop)
    if exponent > MOST_TENS or exponent < -MOST_TENS:
        if mantissa != 0:
            return stop, np.int64(UNUSUAL)
        exponent = 0
    number = np.float64(mantissa)
    if exponent > 0:
        number *= ix.tens[exponent]
    elif exponent < 0:
        number /= ix.tens[-exponent]
    if negative:
        number = -number
    is_nearest = complete and (mantissa <= _EXACT or integer)
    error = 0.0 if is_nearest else abs(number) * _ERROR
    below, above = _places(ix, attribute, number - error, number + error)
    if below == above:
        return stop, np.int64(ix.gap_code[ix.attributes[attribute, GAP_AT] + below])
    if is_nearest and mantissa <= _EXACT:
        return stop, np.int64(ix.double_code[ix.attributes[attribute, NUMBER_AT] + below])
    return stop, np.int64(UNUSUAL)
