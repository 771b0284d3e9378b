"""Where things are in the arrays of a card.

A launch costs the host some microseconds per array, so that a kernel takes few of them: one for the
program, one for the index of a segment, and one for the events of a batch. Numbers that say where
something is are places in the array itself; what is looked up for every node needs no other place.

    program  items, then runs, then the operands that are nodes
    index    FAMILIES_AT, the rows of atoms, the bounds of their intervals, the ends of families
    batch    LISTS_AT, TRUE_AT, the place of the row of each slot, the bounds of lists, the codes of
             lists, the masks of opaque atoms, the codes as they come, and one row per slot

An item is the place of its run, and the first and the end of some of its nodes. A row of a batch
has CARD_EVENTS codes, those that lanes read together side by side, and behind them CARD_WORDS words
that say which events have the slot at all. The first row stands for slots that no event has.
"""

from __future__ import annotations

# Words of a mask, and events of a word.
CARD_WORDS = 32
WORD_EVENTS = 32

# Events of a mask.
CARD_EVENTS = CARD_WORDS * WORD_EVENTS

# Columns of an item.
ITEM_COLUMNS = 3
ITEM_RUN, ITEM_FIRST, ITEM_END = range(ITEM_COLUMNS)

# Columns of a run on the card: 1 for `and`s; how many literals and nodes each node has; where the
# keys of its literals begin in `keys`, and its operands in the program; and its first node.
CARD_RUN_COLUMNS = 6
CARD_IS_AND, CARD_LITERALS, CARD_NODES, CARD_KEY, CARD_NODE, CARD_FIRST = range(CARD_RUN_COLUMNS)

# What an index begins with: where the ends of families are.
FAMILIES_AT = 0
INDEX_HEADER = 1

# What a batch begins with: where the bounds of lists and the masks of opaque atoms are.
LISTS_AT, TRUE_AT = range(2)
BATCH_HEADER = 2

# A row of a batch.
ROW_THERE = CARD_EVENTS
ROW_SIZE = CARD_EVENTS + CARD_WORDS

# The node of a rule that is true of no event.
NO_NODE = -1

# Nodes of a program at most, so that the words of their masks are numbered with 32 bits.
MOST_NODES = (1 << 32) // CARD_WORDS - 1
