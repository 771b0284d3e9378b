"""Kernels of equality-preferred: which rules have all of their bounds counted."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean


@lean
def complete(hits, needed, neqsub, out, partial):
    """Lines 12 to 16: write the true rules to `out`; returns how many.

    At first, out[:partial] are the rules whose equalities are true.
    """
    match_count = 0
    for i in range(partial):
        rule = out[i]
        if hits[rule] == needed[rule]:
            out[match_count] = rule
            match_count += 1
    for rule in neqsub:
        if hits[rule] == needed[rule]:
            out[match_count] = rule
            match_count += 1
    return match_count
