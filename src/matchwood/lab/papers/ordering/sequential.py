"""Sequential (Algorithm 1): takes any undecided subscription, and evaluates all its predicates.

A predicate is left out only where no undecided subscription has it any more; what it decides is
decided at once. "Any" is the order in which subscriptions and predicates are given. It evaluates
at most d times as many predicates as the best could, where d is the longest subscription.
"""

from __future__ import annotations

from matchwood.kernels.array_types import BoolArray
from matchwood.lab.papers.ordering import sequential_kernels as kernels
from matchwood.lab.papers.ordering.problem import Evaluated, OrderingProblem


class Sequential:
    def __init__(self, problem: OrderingProblem) -> None:
        self._problem = problem
        self._by_predicate = problem.by_predicate()

    def evaluate(self, truth: BoolArray) -> Evaluated:
        problem = self._problem
        return Evaluated(
            *kernels.evaluate(problem.start, problem.predicate, *self._by_predicate, truth)
        )
