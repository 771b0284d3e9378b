"""Kernels of non-equality quarantining: testing bounds, and counting predicates."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, HIGH, LOW


@lean
def match(out, partly, at, size, rows, codes):
    """Lines 4 to 8: keep those of out[:partly] whose bounds are true.

    Returns how many they are, and how many bounds were tested.
    """
    match_count = 0
    tested = 0
    for i in range(partly):
        rule = out[i]
        true = True
        for row in range(at[rule], at[rule] + size[rule]):
            low, high = rows[row, LOW], rows[row, HIGH]
            if low == high:
                continue
            tested += 1
            code = codes[rows[row, AXIS]]
            if code < low or code > high:
                true = False
                break
        if true:
            out[match_count] = rule
            match_count += 1
    return match_count, tested


@lean
def complete(hits, needed, neqsub, out, match_count):
    """Lines 17 to 21, over every seat: append the true rules to `out`; returns how many it has."""
    for seat in range(len(hits)):
        if hits[seat] == needed[seat]:
            out[match_count] = neqsub[seat]
            match_count += 1
    return match_count
