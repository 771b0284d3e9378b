"""Subscriptions over predicates with their selectivities and costs, and what all orderings are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.operators.order import transposed

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Problem(NamedTuple):
    """Subscription i has the predicates predicate[start[i] : start[i + 1]], each once."""

    start: Ints
    predicate: Ints
    selectivity: Floats  # the probability of each predicate to be true
    cost: Floats  # of evaluating it

    @classmethod
    def of(
        cls,
        subscriptions: Sequence[Sequence[int]],
        selectivity: Sequence[float],
        cost: Sequence[float] | None = None,
    ) -> Problem:
        start = np.r_[0, np.cumsum([len(one) for one in subscriptions])].astype(np.int32)
        flat = [predicate for one in subscriptions for predicate in one]
        costs = np.ones(len(selectivity)) if cost is None else np.array(cost, np.float64)
        return cls(start, np.array(flat, np.int32), np.array(selectivity, np.float64), costs)

    @property
    def subscriptions(self) -> int:
        return len(self.start) - 1

    def by_predicate(self) -> tuple[Ints, Ints]:
        """(start, subscriptions) of each predicate."""
        start, owners = transposed(self.start, self.predicate, len(self.selectivity))
        return start, owners

    def matched(self, truth: Bools) -> Bools:
        """Which subscriptions match: what every ordering has to find."""
        some: Bools = np.logical_and.reduceat(truth[self.predicate], self.start[:-1])
        return some


class Evaluated(NamedTuple):
    """What an ordering did for one event: the predicates in turn, and the subscriptions found."""

    predicates: Ints
    matched: Bools

    def cost(self, problem: Problem) -> float:
        return float(problem.cost[self.predicates].sum())


class Ordering(Protocol):
    """Made of a problem; it may look at a predicate's truth only by evaluating it."""

    def __init__(self, problem: Problem) -> None: ...

    def evaluate(self, truth: Bools) -> Evaluated: ...
