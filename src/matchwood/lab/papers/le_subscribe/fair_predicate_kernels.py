"""Kernels of fair predicate: which rules have all of their predicates counted."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean


@lean
def complete(hits, needed, out):
    """Lines 13 to 17: every rule."""
    found = 0
    for rule in range(len(hits)):
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
    return found
