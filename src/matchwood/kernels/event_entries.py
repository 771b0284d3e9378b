"""Events as entries: one int64 per code, in any order, one event after the other or alone.

    entry | slot 32 | code 32 |

A slot from 0 on has a code. Below zero, the code stands for a list of -1 - code values: as many
entries follow, of which only the codes count. The slot HIT has the number of an opaque atom that is
true of the event.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import codec

# In place of a slot: the code is the number of an opaque atom.
HIT = -1

_CODE_BITS = 32
_CODE_MASK = (1 << _CODE_BITS) - 1
_CODE_SIGN = 1 << (_CODE_BITS - 1)


@codec
def pack_entry(slot: Any, code: Any) -> Any:
    """The entry of a code of a slot.

    >>> entry_slot(pack_entry(3, -2)), entry_code(pack_entry(3, -2)), entry_slot(pack_entry(HIT, 5))
    (3, -2, -1)
    """
    return slot << _CODE_BITS | (code & _CODE_MASK)


@codec
def entry_slot(entry: Any) -> Any:
    """The slot of an entry, or HIT."""
    return entry >> _CODE_BITS


@codec
def entry_code(entry: Any) -> Any:
    """The code of an entry, the length of a list as -1 - length, or the number of an atom."""
    return ((entry & _CODE_MASK) ^ _CODE_SIGN) - _CODE_SIGN
