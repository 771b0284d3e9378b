"""Strings of JSON text that rules read as times or as network addresses, to codes.

Times in ISO 8601 of the years that nanoseconds in 64 bits hold, and IPv4 addresses, are read here.
What is spelt in any other way is NOT_READ, and Python says what it means.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import lean
from matchwood.kernels.records import MISSING
from matchwood.kernels.text_bytes import byte_at
from matchwood.match.json.json_arrays import (
    ADDRESS_AT,
    ADDRESS_END,
    ADDRESS_FIRST,
    MOMENT_AT,
    MOMENT_END,
    MOMENT_FIRST,
    index_at,
)
from matchwood.match.json.json_token_kernels import COLON, DOT, MINUS, NINE, PLUS, ZERO

# In place of a code, a moment or an address: the string is left to Python.
NOT_READ = -(1 << 62)

# Years whose nanoseconds since 1970 lie within 63 bits, whatever the zone.
_FIRST_YEAR, _LAST_YEAR = 1700, 2200

# Bytes of a date, of the longest time, and of the shortest and the longest address.
_DATE, _LONGEST_TIME, _SHORTEST_ADDRESS, _LONGEST_ADDRESS = 10, 35, 7, 15

# The day 1970-01-01 as a Julian day number.
_EPOCH_DAY = 2_440_588

_DAY_SECONDS, _SECOND = 86_400, 1_000_000_000


@lean
def _digits(text, i, count):
    """The number that so many digits spell; NOT_READ if they are not there."""
    number = 0
    for k in range(i, i + count):
        c = byte_at(text, k)
        if c < ZERO or c > NINE:
            return NOT_READ
        number = number * 10 + c - ZERO
    return number


@lean
def _day(text, i):
    """The day since 1970 of a date, whose ten bytes are there."""
    year, month, day = _digits(text, i, 4), _digits(text, i + 5, 2), _digits(text, i + 8, 2)
    if byte_at(text, i + 4) != MINUS or byte_at(text, i + 7) != MINUS:
        return NOT_READ
    if year < _FIRST_YEAR or year > _LAST_YEAR or month < 1 or month > 12 or day < 1:
        return NOT_READ
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 30 + (month + month // 8) % 2 if month != 2 else (29 if leap else 28)
    if day > longest:
        return NOT_READ
    # Years and months are counted from March, so that a leap day is the last of its year.
    after = (14 - month) // 12
    years = year + 4800 - after
    days = day + (153 * (month + 12 * after - 3) + 2) // 5 + 365 * years
    return days + years // 4 - years // 100 + years // 400 - 32045 - _EPOCH_DAY


@lean
def _zone_minutes(text, i, end):
    """The offset that the rest of a time spells, in minutes."""
    if i == end:
        return 0
    c = byte_at(text, i)
    if c | 32 == 122:  # z
        return 0 if i + 1 == end else NOT_READ
    if (c != PLUS and c != MINUS) or end - i < 3:
        return NOT_READ
    hours, minutes = _digits(text, i + 1, 2), 0
    i += 3
    if i < end:
        if byte_at(text, i) == COLON:
            i += 1
        if end - i != 2:
            return NOT_READ
        minutes = _digits(text, i, 2)
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return NOT_READ
    offset = 60 * hours + minutes
    return -offset if c == MINUS else offset


@lean
def moment_of(text, i, size):
    """The nanoseconds since 1970 of a time; see `language.values.read_time`."""
    if size < _DATE or size > _LONGEST_TIME:
        return NOT_READ
    end = i + size
    day = _day(text, i)
    if day == NOT_READ or size == _DATE:
        return day if day == NOT_READ else day * _DAY_SECONDS * _SECOND
    i += _DATE
    c = byte_at(text, i)
    if (c | 32 != 116 and c != 32) or end - i < 6 or byte_at(text, i + 3) != COLON:  # t
        return NOT_READ
    hour, minute = _digits(text, i + 1, 2), _digits(text, i + 4, 2)
    second = fraction = 0
    i += 6
    if i < end and byte_at(text, i) == COLON:
        if end - i < 3:
            return NOT_READ
        second = _digits(text, i + 1, 2)
        i += 3
        if i < end and byte_at(text, i) == DOT:
            i += 1
            scale = _SECOND
            while i < end and ZERO <= byte_at(text, i) <= NINE:
                fraction = fraction * 10 + byte_at(text, i) - ZERO
                scale //= 10
                i += 1
            if scale == _SECOND or scale == 0:  # no digit, or more than nine
                return NOT_READ
            fraction *= scale
    offset = _zone_minutes(text, i, end)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return NOT_READ
    if offset == NOT_READ:
        return NOT_READ
    seconds = day * _DAY_SECONDS + (hour * 60 + minute - offset) * 60 + second
    return seconds * _SECOND + fraction


@lean
def address_number(text, i, size):
    """The 32 bits of an IPv4 address, without leading zeros in its four numbers."""
    if size < _SHORTEST_ADDRESS or size > _LONGEST_ADDRESS:
        return NOT_READ
    end = i + size
    address = 0
    for part in range(4):
        number, start = 0, i
        while i < end and ZERO <= byte_at(text, i) <= NINE:
            number = number * 10 + byte_at(text, i) - ZERO
            i += 1
        if i == start or number > 255 or (byte_at(text, start) == ZERO and i > start + 1):
            return NOT_READ
        address = address << 8 | number
        if part < 3:
            if i >= end or byte_at(text, i) != DOT:
                return NOT_READ
            i += 1
    return address if i == end else NOT_READ


@lean
def _code_among(constants, at, end, first, number):
    """The code of a number among sorted constants; MISSING if there is no family of them."""
    if first < 0:
        return np.int64(MISSING)
    low, high = at, end
    while low < high:
        middle = (low + high) >> 1
        if constants[middle] < number:
            low = middle + 1
        else:
            high = middle
    equal = low < end and constants[low] == number
    return np.int64(first + 2 * (low - at) + equal)


@lean
def reading_code(view, text, i, size, attribute):
    """The code in the second slot of a string; NOT_READ if Python is to say it."""
    ix = index_at(view)
    row = ix.attributes[attribute]
    moment = moment_of(text, i, size)
    if moment != NOT_READ:
        return _code_among(ix.moments, row[MOMENT_AT], row[MOMENT_END], row[MOMENT_FIRST], moment)
    address = address_number(text, i, size)
    if address != NOT_READ:
        return _code_among(
            ix.addresses, row[ADDRESS_AT], row[ADDRESS_END], row[ADDRESS_FIRST], address
        )
    return np.int64(NOT_READ)
