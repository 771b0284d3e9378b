"""Lower bounds that no ordering can beat, by exhaustive search: for small problems.

`least` knows the truth and says what has to be evaluated to prove it. `Optimum` knows only
selectivities, as the orderings do, and at each step evaluates the predicate that leaves the least
expected cost, over everything that may follow.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from matchwood.kernels.array_types import BoolArray
from matchwood.lab.papers.ordering.problem import Evaluated, OrderingProblem

# The most predicates of a problem.
MOST = 12

Known = tuple[bool | None, ...]


def least(problem: OrderingProblem, truth: BoolArray) -> float:
    """The least cost of predicates that decide all subscriptions, the truth being known.

    That is all predicates of subscriptions that match, and a false one of each other.
    """
    _check(problem)
    subscriptions = _sets(problem)
    matched = problem.matched(truth)
    needed = {t for i, predicates in enumerate(subscriptions) for t in predicates if matched[i]}
    open_ = [predicates for i, predicates in enumerate(subscriptions) if not matched[i]]
    false = sorted({t for predicates in open_ for t in predicates if not truth[t]})
    best = float("inf")
    for size in range(len(false) + 1):
        for chosen in combinations(false, size):
            if all(predicates & set(chosen) for predicates in open_):
                best = min(best, float(problem.cost[list(chosen)].sum()))
    return best + float(problem.cost[sorted(needed)].sum())


class Optimum:
    """The best that can be done without knowing the truth."""

    def __init__(self, problem: OrderingProblem) -> None:
        _check(problem)
        self._problem = problem
        self._sets = _sets(problem)
        self._known: dict[Known, tuple[float, int]] = {}

    @property
    def expected(self) -> float:
        """The expected cost of an event."""
        return self._best((None,) * len(self._problem.selectivity))[0]

    def evaluate(self, truth: BoolArray) -> Evaluated:
        known: Known = (None,) * len(self._problem.selectivity)
        evaluated = []
        while (chosen := self._best(known)[1]) >= 0:
            evaluated.append(chosen)
            known = _with(known, chosen, bool(truth[chosen]))
        return Evaluated(np.array(evaluated, np.int32), self._problem.matched(truth))

    def _best(self, known: Known) -> tuple[float, int]:
        """(expected cost from here, predicate to evaluate now or -1)."""
        remembered = self._known.get(known)
        if remembered is not None:
            return remembered
        open_ = [
            predicates
            for predicates in self._sets
            if not any(known[t] is False for t in predicates)
        ]
        choices = {t for predicates in open_ for t in predicates if known[t] is None}
        best = (float("inf"), -1) if choices else (0.0, -1)
        for t in sorted(choices):
            chance = float(self._problem.selectivity[t])
            true, false = (self._best(_with(known, t, value))[0] for value in (True, False))
            cost = float(self._problem.cost[t]) + chance * true + (1 - chance) * false
            best = min(best, (cost, t))
        self._known[known] = best
        return best


def _with(known: Known, predicate: int, value: bool) -> Known:
    return (*known[:predicate], value, *known[predicate + 1 :])


def _sets(problem: OrderingProblem) -> list[set[int]]:
    bounds = zip(problem.start[:-1], problem.start[1:], strict=True)
    return [set(problem.predicate[low:high].tolist()) for low, high in bounds]


def _check(problem: OrderingProblem) -> None:
    if len(problem.selectivity) > MOST:
        raise ValueError(f"a problem of up to {MOST} predicates is looked through completely")
