"""Fair predicate: count the true predicates of every rule.

Fabret, Llirbat, Pereira and Shasha, *Efficient matching for content-based publish/subscribe
systems* (Le Subscribe), 2000, §3.1, Figure 2. All predicates are treated alike, and each is stored
once. Those that are true are found first (`predicate_clusters`), then counted for each rule that
has them, and then the count of every rule is compared with its number of predicates.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import fair_predicate_kernels as kernels
from matchwood.lab.papers.le_subscribe.predicate_clusters import PredicateClusters, keys_of
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    SubscriptionAlgorithm,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.rule_numbers import roomy

# The number of predicates of a number without a rule, or whose rule is never true.
_NONE = 0xFFFF


class FairPredicate(SubscriptionAlgorithm):
    """Rules with their number of predicates, and the rules of each predicate.

    >>> fair = FairPredicate({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "price > 5"})
    >>> fair.match({"price": 5, "kind": "toy"}), fair.work.predicates
    ([1, 2], 3)
    """

    name = "Fair predicate"
    paper = "Fabret et al. 2000, §3.1, Figure 2"

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        self._clusters = PredicateClusters(subscriptions.rows, subscriptions.owner)
        owner = subscriptions.owner[keys_of(subscriptions.rows)[1]]
        self._needed = np.bincount(owner, minlength=len(subscriptions.start) - 1).astype(np.uint16)
        self._needed[self._needed == 0] = _NONE
        self._hits = np.zeros(len(self._needed), np.uint16)

    def take(self, number: int, rows: Int32Array) -> None:
        self._needed = roomy(self._needed, number + 1, _NONE)
        self._hits = roomy(self._hits, number + 1)
        self._needed[number] = self._clusters.insert(rows, number)

    def drop(self, number: int, rows: Int32Array) -> None:
        self._clusters.delete(rows, number)
        self._needed[number] = _NONE

    def find(self, codes: Int32Array) -> Int32Array:
        satisfied = self._clusters.satisfied(codes)
        self._hits[:] = 0
        visited = self._clusters.count(satisfied, self._hits)
        out = np.empty(len(self._hits), np.int32)
        matched = kernels.complete(self._hits, self._needed, out)
        self.worked(len(satisfied), visited, len(self._rule_numbers))
        return out[:matched]

    @property
    def index_bytes(self) -> int:
        return self._clusters.bytes + self._needed.nbytes + self._hits.nbytes
