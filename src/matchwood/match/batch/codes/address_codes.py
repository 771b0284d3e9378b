"""Columns of IPv4 addresses to codes of a second slot, all at once.

Reading an address takes Python some microseconds. Those that are spelt as addresses usually are, as
four numbers without leading zeros, are read by Arrow; all other strings are left to the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.index.build.slots import Slot
from matchwood.kernels.array_types import Int64Array
from matchwood.language.values import Family

# A number from 0 to 255 without leading zeros, and an address of four of them.
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_ADDRESS = rf"^{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE}$"

# What each of the four numbers counts for.
_PLACES = np.array([1 << 24, 1 << 16, 1 << 8, 1])

# What the key of an IPv4 address starts with; see `address_key`. The rest is its number in hex.
_VERSION = "4"

# In place of a code: the string is not such an address.
NOT_READ = -1


def ipv4_constants(slot: Slot) -> list[int]:
    """The IPv4 addresses that a second slot compares with, which are the first of its strings."""
    keys = map(str, slot.constants.get(Family.STRING, ()))
    return [int(key[1:], 16) for key in keys if key[0] == _VERSION]


def address_codes(texts: Any, slot: Slot) -> Int64Array:
    """The code of each string of an Arrow array in a second slot; NOT_READ where it is left out."""
    codes = np.full(len(texts), NOT_READ, np.int64)
    if Family.STRING not in slot.first:
        return codes
    texts = texts.cast(pa.large_string())  # of views, Arrow finds no expressions
    readable = pc.match_substring_regex(texts, _ADDRESS).fill_null(False)
    places = np.flatnonzero(readable.to_numpy(zero_copy_only=False))
    if not len(places):
        return codes
    parts = pc.split_pattern(texts.take(pa.array(places)), ".").flatten()
    numbers = parts.cast(pa.int64()).to_numpy().reshape(-1, 4) @ _PLACES
    known = np.array(ipv4_constants(slot), np.int64)
    place = np.searchsorted(known, numbers)
    found = place < len(known)
    found[found] = known[place[found]] == numbers[found]
    codes[places] = slot.first[Family.STRING] + 2 * place + found
    return codes
