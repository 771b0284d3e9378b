"""The kernel of the ordering Sequential."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled


@compiled
def evaluate(start, predicate, owner_start, owner, truth):
    subscriptions = len(start) - 1
    known = np.zeros(len(truth), np.bool_)
    evaluated = np.empty(len(truth), np.int32)
    undecided = np.ones(subscriptions, np.bool_)
    matched = np.zeros(subscriptions, np.bool_)
    left = start[1:] - start[:-1]
    needed = owner_start[1:] - owner_start[:-1]  # undecided subscriptions of a predicate
    count = 0
    for chosen in range(subscriptions):
        if not undecided[chosen]:
            continue
        for k in range(start[chosen], start[chosen + 1]):
            t = predicate[k]
            if known[t] or needed[t] == 0:
                continue
            known[t] = True
            evaluated[count] = t
            count += 1
            for j in range(owner_start[t], owner_start[t + 1]):
                subscription = owner[j]
                if not undecided[subscription]:
                    continue
                left[subscription] -= 1
                if truth[t] and left[subscription] > 0:
                    continue
                undecided[subscription] = False
                matched[subscription] = truth[t]
                for z in range(start[subscription], start[subscription + 1]):
                    needed[predicate[z]] -= 1
    return evaluated[:count], matched
