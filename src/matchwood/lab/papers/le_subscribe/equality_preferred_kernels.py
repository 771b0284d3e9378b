"""Kernels of equality-preferred: which rules have all of their bounds counted."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean


@lean
def complete(hits, needed, neqsub, out, partial):
    """Lines 12 to 16: out[:partial] are the rules whose equalities are true."""
    found = 0
    for i in range(partial):
        rule = out[i]
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
    for rule in neqsub:
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
    return found
