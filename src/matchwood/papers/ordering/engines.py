"""The order of the engine (`operators.order`), in the same measure as the paper's algorithms."""

from __future__ import annotations

import numpy as np

from matchwood.operators.order import TRUE, advance, choose, clauses_over, new_state
from matchwood.papers.ordering.problem import Bools, Evaluated, Problem


class Engines:
    """Every predicate is a call with one literal, every subscription a rule of one clause."""

    def __init__(self, problem: Problem) -> None:
        predicates = len(problem.selectivity)
        self._clauses = clauses_over(
            problem.start,
            problem.predicate,
            np.arange(problem.subscriptions, dtype=np.int32),
            np.zeros(problem.subscriptions, np.uint8),
            np.arange(predicates, dtype=np.int32),
            predicates,
        )
        self._problem = problem

    def evaluate(self, truth: Bools) -> Evaluated:
        clauses = self._clauses
        state = new_state(clauses, self._problem.selectivity, self._problem.cost)
        state.holds[:] = truth
        evaluated = []
        while (predicate := int(choose(clauses, state))) >= 0:
            evaluated.append(predicate)
            advance(predicate, clauses, state)
        return Evaluated(np.array(evaluated, np.int32), state.decided == TRUE)
