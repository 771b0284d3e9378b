"""Numbers for predicate texts: equal ones get the same number, in the order of their first use.

The array `table` is a hash table (`kernels.hash_entries`) of the rows of `texts`, one per distinct
predicate text, whose columns are named below. The texts themselves are compared, byte by byte,
before two of them count as equal.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import inlined, lean, prefetch
from matchwood.kernels.hash_entries import EMPTY, entry_number, may_be, pack_entry
from matchwood.kernels.text_bytes import address_of, word_at

# Columns of `texts`: the bytes that the text lies between, and its hash, which is not negative.
TEXT_COLUMNS = 3
TEXT_START, TEXT_END, TEXT_HASH = range(TEXT_COLUMNS)

# Columns of `spans`: the same three, where the number is to be written, and the text that is likely
# the same, or -1.
SPAN_COLUMNS = 5
SPAN_START, SPAN_END, SPAN_HASH, SPAN_PLACE, SPAN_CANDIDATE = range(SPAN_COLUMNS)

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@inlined
def hash_text(data, low, high):
    """The hash of data[low:high], 63 bits."""
    text = address_of(data)
    mixed = np.uint64(high - low)
    i = low
    while i + 8 <= high:
        mixed = (mixed ^ np.uint64(word_at(text, i))) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
        i += 8
    last = np.uint64(0)
    while i < high:
        last = last << np.uint64(8) | np.uint64(data[i])
        i += 1
    mixed = (mixed ^ last) * _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _FACTOR
    return np.int64((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1))


@inlined
def _is_same(data, one, one_end, other, other_end):
    if one_end - one != other_end - other:
        return False
    text = address_of(data)
    while one + 8 <= one_end:
        if word_at(text, one) != word_at(text, other):
            return False
        one += 8
        other += 8
    while one < one_end:
        if data[one] != data[other]:
            return False
        one += 1
        other += 1
    return True


@lean
def _number(data, start, end, hashed, table, texts, count):
    """(the number of a text, how many there are now): it is added if it is new."""
    mask = len(table) - 1
    bucket = hashed & mask
    while table[bucket] != EMPTY:
        entry = table[bucket]
        if may_be(entry, hashed):
            number = entry_number(entry)
            if texts[number, TEXT_HASH] == hashed and _is_same(
                data, texts[number, TEXT_START], texts[number, TEXT_END], start, end
            ):
                return number, count
        bucket = (bucket + 1) & mask
    table[bucket] = pack_entry(hashed, count)
    texts[count, TEXT_START], texts[count, TEXT_END], texts[count, TEXT_HASH] = start, end, hashed
    return count, count + 1


@inlined
def number_spans(data, words, spans, cut, table, texts, count):
    """Write the numbers of the first `cut` spans to `words`; how many texts there are now."""
    mask = len(table) - 1
    for i in range(cut):
        prefetch(table, spans[i, SPAN_HASH] & mask)
    for i in range(cut):
        hashed = spans[i, SPAN_HASH]
        bucket = hashed & mask
        while table[bucket] != EMPTY and not may_be(table[bucket], hashed):
            bucket = (bucket + 1) & mask
        spans[i, SPAN_CANDIDATE] = EMPTY
        if table[bucket] != EMPTY:
            spans[i, SPAN_CANDIDATE] = entry_number(table[bucket])
            prefetch(texts, spans[i, SPAN_CANDIDATE] * TEXT_COLUMNS)
    for i in range(cut):
        if spans[i, SPAN_CANDIDATE] != EMPTY:
            prefetch(data, texts[spans[i, SPAN_CANDIDATE], TEXT_START])
    for i in range(cut):
        start, end, hashed = spans[i, SPAN_START], spans[i, SPAN_END], spans[i, SPAN_HASH]
        number, count = _number(data, start, end, hashed, table, texts, count)
        words[spans[i, SPAN_PLACE]] = number
    return count


@lean
def refill_table(table, texts, count):
    """Enter the first `count` texts into an empty hash table."""
    mask = len(table) - 1
    for number in range(count):
        bucket = texts[number, TEXT_HASH] & mask
        while table[bucket] != EMPTY:
            bucket = (bucket + 1) & mask
        table[bucket] = pack_entry(texts[number, TEXT_HASH], number)


@lean
def merge_texts(data, more, table, texts, count, numbers):
    """Number texts that another thread found, for which there is room; how many there are now."""
    ahead = 16
    for i in range(len(more)):
        if i + ahead < len(more):
            prefetch(table, more[i + ahead, TEXT_HASH] & (len(table) - 1))
        number, count = _number(
            data, more[i, TEXT_START], more[i, TEXT_END], more[i, TEXT_HASH], table, texts, count
        )
        numbers[i] = number
    return count


@lean
def replace_numbers(words, numbers):
    """Replace the numbers of texts in programs, in place."""
    for i in range(len(words)):
        if words[i] >= 0:
            words[i] = numbers[words[i]]
