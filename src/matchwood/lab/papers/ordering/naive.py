"""Naive (§5.2): subscription by subscription, until a predicate is false or none is left.

A predicate that was evaluated before is not evaluated again; that a later subscription has one
that is known to be false is noticed only when its turn comes.
"""

from __future__ import annotations

from matchwood.kernels.array_types import BoolArray
from matchwood.lab.papers.ordering import naive_kernels as kernels
from matchwood.lab.papers.ordering.problem import Evaluated, OrderingProblem


class Naive:
    def __init__(self, problem: OrderingProblem) -> None:
        self._problem = problem

    def evaluate(self, truth: BoolArray) -> Evaluated:
        return Evaluated(*kernels.evaluate(self._problem.start, self._problem.predicate, truth))
