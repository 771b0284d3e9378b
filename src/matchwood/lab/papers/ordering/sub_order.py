"""Sub-Order (§4.2): chains of predicates by selectivity, the chains in an order that saves most.

What evaluating one chain before another saves follows from the predicates that they share (the
links): §4.2.4, with costs as in §4.3. The order of all chains is found greedily (§4.2.5): the pair
that saves most first, as long as every chain has at most one before and one after it and no cycle
comes about. What is left are runs of chains, taken in the order of their best pair.

With k subscriptions that share a predicate there are k² / 2 pairs. Beyond `MOST` of them each is
compared with that many others, chosen evenly over the list: millions of pairs would add little.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import BoolArray, Int32Array
from matchwood.lab.papers.ordering import sub_order_kernels as kernels
from matchwood.lab.papers.ordering.problem import Evaluated, OrderingProblem

# The most subscriptions of a predicate of which all pairs are compared; with more, each is compared
# with this many others.
MOST = 128


class SubOrder:
    def __init__(self, problem: OrderingProblem, most: int = MOST) -> None:
        self._start = problem.start
        self._chain = chains(problem)
        self._by_predicate = problem.by_predicate()
        self.order = ordered(problem, self._chain, self._by_predicate, most)

    def evaluate(self, truth: BoolArray) -> Evaluated:
        return Evaluated(
            *kernels.evaluate(self.order, self._start, self._chain, *self._by_predicate, truth)
        )


def chains(problem: OrderingProblem) -> Int32Array:
    """The predicates of each subscription, the least likely first; ties by number.

    With costs, the least cost for its chance to be false comes first.
    """
    owner = np.repeat(np.arange(problem.subscriptions), np.diff(problem.start))
    rank = problem.cost / np.maximum(1 - problem.selectivity, 1e-12)
    order = np.lexsort((problem.predicate, rank[problem.predicate], owner))
    return problem.predicate[order]


def difference(problem: OrderingProblem, chain: Int32Array, first: int, second: int) -> float:
    """The expected cost of `first` before `second`, minus that of `second` before `first`."""
    start = problem.start
    a, b = chain[start[first] : start[first + 1]], chain[start[second] : start[second + 1]]
    return float(kernels.difference(a, b, problem.selectivity, problem.cost))


def ordered(
    problem: OrderingProblem,
    chain: Int32Array,
    by_predicate: tuple[Int32Array, Int32Array],
    most: int,
) -> Int32Array:
    """All subscriptions, in the order in which their chains are evaluated."""
    before, after, saves = kernels.compare_pairs(
        problem.start, chain, *by_predicate, problem.selectivity, problem.cost, most
    )
    best = np.argsort(-saves, kind="stable")
    order: Int32Array = kernels.join_pairs(before[best], after[best], problem.subscriptions)
    return order
