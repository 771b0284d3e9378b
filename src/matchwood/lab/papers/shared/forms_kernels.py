"""Kernels that flatten shared nodes and write each rule as a tree of its own."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import ALWAYS, FALSE, TRUE, pack_operator


@compiled
def flatten(operator, start, operands, roots, first):
    """Nodes without operands of their own operator; equal nodes are one, so equal operands are."""
    mapped = np.empty(len(operator), np.int64)
    size = 16
    while size < 2 * len(operator):
        size *= 2
    table = np.full(size, -1, np.int32)
    new_operator = np.empty(len(operator), np.uint8)
    new_start = np.zeros(len(operator) + 1, np.int64)
    kept = np.empty(len(operands) + 16, np.int32)
    items = np.empty(64, np.int32)
    count = 0
    for node in range(len(operator)):
        op = operator[node]
        width = 0
        for i in range(start[node], start[node + 1]):
            ref = np.int64(operands[i])
            low, high = np.int64(0), np.int64(0)
            if ref >= first:
                ref = mapped[ref - first]
                if ref >= first and new_operator[ref - first] == op:
                    low, high = new_start[ref - first], new_start[ref - first + 1]
            if width + max(high - low, 1) > len(items):
                larger = np.empty(2 * len(items) + high - low, np.int32)
                larger[:width] = items[:width]
                items = larger
            if high > low:
                items[width : width + high - low] = kept[low:high]
                width += high - low
            else:
                items[width] = ref
                width += 1
        width = _sorted_unique(items, width)
        if width == 1:
            mapped[node] = items[0]
            continue
        if new_start[count] + width > len(kept):
            larger = np.empty(2 * len(kept) + width, np.int32)
            larger[: new_start[count]] = kept[: new_start[count]]
            kept = larger
        number = _intern(op, items, width, table, new_operator, new_start, kept, count)
        mapped[node] = first + number
        count = max(count, number + 1)
    new_roots = np.empty(len(roots), np.int32)
    for rule in range(len(roots)):
        new_roots[rule] = roots[rule] if roots[rule] < first else mapped[roots[rule] - first]
    return new_operator[:count], new_start[: count + 1], kept, new_roots


@compiled
def _sorted_unique(items, width):
    """Sort items[:width] and drop duplicates; returns how many are left."""
    if width > 24:
        items[:width] = np.sort(items[:width])
    else:
        for i in range(1, width):
            value = items[i]
            j = i - 1
            while j >= 0 and items[j] > value:
                items[j + 1] = items[j]
                j -= 1
            items[j + 1] = value
    kept = 1
    for i in range(1, width):
        if items[i] != items[kept - 1]:
            items[kept] = items[i]
            kept += 1
    return kept


@compiled
def _intern(op, items, width, table, operator, start, kept, count):
    """The number of the node `op` over items[:width]; `count` if it is new, and written."""
    mixed = np.uint64(14695981039346656037) + np.uint64(op)
    for i in range(width):
        mixed = (mixed ^ np.uint64(items[i])) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    mask = np.uint64(len(table) - 1)
    position = mixed & mask
    while table[position] >= 0:
        node = table[position]
        if operator[node] == op and start[node + 1] - start[node] == width:
            same = True
            for i in range(width):
                if kept[start[node] + i] != items[i]:
                    same = False
                    break
            if same:
                return np.int64(node)
        position = (position + np.uint64(1)) & mask
    table[position] = count
    operator[count] = op
    kept[start[count] : start[count] + width] = items[:width]
    start[count + 1] = start[count] + width
    return np.int64(count)


@compiled
def tree_sizes(operator, start, operands, roots, first, most):
    """Words of each rule as a tree; `most` + 1 stands for anything above `most`."""
    size = np.empty(len(operator), np.int64)
    for node in range(len(operator)):
        words = np.int64(1)
        for i in range(start[node], start[node + 1]):
            words += 1 if operands[i] < first else size[operands[i] - first]
        size[node] = min(words, most + 1)
    sizes = np.ones(len(roots), np.int64)
    for rule in range(len(roots)):
        if roots[rule] >= first:
            sizes[rule] = size[roots[rule] - first]
    return sizes


@compiled
def write_trees(operator, start, operands, roots, first, ends, words):
    """Each rule as a tree, in prefix order."""
    todo = np.empty(1024, np.int32)
    for rule in range(len(roots)):
        at = ends[rule]
        todo[0] = roots[rule]
        top = 1
        while top > 0:
            top -= 1
            ref = todo[top]
            if ref < 0:
                words[at] = pack_operator(TRUE if ref == ALWAYS else FALSE, 0)
            elif ref < first:
                words[at] = ref
            else:
                low, high = start[ref - first], start[ref - first + 1]
                words[at] = pack_operator(operator[ref - first], high - low)
                if top + high - low > len(todo):
                    larger = np.empty(2 * len(todo) + high - low, np.int32)
                    larger[:top] = todo[:top]
                    todo = larger
                for i in range(high - 1, low - 1, -1):
                    todo[top] = operands[i]
                    top += 1
            at += 1
