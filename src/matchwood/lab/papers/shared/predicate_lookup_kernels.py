"""The kernel that finds the literals that are true of an event."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.compiled import lean
from matchwood.match.event.stab_kernels import stab


class LiteralTrees(NamedTuple):
    """The stabbing trees of literals, with the names that `stab` reads; each entry is a literal."""

    tree_at: Int32Array
    tree_size: Int32Array
    tree_points: Int32Array
    tree_start: Int32Array
    stab_bound: Int32Array
    stab_push: Int32Array


class TrueLiterals(NamedTuple):
    """Where `stab` writes entries."""

    queue: Int32Array


@lean
def stab_codes(trees, slots, codes, out):
    """Write the literals that are true of single codes to `out`; returns how many."""
    top = 0
    for i in range(len(slots)):
        if codes[i] >= 0:  # otherwise it is a list
            top = stab(slots[i], codes[i], trees, out, top)
    return top
