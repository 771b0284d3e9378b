"""Records of nodes, and the rows of atoms: what builders write and kernels read.

A record is an int64 header and its operands: `inline` words, then `rest` references. The access
operand of an `and` comes first: inline, or else first of the rest. All words are drawn from the
sign bit down.

    header    | used 1 | node 31 | is_and 1 | access 2 | inline 15 | rest 14 |
    interval  | 0    1 | slot 18 | negated 1 | low 22 | high 22 |
    several   | 1    1 | slot 18 | row 45 |
    reference | number 32 | target 32 |

header:    used says that another node asks for this one (the header is then below zero); access
           is 1 where the access operand is inline, else 0. `reuse.narrow` splits nodes until none
           has more than 8,000 operands, so that `inline` and `rest` fit. Nodes are numbered below
           2**31, because records are found by int32 positions.
interval:  an inline operand, true if low <= code of slot <= high. Only slots below MAX_SLOTS with
           at most CODE_MASK codes are inline; low may be high + 1, for what is never true.
several:   an inline literal of several intervals: the row is its place in `row_literal`.
reference: an operand that is not inline. Of an opaque literal, the target is the literal and the
           number its row; of a node, the target is `first` + where its record starts, and the
           number counts it among the used nodes. Targets stay below 2**32, rows and used nodes
           below 2**31.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.compiled import codec

_NODE_SHIFT = 32
_NODE_MASK = (1 << 31) - 1
_IS_AND_SHIFT = 31
_ACCESS_SHIFT = 29
_ACCESS_MASK = 3
_INLINE_SHIFT = 14
_INLINE_MASK = (1 << 15) - 1
_REST_MASK = (1 << 14) - 1
_SLOT_SHIFT = 45
_SLOT_MASK = (1 << 18) - 1
_NEGATED_SHIFT = 44
_LOW_SHIFT = 22
_ROW_MASK = (1 << _SLOT_SHIFT) - 1
_NUMBER_SHIFT = 32
_TARGET_MASK = (1 << 32) - 1

# The sign bit. Numba would take the plain integer for an unsigned one.
_SIGN = np.int64(-(1 << 63))

# The highest code that an inline word can hold.
CODE_MASK = (1 << 22) - 1

# Slots that an inline word can name: those below this number.
MAX_SLOTS = 1 << 18

# Says that a literal has no inline word. It cannot be 0: that is `is null` of slot 0.
NOT_INLINE = -1

# The code of an attribute that is not there, or null.
MISSING = 0

# The code of a value that is there, but of no family that rules compare.
OTHER = 1

# Families of values that a slot can have codes of: numbers, strings, Booleans and times.
FAMILIES = 4

# The kind of an atom that is a set of codes.
INTERVAL = 0

# The kind of an atom that one string decides, such as a pattern.
VALUE_TEST = 1

# The kind of an atom that is decided outside the kernels, when something depends on it.
LAZY = 2

# Columns of the array `literal_group`, which has one row per group of rules that are one literal.
LITERAL, GROUP = range(2)

# Columns of the array `atom_row`, which has one row per atom.
ATOM_COLUMNS = 7
SLOT, FAMILY_LOW, FAMILY_HIGH, IV_START, IV_END, KIND, OPAQUE = range(ATOM_COLUMNS)


@codec
def code_of_list(number: Any) -> Any:
    """What an event has in place of the code of a slot whose value is a list: below zero.

    >>> code_of_list(0), list_of_code(-1), list_of_code(-4)
    (-1, 0, 3)
    """
    return -1 - number


@codec
def list_of_code(code: Any) -> Any:
    """The number of a list, given what stands in place of its code, which is below zero."""
    return -1 - code


@codec
def pack_header(node: Any, is_and: Any, access: Any, inline: Any, rest: Any) -> Any:
    """The header of a record that no other node asks for; see `mark_used`."""
    return (
        np.int64(node) << _NODE_SHIFT
        | np.int64(is_and) << _IS_AND_SHIFT
        | np.int64(access) << _ACCESS_SHIFT
        | np.int64(inline) << _INLINE_SHIFT
        | np.int64(rest)
    )


@codec
def mark_used(header: Any) -> Any:
    """The header of a node that another node asks for."""
    return header | _SIGN


@codec
def is_used(header: Any) -> Any:
    """Whether another node asks for this one."""
    return header < 0


@codec
def header_node(header: Any) -> Any:
    """The number of the node."""
    return (header >> _NODE_SHIFT) & _NODE_MASK


@codec
def header_is_and(header: Any) -> Any:
    """1 for an `and`, 0 for an `or`."""
    return (header >> _IS_AND_SHIFT) & 1


@codec
def header_access(header: Any) -> Any:
    """1 if the access operand is inline, else 0; a forged header may hold 2 or 3."""
    return (header >> _ACCESS_SHIFT) & _ACCESS_MASK


@codec
def header_inline(header: Any) -> Any:
    """How many inline words follow the header."""
    return (header >> _INLINE_SHIFT) & _INLINE_MASK


@codec
def header_rest(header: Any) -> Any:
    """How many references follow the inline words."""
    return header & _REST_MASK


@codec
def pack_interval(slot: Any, negated: Any, low: Any, high: Any) -> Any:
    """The inline word of a literal of one interval of codes."""
    return (
        np.int64(slot) << _SLOT_SHIFT
        | np.int64(negated) << _NEGATED_SHIFT
        | np.int64(low) << _LOW_SHIFT
        | np.int64(high)
    )


@codec
def pack_several(slot: Any, row: Any) -> Any:
    """The inline word of a literal of several intervals, or with row 0 one still to be numbered."""
    return _SIGN | np.int64(slot) << _SLOT_SHIFT | np.int64(row)


@codec
def has_row(word: Any) -> Any:
    """Whether an inline word stands for a literal of several intervals."""
    return word < 0


@codec
def word_slot(word: Any) -> Any:
    """The slot of an inline word of either form."""
    return (word >> _SLOT_SHIFT) & _SLOT_MASK


@codec
def word_negated(word: Any) -> Any:
    """1 if an interval is that of a negated literal, which matters for lists, else 0."""
    return (word >> _NEGATED_SHIFT) & 1


@codec
def word_low(word: Any) -> Any:
    """The lowest code of an interval."""
    return (word >> _LOW_SHIFT) & CODE_MASK


@codec
def word_high(word: Any) -> Any:
    """The highest code of an interval."""
    return word & CODE_MASK


@codec
def word_row(word: Any) -> Any:
    """The place in `row_literal` of an inline literal of several intervals."""
    return word & _ROW_MASK


@codec
def pack_reference(number: Any, target: Any) -> Any:
    """The word of an operand that is not inline."""
    return np.int64(number) << _NUMBER_SHIFT | np.int64(target)


@codec
def reference_number(word: Any) -> Any:
    """The row of an opaque literal, or a node's number among those used."""
    return word >> _NUMBER_SHIFT


@codec
def reference_target(word: Any) -> Any:
    """An opaque literal, or `first` + where the record of a node starts."""
    return word & _TARGET_MASK
