"""The numbers of all columns of a table to codes, in one pass over some rows of each."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.bits import read, write
from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.records import MISSING
from matchwood.kernels.text_bytes import byte_at, word_at

# Of each column two addresses: that of its first number, eight bytes each, and that of the bits
# that say which numbers are valid.
VALUES, VALIDITY = range(2)

# Of each column: whether its numbers are given as doubles; whether they are integers, so that large
# ones are counted; whether it has bits of validity; the bit of its first number; where its doubles
# begin and end (see `double_table`); and where the codes between these begin.
FACTS = 7
IS_DOUBLE, IS_INTEGER, HAS_NULLS, FIRST_BIT, BEGIN, END, FIRST_GAP = range(FACTS)

# The word of a double that is no number.
_NAN = 0x7FF8 << 48

# Numbers below this, and above its negative, are exact as doubles if they are integers.
EXACT_DOUBLE = 2**53


@inlined
def _code(number, begin, end, first_gap, doubles, equal, gap):
    """The code of a number by the doubles begin..end."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if read(doubles, middle) < number:
            low = middle + 1
        else:
            high = middle
    if low < end and read(doubles, low) == number:
        return read(equal, low)
    return read(gap, first_gap + low - begin)


@inlined
def _read_double(values, row, of_column, is_double, doubles, at):
    """Write a number as a double; 1 if it is an integer that is not exact as one."""
    word = np.int64(word_at(values, 8 * row))
    converted = np.float64(word)
    write(doubles, at, word if is_double else converted.view(np.int64))
    number = word.view(np.float64) if is_double else converted
    return of_column[IS_INTEGER] if not -EXACT_DOUBLE < number < EXACT_DOUBLE else np.int64(0)


@lean
def read_doubles(addresses, facts, low, high, doubles):
    """Write the rows low..high of each column as the words of doubles, one column after the other:
    NaN for null.

    Returns how many integers are not exact as doubles.
    """
    large = np.int64(0)
    for i in range(len(facts)):
        of_column = facts[i]
        values, validity = addresses[i, VALUES], addresses[i, VALIDITY]
        is_double, first_bit = of_column[IS_DOUBLE], of_column[FIRST_BIT]
        begin = i * (high - low) - low
        row = low
        if of_column[HAS_NULLS] == 0:
            while row < high:
                large += _read_double(values, row, of_column, is_double, doubles, begin + row)
                row += 1
        while row < high:
            bit = first_bit + row
            end = min(high, row + 8 - (bit & 7))  # of the byte
            byte = np.int64(byte_at(validity, bit >> 3)) >> (bit & 7)
            for missing in range(row, end):
                write(doubles, begin + missing, np.int64(_NAN))
            while byte != 0 and row < end:
                if byte & 1:
                    large += _read_double(values, row, of_column, is_double, doubles, begin + row)
                byte >>= 1
                row += 1
            row = end
    return large


@lean
def code_numbers(addresses, facts, doubles, equal, gap, low, high, codes):
    """Write the codes of the rows low..high of each column to a row of `codes`.

    Returns how many integers are not exact as doubles: their codes are those of other numbers.
    """
    large = 0
    for i in range(len(facts)):
        values, validity = addresses[i, VALUES], addresses[i, VALIDITY]
        begin, end, first_gap = facts[i, BEGIN], facts[i, END], facts[i, FIRST_GAP]
        for row in range(low, high):
            bit = facts[i, FIRST_BIT] + row
            code = np.int64(MISSING)
            if facts[i, HAS_NULLS] == 0 or (byte_at(validity, bit >> 3) >> (bit & 7)) & 1:
                word = np.int64(word_at(values, 8 * row))
                number = word.view(np.float64) if facts[i, IS_DOUBLE] else np.float64(word)
                if number == number:
                    code = _code(number, begin, end, first_gap, doubles, equal, gap)
                    if not -EXACT_DOUBLE < number < EXACT_DOUBLE:
                        large += facts[i, IS_INTEGER]
            codes[i, row - low] = code
    return large
