"""The kernel of the naive ordering."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled


@compiled
def evaluate(start, predicate, truth):
    known = np.zeros(len(truth), np.bool_)
    evaluated = np.empty(len(truth), np.int32)
    matched = np.zeros(len(start) - 1, np.bool_)
    count = 0
    for subscription in range(len(start) - 1):
        true = True
        for k in range(start[subscription], start[subscription + 1]):
            t = predicate[k]
            if not known[t]:
                known[t] = True
                evaluated[count] = t
                count += 1
            if not truth[t]:
                true = False
                break
        matched[subscription] = true
    return evaluated[:count], matched
