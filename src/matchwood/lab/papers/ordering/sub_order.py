"""Sub-Order (§4.2): chains of predicates by selectivity, the chains in an order that saves most.

What evaluating one chain before another saves follows from the predicates that they share (the
links): §4.2.4, with the costs of §4.3 in it. Within a chain the least likely predicate comes first,
whatever it costs, as in the paper; with `chain_order="ratio"`, which is ours, it is the one of the
least cost for its chance to be false, the best order of a single chain.

The order of all chains is found greedily (§4.2.5): the pair that saves most first, as long as every
chain has at most one before and one after it and no cycle comes about. What is left are runs of
chains, taken in the order of their best pair.

With k subscriptions that share a predicate there are k² / 2 pairs. Beyond `MOST` of them each is
compared with that many others, chosen evenly over the list: millions of pairs would add little.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from matchwood.kernels.array_types import BoolArray, FloatArray, Int32Array
from matchwood.lab.papers.ordering import sub_order_kernels as kernels
from matchwood.lab.papers.ordering.problem import Evaluated, OrderingProblem

# The most subscriptions of a predicate of which all pairs are compared; with more, each is compared
# with this many others.
MOST = 128

# What the nodes of a chain are sorted by: the chance to be true (§4.2.1, which §4.3 keeps), or the
# cost for each chance to be false.
ChainOrder = Literal["selectivity", "ratio"]


class SubOrder:
    """All subscriptions, ordered at once; `linked_chains` takes them one by one."""

    def __init__(
        self, problem: OrderingProblem, most: int = MOST, chain_order: ChainOrder = "selectivity"
    ) -> None:
        self._start = problem.start
        self._chain = chains(problem, chain_order)
        self._by_predicate = problem.by_predicate()
        self.order = ordered(problem, self._chain, self._by_predicate, most)

    def evaluate(self, truth: BoolArray) -> Evaluated:
        return Evaluated(
            *kernels.evaluate(self.order, self._start, self._chain, *self._by_predicate, truth)
        )


def chains(problem: OrderingProblem, chain_order: ChainOrder = "selectivity") -> Int32Array:
    """The predicates of each subscription in the order of its chain; ties by number."""
    owner = np.repeat(np.arange(problem.subscriptions), np.diff(problem.start))
    rank = ranks(problem.selectivity, problem.cost, chain_order)
    order = np.lexsort((problem.predicate, rank[problem.predicate], owner))
    return problem.predicate[order]


def ranks(selectivity: FloatArray, cost: FloatArray, chain_order: ChainOrder) -> FloatArray:
    """By predicate, the number by which the nodes of a chain ascend from its top."""
    if chain_order == "selectivity":
        return selectivity
    per_chance: FloatArray = cost / np.maximum(1 - selectivity, 1e-12)
    return per_chance


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
