"""Equality-preferred: combinations of equalities are looked up, only bounds are counted.

Fabret, Llirbat, Pereira and Shasha, *Le Subscribe*, 2000, §3.1, Figure 4. Rules are clustered by
their equalities (`equality_clusters`). The bounds of all rules are clustered and counted as in
fair predicate, but only rules whose equalities are true, and those that have none (`neqsub`), are
asked whether their count is their number of bounds.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean
from matchwood.papers.equality_clusters import EqualityClusters
from matchwood.papers.predicate_clusters import PredicateClusters, keys_of
from matchwood.papers.roster import roomy
from matchwood.papers.subscriptions import HIGH, LOW, Ints, Rows, Subscriptions


class EqualityPreferred(Subscriptions):
    """Rules by the combination of their equalities, and the rules of each bound.

    >>> rules = {1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"}
    >>> preferred = EqualityPreferred(rules)
    >>> preferred.match({"price": 5, "kind": "toy"}), preferred.work.candidates
    ([1, 2], 2)
    """

    name = "Equality-preferred"
    paper = "Fabret et al. 2000, §3.1, Figure 4"

    def lay_out(self, found: Rows) -> None:
        bound = found.rows[:, LOW] != found.rows[:, HIGH]
        owner = found.owner[bound]
        self._clusters = PredicateClusters(found.rows[bound], owner)
        self._equalities = EqualityClusters(found)
        self._needed = np.bincount(
            owner[keys_of(found.rows[bound])[1]], minlength=len(found.start) - 1
        ).astype(np.uint16)
        self._hits = np.zeros(len(found.start) - 1, np.uint16)
        without = np.diff(found.start) > 0
        without[self._equalities.members] = False
        self._neqsub = NumberSet(np.flatnonzero(without).astype(np.int32))

    def take(self, number: int, rows: Ints) -> None:
        bound = rows[:, LOW] != rows[:, HIGH]
        self._needed = roomy(self._needed, number + 1)
        self._hits = roomy(self._hits, number + 1)
        self._needed[number] = self._clusters.insert(rows[bound], number)
        if bound.all():
            self._neqsub.add(number)
        else:
            self._equalities.insert(number, rows)

    def drop(self, number: int, rows: Ints) -> None:
        bound = rows[:, LOW] != rows[:, HIGH]
        self._clusters.delete(rows[bound], number)
        if bound.all():
            self._neqsub.remove(number)
        else:
            self._equalities.delete(number, rows)

    def find(self, codes: Ints) -> Ints:
        out = np.empty(len(self._hits), np.int32)
        partial = self._equalities.find(codes, out)
        satisfied = self._clusters.satisfied(codes)
        self._hits[:] = 0
        visited = self._clusters.count(satisfied, self._hits)
        found = _complete(self._hits, self._needed, self._neqsub.members, out, partial)
        looked_up = self._equalities.visited
        candidates = partial + len(self._neqsub.members)
        self.worked(len(satisfied) + looked_up, visited, candidates)
        return out[:found]

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

    def __init__(self, members: Ints) -> None:
        self._array, self._count = members, len(members)
        self._place = {number: place for place, number in enumerate(members.tolist())}

    @property
    def members(self) -> Ints:
        return self._array[: self._count]

    @property
    def bytes(self) -> int:
        return 8 * self._count  # a number and its place

    def add(self, number: int) -> None:
        self._array = roomy(self._array, self._count + 1)
        self._array[self._count] = number
        self._place[number] = self._count
        self._count += 1

    def remove(self, number: int) -> None:
        """The last one takes its place."""
        place = self._place.pop(number)
        self._count -= 1
        if place < self._count:
            last = int(self._array[self._count])
            self._array[place], self._place[last] = last, place


@lean
def _complete(hits, needed, neqsub, out, partial):
    """Lines 12 to 16: out[:partial] are the rules whose equalities are true."""
    found = 0
    for i in range(partial):
        rule = out[i]
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
    for rule in neqsub:
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
    return found
