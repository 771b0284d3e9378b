"""The words of a record, and the rows of atoms: what builders write and kernels read.

A record is a header word and its operands: `inline` words, then `rest` references.

    header: used << 63 | node << 32 | operator << 31 | access << 29 | inline << 14 | rest
            used: another node asks for this one; access: whether the access operand is inline
    inline: slot << 45 | negated << 44 | low << 22 | high, true where low <= code of slot <= high;
            of a literal of several intervals 1 << 63 | slot << 45 | row, see `row_literal`
    rest:   row << 32 | opaque literal (2 * atom + negated), or
            number among the used nodes << 32 | `first` + where a node's record starts

The access operand of an `and` comes first: inline, or else first of the rest.
"""

from __future__ import annotations

SLOT_SHIFT = 45
NEGATED_SHIFT = 44
LOW_SHIFT = 22
CODE_MASK = (1 << 22) - 1
ACCESS_SHIFT = 29
INLINE_SHIFT = 14
INLINE_MASK = (1 << 15) - 1
REST_MASK = (1 << 14) - 1
SLOT_MASK = (1 << 18) - 1
NODE_MASK = (1 << 31) - 1
REF_MASK = (1 << 32) - 1
MAX_SLOTS = 1 << 18  # slots that an inline word can name
NOT_INLINE = -1  # no inline word: `is null` of slot 0 is the word 0, so that cannot say it

OTHER = 1  # the code of what is there, but of no family
VALUE_TEST, LAZY = 1, 2  # kinds of atoms that codes alone do not decide
# Columns of atom_row
ATOM_COLUMNS = 7
SLOT, FAMILY_LOW, FAMILY_HIGH, IV_START, IV_END, KIND, OPAQUE = range(ATOM_COLUMNS)
