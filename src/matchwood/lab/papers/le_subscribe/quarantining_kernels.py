"""Kernels of non-equality quarantining: testing bounds, and counting predicates."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, HIGH, LOW


@lean
def match(out, partly, at, size, rows, codes):
    """Lines 4 to 8: of out[:partly], those whose bounds are true; also bounds tested."""
    found = 0
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
            out[found] = rule
            found += 1
    return found, tested


@lean
def complete(hits, needed, neqsub, out, found):
    """Lines 17 to 21: every seat."""
    for seat in range(len(hits)):
        if hits[seat] == needed[seat]:
            out[found] = neqsub[seat]
            found += 1
    return found
