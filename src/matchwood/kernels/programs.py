"""Programs: rules as postfix words, with the codec of a word and the references of nodes.

The program of a rule is a run of int32 words, operands before their operator:

    word >= 0   a literal    | atom: 30 bits | negated: 1 bit |          = 2 * atom + negated
    word <  0   an operator  -1 - | operands: 28 bits | operator: 3 bits |

There are eight operators, so three bits suffice. A rule is shorter than 2**28 words, which bounds
the operands of one operator; atoms are numbered below 2**30, so that a literal stays below 2**31.

GUARD is for a literal that is undefined unless some others are true. They come first, and where one
of them is false neither the literal nor its negation is looked at.

Once nodes are shared, a reference is a literal below `first` (twice the number of atoms), a node
from `first` on, or one of the two constants ALWAYS and NEVER.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import codec

# The operators of a program. AND and OR are also the operators of shared nodes.
NOT, AND, OR, XOR, XNOR, TRUE, FALSE, GUARD = range(8)

# The reference of a rule that is true of every event.
ALWAYS = -1

# The reference of a rule that is true of no event.
NEVER = -2

# Bits of an operator word that hold the operator; its number of operands lies above them.
_OPERATOR_BITS = 3
_OPERATOR_MASK = (1 << _OPERATOR_BITS) - 1


@codec
def pack_operator(operator: Any, operands: Any) -> Any:
    """The word of an operator with so many operands.

    >>> pack_operator(AND, 2), operator_of(-18), operands_of(-18)
    (-18, 1, 2)
    """
    return -1 - (operands << _OPERATOR_BITS | operator)


@codec
def operator_of(word: Any) -> Any:
    """The operator of an operator word, which is below zero."""
    return (-1 - word) & _OPERATOR_MASK


@codec
def operands_of(word: Any) -> Any:
    """The number of operands of an operator word, which is below zero."""
    return (-1 - word) >> _OPERATOR_BITS


@codec
def pack_literal(atom: Any, negated: Any) -> Any:
    """The word of a literal: an atom, or its negation.

    >>> pack_literal(5, 1), atom_of(11), is_negated(11)
    (11, 5, 1)
    """
    return 2 * atom + negated


@codec
def atom_of(literal: Any) -> Any:
    """The atom of a literal."""
    return literal >> 1


@codec
def is_negated(literal: Any) -> Any:
    """1 if a literal is the negation of its atom, else 0."""
    return literal & 1


@codec
def negation_of(literal: Any) -> Any:
    """The literal that is true where this one is false, provided that the atom is defined.

    >>> negation_of(pack_literal(5, 0)), negation_of(pack_literal(5, 1))
    (11, 10)
    """
    return literal ^ 1
