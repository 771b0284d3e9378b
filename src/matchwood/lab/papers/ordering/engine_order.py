"""The order of the engine (`operators.order`), in the same measure as the paper's algorithms."""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import BoolArray
from matchwood.lab.papers.ordering.problem import Evaluated, OrderingProblem
from matchwood.operators.order import clauses_over, new_state
from matchwood.operators.order_kernels import TRUE, advance, choose


class Engines:
    """Every predicate is a call with one literal, every subscription a rule of one clause."""

    def __init__(self, problem: OrderingProblem) -> None:
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

    def evaluate(self, truth: BoolArray) -> Evaluated:
        clauses = self._clauses
        state = new_state(clauses, self._problem.selectivity, self._problem.cost)
        state.holds[:] = truth
        evaluated = []
        while (predicate := int(choose(clauses, state))) >= 0:
            evaluated.append(predicate)
            advance(predicate, clauses, state)
        return Evaluated(np.array(evaluated, np.int32), state.decided == TRUE)
