"""Kernels of fair predicate: which rules have all of their predicates counted."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean


@lean
def complete(hits, needed, out):
    """Lines 13 to 17, over every rule: write the true ones to `out`; returns how many."""
    match_count = 0
    for rule in range(len(hits)):
        if hits[rule] == needed[rule]:
            out[match_count] = rule
            match_count += 1
    return match_count
