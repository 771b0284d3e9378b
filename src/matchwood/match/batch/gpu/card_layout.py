"""Where things are in the arrays of a card.

A launch costs the host some microseconds per array, so that a kernel takes few of them. Numbers
that say where something is are places in the array itself; what is looked up for every node needs
no other place.

    program   items, then runs, then the operands that are nodes
    literals  the operands that are literals (`pack_operand`), and behind them the keys of all
              literals, from `keys_at` on
    index     FAMILIES_AT, the rows of atoms, the bounds of their intervals, the ends of families
    batch     LISTS_AT, TRUE_AT, the place of the row of each slot, the bounds of lists, the codes
              of lists, the masks of opaque atoms, the codes as they come, and one row per slot
    masks     the mask of each node, and behind them two words per literal, which say of which of
              the events that have its slot it is true

An item is the place of its run, and the first and the end of some of its nodes.

A row of a batch says which events have a slot (a word for every 32 events), how many events have it
before each of these words, and how many there are in all. It begins with codes: if at most
FEW_EVENTS events have the slot, theirs, one after the other; else those of all events, so that the
codes that lanes read together are side by side. The first row stands for slots that no event has.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import codec

# Words of a mask, and events of a word.
CARD_WORDS = 32
WORD_EVENTS = 32

# Events of a mask.
CARD_EVENTS = CARD_WORDS * WORD_EVENTS

# Columns of an item.
ITEM_COLUMNS = 3
ITEM_RUN, ITEM_FIRST, ITEM_END = range(ITEM_COLUMNS)

# Columns of a run on the card: 1 for `and`s; how many literals and nodes each node has; where its
# literals begin in `literals`, and its nodes in the program; its first node; and 1 if its nodes are
# the roots of rules, whose events are counted.
CARD_RUN_COLUMNS = 7
(
    CARD_IS_AND,
    CARD_LITERALS,
    CARD_NODES,
    CARD_LITERAL,
    CARD_NODE,
    CARD_FIRST,
    CARD_HAS_RULES,
) = range(CARD_RUN_COLUMNS)

# What an index begins with: where the ends of families are.
FAMILIES_AT = 0
INDEX_HEADER = 1

# What a batch begins with: where the bounds of lists and the masks of opaque atoms are.
LISTS_AT, TRUE_AT = range(2)
BATCH_HEADER = 2

# The most events that have a slot of which each literal of it says which by the bits of one number.
FEW_EVENTS = 64

# A row of a batch, in words: codes; which events have the slot; how many before each word; how many
# in all; and how many of these have a list. Rows begin at multiples of the last number, so that the
# lanes of a warp read whole lines of memory.
ROW_THERE = CARD_EVENTS
ROW_BEFORE = ROW_THERE + CARD_WORDS
ROW_COUNT = ROW_BEFORE + CARD_WORDS
ROW_LISTS = ROW_COUNT + 1
ROW_ALIGNMENT = CARD_WORDS
ROW_SIZE = ROW_COUNT + ROW_ALIGNMENT

# Words of a literal behind the masks of nodes.
LITERAL_WORDS = 2

# The node of a rule that is true of no event.
NO_NODE = -1

# Nodes of a program at most, so that the words of their masks are numbered with 32 bits.
MOST_NODES = (1 << 31) // CARD_WORDS - 1

_SLOT_SHIFT = 32
_LITERAL_MASK = (1 << _SLOT_SHIFT) - 1


@codec
def pack_operand(slot: Any, literal: Any) -> Any:
    """An operand that is a literal which is false of events without its slot.

    >>> operand_slot(pack_operand(7, 9)), operand_literal(pack_operand(7, 9))
    (7, 9)
    """
    return slot << _SLOT_SHIFT | literal


@codec
def pack_other_operand(literal: Any) -> Any:
    """An operand that is any other literal: below zero.

    >>> pack_other_operand(9), other_literal(-10)
    (-10, 9)
    """
    return -1 - literal


@codec
def operand_slot(operand: Any) -> Any:
    return operand >> _SLOT_SHIFT


@codec
def operand_literal(operand: Any) -> Any:
    return operand & _LITERAL_MASK


@codec
def other_literal(operand: Any) -> Any:
    return -1 - operand
