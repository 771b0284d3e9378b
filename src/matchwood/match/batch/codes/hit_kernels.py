"""Hits of opaque atoms (patterns and calls) in a batch: their bits in masks, and those of lists."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.filling import copy_items
from matchwood.kernels.masks import WORDS


@compiled
def set_bits(masks, which, bounds, atoms):
    """Set each event's bit in the masks of the opaque atoms that are true of its value."""
    for event in range(len(which)):
        value = which[event]
        if value >= 0:
            bit = np.uint64(1) << np.uint64(event & 63)
            for i in range(bounds[value], bounds[value + 1]):
                masks[WORDS * np.int64(atoms[i]) + (event >> 6)] |= bit


@compiled
def clear_bits(masks, which, bounds, atoms):
    """Undo `set_bits` for some events; the hits may be those of a whole table."""
    for event in range(len(which)):
        value = which[event]
        if value >= 0:
            for i in range(bounds[value], bounds[value + 1]):
                masks[WORDS * np.int64(atoms[i]) + (event >> 6)] = np.uint64(0)


@compiled
def join_hits(list_bounds, which, bounds, atoms, most):
    """(bounds, atoms): the distinct hits of each list, from those of its elements."""
    rows = len(list_bounds) - 1
    out_bounds = np.zeros(rows + 1, np.int64)
    seen = np.full(most, -1, np.int64)
    out = np.empty(1024, np.int32)
    top = 0
    for row in range(rows):
        for i in range(list_bounds[row], list_bounds[row + 1]):
            value = which[i]
            if value < 0:
                continue
            if top + bounds[value + 1] - bounds[value] > len(out):
                grown = np.empty(2 * len(out) + bounds[value + 1] - bounds[value], np.int32)
                copy_items(out, grown, top)
                out = grown
            for j in range(bounds[value], bounds[value + 1]):
                if seen[atoms[j]] != row:
                    seen[atoms[j]] = row
                    out[top] = atoms[j]
                    top += 1
        out_bounds[row + 1] = top
    return out_bounds, out[:top].copy()
