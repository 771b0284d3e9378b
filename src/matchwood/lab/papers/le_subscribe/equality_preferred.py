"""Equality-preferred: combinations of equalities are looked up, only bounds are counted.

Fabret, Llirbat, Pereira and Shasha, *Le Subscribe*, 2000, §3.1, Figure 4. Rules are clustered by
their equalities (`equality_clusters`). The bounds of all rules are clustered and counted as in
fair predicate, but only for rules whose equalities are true, and for those that have none
(`neqsub`), is the count compared with the number of bounds.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import equality_preferred_kernels as kernels
from matchwood.lab.papers.le_subscribe.equality_clusters import EqualityClusters
from matchwood.lab.papers.le_subscribe.predicate_clusters import PredicateClusters, keys_of
from matchwood.lab.papers.le_subscribe.row_layout import HIGH, LOW
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    SubscriptionAlgorithm,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.rule_numbers import roomy


class EqualityPreferred(SubscriptionAlgorithm):
    """Rules by the combination of their equalities, and the rules of each bound.

    >>> rules = {1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"}
    >>> preferred = EqualityPreferred(rules)
    >>> preferred.match({"price": 5, "kind": "toy"}), preferred.work.candidates
    ([1, 2], 2)
    """

    name = "Equality-preferred"
    paper = "Fabret et al. 2000, §3.1, Figure 4"

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        bound = subscriptions.rows[:, LOW] != subscriptions.rows[:, HIGH]
        owner = subscriptions.owner[bound]
        self._clusters = PredicateClusters(subscriptions.rows[bound], owner)
        self._equalities = EqualityClusters(subscriptions)
        self._needed = np.bincount(
            owner[keys_of(subscriptions.rows[bound])[1]], minlength=len(subscriptions.start) - 1
        ).astype(np.uint16)
        self._hits = np.zeros(len(subscriptions.start) - 1, np.uint16)  # 0 between events
        without = np.diff(subscriptions.start) > 0
        without[self._equalities.members] = False
        self._neqsub = NumberSet(np.flatnonzero(without).astype(np.int32))

    def take(self, number: int, rows: Int32Array) -> None:
        bound = rows[:, LOW] != rows[:, HIGH]
        self._needed = roomy(self._needed, number + 1)
        self._hits = roomy(self._hits, number + 1)
        self._needed[number] = self._clusters.insert(rows[bound], number)
        if bound.all():
            self._neqsub.add(number)
        else:
            self._equalities.insert(number, rows)

    def drop(self, number: int, rows: Int32Array) -> None:
        bound = rows[:, LOW] != rows[:, HIGH]
        self._clusters.delete(rows[bound], number)
        if bound.all():
            self._neqsub.remove(number)
        else:
            self._equalities.delete(number, rows)

    def find(self, codes: Int32Array) -> Int32Array:
        out = np.empty(len(self._hits), np.int32)
        partial = self._equalities.find(codes, out)
        satisfied = self._clusters.satisfied(codes)
        visited = self._clusters.count(satisfied, self._hits)
        matched = kernels.complete(self._hits, self._needed, self._neqsub.members, out, partial)
        self._clusters.forget(satisfied, visited, self._hits)
        looked_up = self._equalities.visited
        candidates = partial + len(self._neqsub.members)
        self.worked(len(satisfied) + looked_up, visited, candidates)
        return out[:matched]

    @property
    def index_bytes(self) -> int:
        by_rule = self._needed.nbytes + self._hits.nbytes + self._neqsub.bytes
        return self._clusters.bytes + self._equalities.bytes + by_rule


class NumberSet:
    """Some numbers of rules, in an array without holes.

    >>> some = NumberSet(np.array([4, 2], np.int32))
    >>> some.add(3), some.remove(4), some.members.tolist()
    (None, None, [3, 2])
    """

    def __init__(self, members: Int32Array) -> None:
        self._array, self._count = members, len(members)
        self._position = {number: position for position, number in enumerate(members.tolist())}

    @property
    def members(self) -> Int32Array:
        return self._array[: self._count]

    @property
    def bytes(self) -> int:
        return 8 * self._count  # a number and its position

    def add(self, number: int) -> None:
        self._array = roomy(self._array, self._count + 1)
        self._array[self._count] = number
        self._position[number] = self._count
        self._count += 1

    def remove(self, number: int) -> None:
        """Remove a number; the last one takes its position."""
        position = self._position.pop(number)
        self._count -= 1
        if position < self._count:
            last = int(self._array[self._count])
            self._array[position], self._position[last] = last, position
