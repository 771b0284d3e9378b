"""Linked chains that are kept up to date as subscriptions come and go (§4.2.1).

A new subscription becomes a chain. A hash table from predicates to the chains that have them gives
its links, and the analysis of §4.2.4 says for each linked chain which of the two comes first and
what that saves. The new chain is put next to the one with which it saves most, on the side that
saves: directly before it, or directly after it. A chain without links goes to the end. A removed
chain leaves its place and the hash table; the others stay where they are.

The paper says that its algorithm for ordering chains (§4.2.5) decides where a new one goes, and not
how. Ordering all of them again would give an order that is a little better, for a time that grows
with all pairs of chains that share a predicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from matchwood.kernels.array_types import BoolArray, FloatArray, Int32Array
from matchwood.lab.papers.ordering import sub_order_kernels as kernels
from matchwood.lab.papers.ordering.problem import OrderingProblem
from matchwood.lab.papers.ordering.sub_order import MOST, ChainOrder, ranks

# The neighbour of a chain that has none, and of both ends of the list.
_END = -1


class LinkedChains:
    """Subscriptions in the order in which Sub-Order evaluates them.

    >>> chains = LinkedChains(np.array([0.9, 0.2, 0.5]), np.ones(3))
    >>> chains.add(7, [0, 1])
    >>> chains.add(8, [2])
    >>> chains.add(9, [0])
    >>> list(chains), chains.evaluate(np.array([True, True, False]))
    ([9, 7, 8], ([0, 1, 2], [9, 7]))
    >>> chains.remove(7)
    >>> list(chains)
    [9, 8]
    """

    def __init__(
        self,
        selectivity: FloatArray,
        cost: FloatArray,
        most: int = MOST,
        chain_order: ChainOrder = "selectivity",
    ) -> None:
        self._selectivity, self._cost, self._most = selectivity, cost, most
        self._rank = ranks(selectivity, cost, chain_order)
        self._chains: dict[int, Int32Array] = {}
        self._linked: dict[int, dict[int, None]] = {}  # by predicate: the chains that have it
        self._after: dict[int, int] = {_END: _END}
        self._before: dict[int, int] = {_END: _END}

    def __len__(self) -> int:
        return len(self._chains)

    def __iter__(self) -> Iterator[int]:
        """The numbers of subscriptions from left to right."""
        number = self._after[_END]
        while number != _END:
            yield number
            number = self._after[number]

    def add(self, number: int, predicates: Iterable[int]) -> None:
        """Add a subscription, whose number is 0 or more and new."""
        if number in self._chains:
            raise ValueError(f"subscription {number} exists already: remove it first")
        nodes = sorted(set(predicates), key=lambda predicate: (self._rank[predicate], predicate))
        chain = np.array(nodes, np.int32)
        before = self._place(chain)
        after = self._after[before]
        self._after[before] = self._before[after] = number
        self._before[number], self._after[number] = before, after
        self._chains[number] = chain
        for predicate in nodes:
            self._linked.setdefault(predicate, {})[number] = None

    def remove(self, number: int) -> None:
        """Remove a subscription; a KeyError if it is not there."""
        chain = self._chains.pop(number)
        before, after = self._before.pop(number), self._after.pop(number)
        self._after[before], self._before[after] = after, before
        for predicate in chain.tolist():
            del self._linked[predicate][number]

    def evaluate(self, truth: BoolArray) -> tuple[list[int], list[int]]:
        """The predicates that were evaluated, in turn, and the matching subscriptions (§4.2.2)."""
        numbers = list(self)
        chains = [self._chains[number] for number in numbers]
        start = np.cumsum([0, *map(len, chains)]).astype(np.int32)
        flat = np.concatenate([*chains, np.empty(0, np.int32)]).astype(np.int32)
        problem = OrderingProblem(start, flat, self._selectivity, self._cost)
        evaluated, matched = kernels.evaluate(
            np.arange(len(numbers), dtype=np.int32), start, flat, *problem.by_predicate(), truth
        )
        return evaluated.tolist(), [numbers[i] for i in np.flatnonzero(matched)]

    def _place(self, chain: Int32Array) -> int:
        """The number of the chain after which a new one goes."""
        place, most = self._before[_END], 0.0
        for other in self._neighbours(chain):
            difference = float(
                kernels.difference(chain, self._chains[other], self._selectivity, self._cost)
            )
            if abs(difference) > most:
                most = abs(difference)
                place = other if difference > 0 else self._before[other]
        return place

    def _neighbours(self, chain: Int32Array) -> Iterator[int]:
        """The chains that share a predicate with a new one: of each predicate the latest ones."""
        seen: set[int] = set()
        for predicate in chain.tolist():
            linked = list(self._linked.get(predicate, ()))[-self._most :]
            yield from (other for other in linked if other not in seen)
            seen.update(linked)
