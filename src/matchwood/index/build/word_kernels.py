"""Bytes of rule texts by class, and the words that connect predicates."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.programs import AND, FALSE, NOT, OR, XNOR, XOR

# What `keyword` returns for `between`: the number after those of the operators of programs.
BETWEEN_WORD = FALSE + 1

# Classes of bytes. A rule with a byte of class LEAVE outside quotes is left to the parser.
SPACE, WORD, QUOTE, OPEN, CLOSE, OTHER, LEAVE = range(7)

# The class of each byte; those of characters beyond ASCII are of words.
BYTE_CLASSES = np.full(256, OTHER, np.uint8)
for _byte in b" \t\n\r\f\v":
    BYTE_CLASSES[_byte] = SPACE
for _byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.":
    BYTE_CLASSES[_byte] = WORD
BYTE_CLASSES[128:] = WORD
BYTE_CLASSES[ord("'")] = BYTE_CLASSES[ord("`")] = QUOTE
BYTE_CLASSES[ord("(")], BYTE_CLASSES[ord(")")] = OPEN, CLOSE
for _byte in b'?"{}[];':
    BYTE_CLASSES[_byte] = LEAVE
BYTE_CLASSES.flags.writeable = False


@inlined
def skip_space(classes, data, at, end):
    """Where the space that starts at `at`, if any, ends."""
    while at < end and classes[data[at]] == SPACE:
        at += 1
    return at


@inlined
def word_end(classes, data, at, end):
    """Where the word that starts at `at`, if any, ends."""
    while at < end and classes[data[at]] == WORD:
        at += 1
    return at


@lean
def keyword(data, low, high):
    """The connective, or `between`, that a word is in any case of letters; -1 if it is neither."""
    size = high - low
    if size < 2 or size > 7:
        return -1
    a, b = data[low] | 32, data[low + 1] | 32
    if size == 2:
        return OR if a == 111 and b == 114 else -1  # or
    c = data[low + 2] | 32
    if size == 3:
        if a == 97 and b == 110 and c == 100:  # and
            return AND
        if a == 120 and b == 111 and c == 114:  # xor
            return XOR
        if a == 110 and b == 111 and c == 116:  # not
            return NOT
        return -1
    if size == 4:  # xnor
        if a == 120 and b == 110 and c == 111 and data[low + 3] | 32 == 114:
            return XNOR
        return -1
    if size == 7 and a == 98 and b == 101 and c == 116 and data[low + 3] | 32 == 119:
        if data[low + 4] | 32 == 101 and data[low + 5] | 32 == 101 and data[low + 6] | 32 == 110:
            return BETWEEN_WORD
    return -1
