"""Kernels of BoP: encoding rules, lists of postings, and matching."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.kernels.programs import AND, operands_of, operator_of

# The kinds of a node, in its first byte: conjunction, disjunction, leaf.
_CONJ, _DISJ, _LEAF = 1, 2, 4
# The minimum of a rule that is false, and of numbers that no rule has.
NEVER = 0
# Columns of a predicate's list: where its rules begin, how many there are, how many have room.
_AT, _SIZE, _ROOM = range(3)


# A number is written seven bits per byte, from the lowest; all bytes but the last have this bit.
_MORE = 128


@inlined
def _write_number(trees, at, number):
    """Write a number from trees[at] on; the position behind it."""
    while number >= _MORE:
        trees[at] = _MORE | (number & (_MORE - 1))
        number >>= 7
        at += 1
    trees[at] = number
    return at + 1


@inlined
def _read_number(trees, at):
    """The number that is written from trees[at] on, and the position behind it."""
    number = np.int64(trees[at] & (_MORE - 1))
    shift = 7
    while trees[at] & _MORE:
        at += 1
        number |= np.int64(trees[at] & (_MORE - 1)) << shift
        shift += 7
    return number, at + 1


@compiled
def encode(words, start):
    """Trees in bytes, where each is, and the minimum of each rule; a constant has no tree."""
    trees = np.empty(6 * len(words) + 16, np.uint8)
    tree_at = np.zeros(len(start) - 1, np.int64)
    minimum = np.zeros(len(start) - 1, np.int32)
    least = np.empty(1024, np.int64)
    at = 0
    for rule in range(len(start) - 1):
        tree_at[rule] = at
        if words[start[rule]] < 0 and operands_of(words[start[rule]]) == 0:
            continue
        for i in range(start[rule], start[rule + 1]):
            word = words[i]
            if word >= 0:
                trees[at] = _LEAF
                number = np.int64(word)
            else:
                trees[at] = _CONJ if operator_of(word) == AND else _DISJ
                number = np.int64(operands_of(word))
            at = _write_number(trees, at + 1, number)
        top = 0
        for i in range(start[rule + 1] - 1, start[rule] - 1, -1):
            word = words[i]
            value = np.int64(1)
            if word < 0:
                top -= 1
                value = least[top]
                for _ in range(operands_of(word) - 1):
                    top -= 1
                    if operator_of(word) == AND:
                        value += least[top]
                    else:
                        value = min(value, least[top])
            if top == len(least):
                larger = np.empty(2 * top, np.int64)
                larger[:top] = least
                least = larger
            least[top] = value
            top += 1
        minimum[rule] = least[0]
    return trees[:at].copy(), tree_at, minimum


@compiled
def make_postings(words, start, lists):
    """The rules of every literal, one after the other; `lists` says where."""
    for word in words:
        if word >= 0:
            lists[word, _ROOM] += 1
    at = 0
    for literal in range(len(lists)):
        lists[literal, _AT] = at
        at += lists[literal, _ROOM]
    rules = np.empty(at, np.int32)
    for rule in range(len(start) - 1):
        for i in range(start[rule], start[rule + 1]):
            if words[i] >= 0:
                postings = lists[words[i]]
                rules[postings[_AT] + postings[_SIZE]] = rule
                postings[_SIZE] += 1
    return rules


@compiled
def add_posting(words, rule, lists, rules, used):
    """Add a rule to the lists of its literals; a list without room moves to the end."""
    for word in words:
        if word < 0:
            continue
        postings = lists[word]
        if postings[_SIZE] == postings[_ROOM]:
            room = 2 * postings[_ROOM] + 2
            if used + room > len(rules):
                total = np.int64(0)
                for literal in range(len(lists)):
                    total += lists[literal, _ROOM]
                larger = np.empty(total + total // 4 + 2 * room + 64, np.int32)
                used = 0
                for literal in range(len(lists)):  # what moved has left holes: close them
                    low, size = lists[literal, _AT], lists[literal, _SIZE]
                    larger[used : used + size] = rules[low : low + size]
                    lists[literal, _AT] = used
                    used += lists[literal, _ROOM]
                rules = larger
            rules[used : used + postings[_SIZE]] = rules[
                postings[_AT] : postings[_AT] + postings[_SIZE]
            ]
            postings[_AT], postings[_ROOM] = used, room
            used += room
        rules[postings[_AT] + postings[_SIZE]] = rule
        postings[_SIZE] += 1
    return rules, used


@lean
def remove_posting(trees, at, rule, lists, rules):
    """Remove a rule from the lists of its literals; returns the bytes of its tree."""
    begin = at
    left = 1  # operands that are still to come, of all operators that are open
    while left > 0:
        kind = trees[at]
        number, at = _read_number(trees, at + 1)
        left -= 1
        if kind != _LEAF:
            left += number
            continue
        postings = lists[number]
        for i in range(postings[_AT], postings[_AT] + postings[_SIZE]):
            if rules[i] == rule:
                postings[_SIZE] -= 1
                rules[i] = rules[postings[_AT] + postings[_SIZE]]
                break
    return at - begin


@compiled
def close_up(trees, tree_at, minimum, size):
    """The trees of the rules that are left, one after the other."""
    out = np.empty(size, np.uint8)
    top = 0
    for rule in range(len(tree_at)):
        if minimum[rule] != NEVER:
            at = tree_at[rule]
            tree_at[rule] = top
            left = 1
            while left > 0:
                begin = at
                number, at = _read_number(trees, at + 1)
                left += number - 1 if trees[begin] != _LEAF else -1
                out[top : top + at - begin] = trees[begin:at]
                top += at - begin
    return out


@lean
def match(true, lists, rules, count, minimum, trees, tree_at, truth, out, state):
    """Write the true rules to `out`; returns how many, entries and nodes visited, candidates."""
    count[:] = 0
    visited = 0
    candidates = 0
    for literal in true:
        postings = lists[literal]
        visited += postings[_SIZE]
        for i in range(postings[_AT], postings[_AT] + postings[_SIZE]):
            rule = rules[i]
            count[rule] += 1
            if count[rule] == minimum[rule]:
                out[candidates] = rule
                candidates += 1
    match_count = 0
    for i in range(candidates):
        value, nodes = _evaluate(trees, tree_at[out[i]], truth, state)
        visited += nodes
        if value:
            out[match_count] = out[i]
            match_count += 1
    return match_count, visited, candidates


@inlined
def _evaluate(trees, at, truth, state):
    """The truth of a tree, and how many nodes it has."""
    kinds, left, values = state[0], state[1], state[2]
    top = 0
    nodes = 0
    while True:
        kind = trees[at]
        number, at = _read_number(trees, at + 1)
        nodes += 1
        if kind != _LEAF:
            kinds[top], left[top], values[top] = kind, number, kind == _CONJ
            top += 1
            continue
        value = np.int64(truth[number])
        while top > 0:
            if kinds[top - 1] == _CONJ:
                values[top - 1] &= value
            else:
                values[top - 1] |= value
            left[top - 1] -= 1
            if left[top - 1] > 0:
                break
            top -= 1
            value = values[top]
        if top == 0:
            return value, nodes
