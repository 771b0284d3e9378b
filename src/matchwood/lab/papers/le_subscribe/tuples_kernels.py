"""Kernels of the hash table of tuples."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import lean

# What a free position of the hash table holds.
FREE = -1


@lean
def position_of(table, start, pool, items, width):
    """Where in the table items[:width] is, or where it would be put."""
    mixed = np.uint64(width)
    for i in range(width):
        mixed = (mixed ^ np.uint64(items[i])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = np.uint64(len(table) - 1)
    position = mixed & mask
    while table[position] != FREE:
        low = start[table[position]]
        if start[table[position] + 1] - low == width:
            same = True
            for i in range(width):
                if pool[low + i] != items[i]:
                    same = False
                    break
            if same:
                break
        position = (position + np.uint64(1)) & mask
    return position


@lean
def fill_table(table, start, pool, count):
    for number in range(count):
        low = start[number]
        items = pool[low : start[number + 1]]
        table[position_of(table, start, pool, items, len(items))] = number


@lean
def add_all(table, start, pool, count, flat_start, flat, numbers):
    for i in range(len(flat_start) - 1):
        items = flat[flat_start[i] : flat_start[i + 1]]
        position = position_of(table, start, pool, items, len(items))
        if table[position] == FREE:
            table[position] = count
            low = start[count]
            for j in range(len(items)):
                pool[low + j] = items[j]
            count += 1
            start[count] = low + len(items)
        numbers[i] = table[position]
    return count
