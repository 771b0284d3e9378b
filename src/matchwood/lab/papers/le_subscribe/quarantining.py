"""Equality-preferred with non-equality quarantining: only rules without equalities are counted.

Fabret, Llirbat, Pereira and Shasha, *Le Subscribe*, 2000, §3.1, Figure 5. A rule whose equalities
are true (`equality_clusters`) has its bounds tested one by one. Rules without an equality, the
*nonequality* subscriptions, are kept apart: only their predicates are clustered and counted, by
numbers of their own, *seats*, so that there are few counts.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import quarantining_kernels as kernels
from matchwood.lab.papers.le_subscribe.equality_clusters import EqualityClusters
from matchwood.lab.papers.le_subscribe.predicate_clusters import PredicateClusters, keys_of
from matchwood.lab.papers.le_subscribe.row_layout import HIGH, LOW
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    SubscriptionAlgorithm,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.rule_numbers import RuleNumbers, roomy

# The number of predicates of a free seat.
_NOBODY = 0xFFFF


class Quarantining(SubscriptionAlgorithm):
    """Rules by the combination of their equalities; those without any in quarantine.

    >>> rules = {1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"}
    >>> quarantining = Quarantining(rules)
    >>> quarantining.match({"price": 5, "kind": "toy"}), quarantining.work.candidates
    ([1, 2], 2)
    """

    name = "Non-equality quarantining"
    paper = "Fabret et al. 2000, §3.1, Figure 5"

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        self._equalities = EqualityClusters(subscriptions)
        apart = np.diff(subscriptions.start) > 0
        apart[self._equalities.members] = False
        self._neqsub = np.flatnonzero(apart).astype(np.int32)  # the rule in each seat
        self._seats = RuleNumbers(self._neqsub.tolist())
        in_quarantine = apart[subscriptions.owner]
        seat = (np.cumsum(apart) - 1).astype(np.int32)[subscriptions.owner[in_quarantine]]
        self._clusters = PredicateClusters(subscriptions.rows[in_quarantine], seat)
        self._needed = np.bincount(
            seat[keys_of(subscriptions.rows[in_quarantine])[1]], minlength=len(self._neqsub)
        ).astype(np.uint16)
        self._hits = np.zeros(len(self._neqsub), np.uint16)

    def take(self, number: int, rows: Int32Array) -> None:
        if (rows[:, LOW] == rows[:, HIGH]).any():
            self._equalities.insert(number, rows)
            return
        seat = self._seats.add(number)
        self._neqsub, self._hits = roomy(self._neqsub, seat + 1), roomy(self._hits, seat + 1)
        self._needed = roomy(self._needed, seat + 1, _NOBODY)
        self._neqsub[seat] = number
        self._needed[seat] = self._clusters.insert(rows, seat)

    def drop(self, number: int, rows: Int32Array) -> None:
        if (rows[:, LOW] == rows[:, HIGH]).any():
            self._equalities.delete(number, rows)
            return
        seat = self._seats.remove(number)
        self._clusters.delete(rows, seat)
        self._needed[seat] = _NOBODY

    def find(self, codes: Int32Array) -> Int32Array:
        out = np.empty(self._room, np.int32)
        partly = self._equalities.find(codes, out)
        matched, tested = kernels.match(out, partly, self.at, self.size, self.rows, codes)
        satisfied = self._clusters.satisfied(codes)
        self._hits[:] = 0
        visited = self._clusters.count(satisfied, self._hits)
        matched = kernels.complete(self._hits, self._needed, self._neqsub, out, matched)
        predicates = self._equalities.visited + tested + len(satisfied)
        self.worked(predicates, visited, partly + len(self._seats))
        return out[:matched]

    @property
    def index_bytes(self) -> int:
        seats = self._needed.nbytes + self._hits.nbytes + self._neqsub.nbytes
        return self._equalities.bytes + self._clusters.bytes + seats + self.rows_bytes
