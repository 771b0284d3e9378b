"""Kernels that split the constraints of rules into boxes."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled


@compiled
def count_boxes(start, span, most):
    """Boxes of each rule; `most` + 1 stands for more."""
    counts = np.ones(len(start) - 1, np.int64)
    for rule in range(len(counts)):
        count = np.int64(1)
        for c in range(start[rule], start[rule + 1]):
            intervals = span[c + 1] - span[c]
            count = min(count * intervals, most + 1)
        counts[rule] = count
    return counts


@compiled
def split_boxes(start, axis, span, low, high, counts):
    """The arrays of `BoxArrays`; the interval of the last axis changes first."""
    total = np.int64(0)
    intervals = np.int64(0)
    for rule in range(len(counts)):
        total += counts[rule]
        intervals += counts[rule] * (start[rule + 1] - start[rule])
    rule_of = np.empty(total, np.int32)
    box_start = np.zeros(total + 1, np.int64)
    out_axis = np.empty(intervals, np.int32)
    out_low = np.empty(intervals, np.int32)
    out_high = np.empty(intervals, np.int32)
    box = 0
    end = 0
    for rule in range(len(counts)):
        for choice in range(counts[rule]):
            rest = choice
            at = end + start[rule + 1] - start[rule]
            end = at
            for c in range(start[rule + 1] - 1, start[rule] - 1, -1):
                choices = span[c + 1] - span[c]
                chosen = span[c] + rest % choices
                rest //= choices
                at -= 1
                out_axis[at], out_low[at], out_high[at] = axis[c], low[chosen], high[chosen]
            rule_of[box] = rule
            box += 1
            box_start[box] = end
    return rule_of, box_start, out_axis, out_low, out_high
