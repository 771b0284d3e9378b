"""Naive (§5.2): subscription by subscription, until a predicate is false or none is left.

A predicate that was evaluated before is not evaluated again; that a later subscription has one
that is known to be false is noticed only when its turn comes.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled
from matchwood.papers.ordering.problem import Bools, Evaluated, Problem


class Naive:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def evaluate(self, truth: Bools) -> Evaluated:
        return Evaluated(*_naive(self._problem.start, self._problem.predicate, truth))


@compiled
def _naive(start, predicate, truth):
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
