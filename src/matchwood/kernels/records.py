"""Records of nodes, and the rows of atoms: what builders write and kernels read.

A record is an int64 header and its operands: `inline` words, then `rest` references, two in each
word. The access operand of an `and` comes first: inline, or else first of the rest. All words are
drawn from the sign bit down.

    header    | used 1 | push 32 | is_and 1 | root 1 | access 1 | inline 14 | rest 14 |
    interval  | 0    1 | slot 18 | negated 1 | low 22 | high 22 |
    several   | 1    1 | slot 18 | absent 1  | literal 44 |
    rest      | reference 32 | reference 32 |

header:    used says that another node asks for this one (the header is then below zero). push is
           what follows when the node is true: the position of its push list, or what stands in its
           place (`pushes`), plus 2**31. root says that the node is the root of a group of rules;
           the group is then the last one of the push list. access is 1 where the access operand is
           inline, else 0. `reuse.narrow` splits nodes until none has more than 8,000 operands, so
           that `inline` and `rest` fit. Records are found by int32 positions.
interval:  an inline operand, true if low <= code of slot <= high. Only slots below MAX_SLOTS with
           at most CODE_MASK codes are inline; low may be high + 1, for what is never true.
several:   an inline literal of several intervals. absent is 1 if it may be true of an event without
           the attribute, or with a value of no family.
rest:      two operands that are not inline, the first in the low half; the high half is 0 if there
           is no second one. A reference is an opaque literal, or `first` + where the record of a
           node starts; it stays below 2**32.

A record has at least two words, so that half its position, rounded down, tells its node from all
others: `state_of_record`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.compiled import codec

_PUSH_SHIFT = 31
_PUSH_MASK = (1 << 32) - 1
_PUSH_OFFSET = 1 << 31
_IS_AND_SHIFT = 30
_ROOT_SHIFT = 29
_ACCESS_SHIFT = 28
_INLINE_SHIFT = 14
_INLINE_MASK = (1 << 14) - 1
_REST_MASK = (1 << 14) - 1
_SLOT_SHIFT = 45
_SLOT_MASK = (1 << 18) - 1
_NEGATED_SHIFT = 44
_LOW_SHIFT = 22
_LITERAL_MASK = (1 << _NEGATED_SHIFT) - 1
_REFERENCE_BITS = 32
_REFERENCE_MASK = (1 << _REFERENCE_BITS) - 1

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

# The moment, in nanoseconds, that stands for a time that is missing.
NO_MOMENT = np.iinfo(np.int64).min

# The code of a value that is there, but of no family that rules compare.
OTHER = 1

# The first code of values that are of a family.
FIRST_VALUE = 2

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

# Columns of the rows of atoms: the row of `families` that says what an atom has in common with
# others; where its intervals start, which end where those of the next row do; and `pack_opaque`, or
# -1 for a set of codes.
ROW_COLUMNS = 3
ROW_FAMILY, ROW_START, ROW_OPAQUE = range(ROW_COLUMNS)

# Columns of the array `families`: a slot, and the first and last code of one family there.
FAMILY_COLUMNS = 3
FAMILY_SLOT, FAMILY_FIRST, FAMILY_LAST = range(FAMILY_COLUMNS)

# Columns of atoms where each has a row that says everything, with numbers in place of codes.
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
def pack_header(is_and: Any, root: Any, access: Any, inline: Any, rest: Any) -> Any:
    """The header of a record that no other node asks for (`mark_used`), without a push list
    (`with_push`)."""
    return (
        np.int64(is_and) << _IS_AND_SHIFT
        | np.int64(root) << _ROOT_SHIFT
        | np.int64(access) << _ACCESS_SHIFT
        | np.int64(inline) << _INLINE_SHIFT
        | np.int64(rest)
    )


@codec
def mark_used(header: Any) -> Any:
    """The header of a node that another node asks for."""
    return header | _SIGN


@codec
def with_push(header: Any, push: Any) -> Any:
    """A header as `pack_header` makes it, with the place of its push list."""
    return header | (np.int64(push) + _PUSH_OFFSET) << _PUSH_SHIFT


@codec
def is_used(header: Any) -> Any:
    """Whether another node asks for this one."""
    return header < 0


@codec
def header_push(header: Any) -> Any:
    """The position of the push list of a node, or what stands in its place."""
    return ((header >> _PUSH_SHIFT) & _PUSH_MASK) - _PUSH_OFFSET


@codec
def header_is_root(header: Any) -> Any:
    """1 for the root of a group of rules, else 0."""
    return (header >> _ROOT_SHIFT) & 1


@codec
def header_is_and(header: Any) -> Any:
    """1 for an `and`, 0 for an `or`."""
    return (header >> _IS_AND_SHIFT) & 1


@codec
def header_access(header: Any) -> Any:
    """1 if the access operand is inline, else 0."""
    return (header >> _ACCESS_SHIFT) & 1


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
def pack_several(slot: Any, absent: Any, literal: Any) -> Any:
    """The inline word of a literal of several intervals."""
    absent = np.int64(absent) << _NEGATED_SHIFT
    return _SIGN | np.int64(slot) << _SLOT_SHIFT | absent | np.int64(literal)


@codec
def is_several(word: Any) -> Any:
    """Whether an inline word stands for a literal of several intervals."""
    return word < 0


@codec
def may_hold(word: Any, code: Any) -> Any:
    """Whether an inline word of several intervals may be true of a code, or of a list."""
    return code < 0 or code > OTHER or (word >> _NEGATED_SHIFT) & 1 != 0


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
def word_literal(word: Any) -> Any:
    """The literal of an inline word of several intervals."""
    return word & _LITERAL_MASK


@codec
def add_reference(word: Any, number: Any, reference: Any) -> Any:
    """A word of the rest with one more reference, which is operand `number` of the rest."""
    return word | np.int64(reference) << (number & 1) * _REFERENCE_BITS


@codec
def reference_of(word: Any, number: Any) -> Any:
    """Operand `number` of the rest, given the word that it is in."""
    return (word >> (number & 1) * _REFERENCE_BITS) & _REFERENCE_MASK


@codec
def reference_at(records: Any, begin: Any, number: Any) -> Any:
    """Operand `number` of the rest, whose words begin at `begin`."""
    return reference_of(records[begin + (number >> 1)], number)


@codec
def words_of_record(inline: Any, rest: Any) -> Any:
    """How many words a record has, given how many operands of either kind it has."""
    return 1 + inline + ((rest + 1) >> 1)


@codec
def record_end(at: Any, header: Any) -> Any:
    """Where the record that starts at `at` ends."""
    return at + words_of_record(header_inline(header), header_rest(header))


@codec
def state_of_record(record: Any) -> Any:
    """The number that the states of a node have, given where its record starts."""
    return record >> 1


@codec
def pack_opaque(number: Any, kind: Any) -> Any:
    """What a row says of an atom that is not a set of codes, the `number`th of them.

    >>> packed = pack_opaque(7, LAZY)
    >>> opaque_number(packed), opaque_kind(packed) == LAZY, opaque_number(-1)
    (7, True, -1)
    """
    return number << 1 | (kind - VALUE_TEST)


@codec
def opaque_number(opaque: Any) -> Any:
    """The number among the atoms that are not sets of codes; -1 for one that is."""
    return opaque >> 1


@codec
def opaque_kind(opaque: Any) -> Any:
    """VALUE_TEST or LAZY."""
    return VALUE_TEST + (opaque & 1)
