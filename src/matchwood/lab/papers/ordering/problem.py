"""Subscriptions over predicates with their selectivities and costs, and what all orderings are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from matchwood.kernels.array_types import BoolArray, FloatArray, Int32Array
from matchwood.operators.order_kernels import transposed


class OrderingProblem(NamedTuple):
    """Subscription i has the predicates predicate[start[i] : start[i + 1]], each once."""

    start: Int32Array
    predicate: Int32Array
    selectivity: FloatArray  # the probability that each predicate is true
    cost: FloatArray  # the cost of evaluating each predicate

    @classmethod
    def of(
        cls,
        subscriptions: Sequence[Sequence[int]],
        selectivity: Sequence[float],
        cost: Sequence[float] | None = None,
    ) -> OrderingProblem:
        start = np.r_[0, np.cumsum([len(subscription) for subscription in subscriptions])].astype(
            np.int32
        )
        flat = [predicate for subscription in subscriptions for predicate in subscription]
        costs = np.ones(len(selectivity)) if cost is None else np.array(cost, np.float64)
        return cls(start, np.array(flat, np.int32), np.array(selectivity, np.float64), costs)

    @property
    def subscriptions(self) -> int:
        return len(self.start) - 1

    def by_predicate(self) -> tuple[Int32Array, Int32Array]:
        """(start, subscriptions) of each predicate."""
        start, owners = transposed(self.start, self.predicate, len(self.selectivity))
        return start, owners

    def matched(self, truth: BoolArray) -> BoolArray:
        """Which subscriptions match: what every ordering has to find."""
        matched: BoolArray = np.logical_and.reduceat(truth[self.predicate], self.start[:-1])
        return matched


class Evaluated(NamedTuple):
    """What an ordering did for one event: the predicates in turn, and the subscriptions found."""

    predicates: Int32Array
    matched: BoolArray

    def cost(self, problem: OrderingProblem) -> float:
        return float(problem.cost[self.predicates].sum())


class Ordering(Protocol):
    """Made from a problem; it learns the truth of a predicate only by evaluating it."""

    def __init__(self, problem: OrderingProblem) -> None: ...

    def evaluate(self, truth: BoolArray) -> Evaluated: ...
