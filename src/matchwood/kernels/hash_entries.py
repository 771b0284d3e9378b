"""Entries of hash tables: the number of something, and a part of its hash.

    | tag: 31 bits | number: 32 bits |, or EMPTY

The tag is the upper part of a hash of 63 bits, whose lower part says where in the table an entry
is. What has another tag is passed over without a look at it.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import codec

# In place of an entry: there is none.
EMPTY = -1

_NUMBER_BITS = 32
_NUMBER_MASK = (1 << _NUMBER_BITS) - 1


@codec
def pack_entry(hashed: Any, number: Any) -> Any:
    """The entry of what has this hash, which is not below zero, and this number.

    >>> entry_number(pack_entry(7 << 40, 5)), may_be(pack_entry(7 << 40, 5), 7 << 40)
    (5, True)
    """
    return hashed >> _NUMBER_BITS << _NUMBER_BITS | number


@codec
def may_be(entry: Any, hashed: Any) -> Any:
    """Whether what an entry stands for may have this hash."""
    return (entry ^ hashed) >> _NUMBER_BITS == 0


@codec
def entry_number(entry: Any) -> Any:
    """The number in an entry."""
    return entry & _NUMBER_MASK
