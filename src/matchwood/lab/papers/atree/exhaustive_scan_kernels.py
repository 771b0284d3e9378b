"""Kernels of Scan: the words of the trees, and one pass over all of them."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import codec, compiled, lean
from matchwood.kernels.programs import OR, TRUE, operands_of, operator_of

# The words of the two constants: operators of length 0.
_FALSE_WORD, _TRUE_WORD = -1, -2


@codec
def pack_tree(length, is_or):
    """The first word of a tree of so many words: -1 - | length: 30 bits | is_or: 1 bit |."""
    return -1 - (2 * length + is_or)


@codec
def unpack_tree(word):
    """(length, is_or) of the first word of a tree, which is below zero."""
    return (-1 - word) >> 1, (-1 - word) & 1


@compiled
def write_lengths(words):
    """Operator words with their numbers of operands become those with their lengths."""
    lengths = np.empty(1024, np.int64)
    top = 0
    for at in range(len(words) - 1, -1, -1):
        length = np.int64(1)
        word = words[at]
        if word < 0:
            op, count = operator_of(word), operands_of(word)
            for _ in range(count):
                top -= 1
                length += lengths[top]
            if count:
                words[at] = pack_tree(length, op == OR)
            else:
                words[at] = _TRUE_WORD if op == TRUE else _FALSE_WORD
        if top == len(lengths):
            larger = np.empty(2 * top, np.int64)
            larger[:top] = lengths
            lengths = larger
        lengths[top] = length
        top += 1


@compiled
def length_of(words, at):
    """The number of words of a tree."""
    return max(1, unpack_tree(words[at])[0]) if words[at] < 0 else 1


@compiled
def close_up(words, tree_at, out):
    top = 0
    for rule in range(len(tree_at)):
        if tree_at[rule] >= 0:
            length = length_of(words, tree_at[rule])
            out[top : top + length] = words[tree_at[rule] : tree_at[rule] + length]
            tree_at[rule] = top
            top += length


@lean
def scan(words, tree_at, truth, out, ends, kinds):
    """Write the true rules to `out`; returns how many, predicates tested, and words read."""
    match_count = 0
    tested = 0
    visited = 0
    for rule in range(len(tree_at)):
        at = tree_at[rule]
        if at < 0:
            continue
        top = 0
        while True:
            word = words[at]
            at += 1
            visited += 1
            if word >= 0:
                true = truth[word] == 1
                tested += 1
            elif word >= _TRUE_WORD:
                true = word == _TRUE_WORD
            else:
                length, kinds[top] = unpack_tree(word)
                ends[top] = at - 1 + length
                top += 1
                continue
            while top > 0:
                if true == (kinds[top - 1] == 1):
                    at = ends[top - 1]
                elif at < ends[top - 1]:
                    break
                top -= 1
            if top == 0:
                break
        if true:
            out[match_count] = rule
            match_count += 1
    return match_count, tested, visited
