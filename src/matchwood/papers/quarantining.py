"""Equality-preferred with non-equality quarantining: only rules without equalities are counted.

Fabret, Llirbat, Pereira and Shasha, *Le Subscribe*, 2000, §3.1, Figure 5. A rule whose equalities
are true (`equality_clusters`) has its bounds tested one by one. Rules without an equality, the
*nonequality* subscriptions, are kept apart: their predicates alone are clustered and counted, in
numbers of their own, *seats*, so that counts are few.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean
from matchwood.papers.equality_clusters import EqualityClusters
from matchwood.papers.predicate_clusters import PredicateClusters, keys_of
from matchwood.papers.roster import Roster, roomy
from matchwood.papers.subscriptions import AXIS, HIGH, LOW, Ints, Rows, Subscriptions

_NOBODY = 0xFFFF  # predicates of a seat that is free


class Quarantining(Subscriptions):
    """Rules by the combination of their equalities; those without any in quarantine.

    >>> rules = {1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "kind = 'car'"}
    >>> quarantining = Quarantining(rules)
    >>> quarantining.match({"price": 5, "kind": "toy"}), quarantining.work.candidates
    ([1, 2], 2)
    """

    name = "Non-equality quarantining"
    paper = "Fabret et al. 2000, §3.1, Figure 5"

    def lay_out(self, found: Rows) -> None:
        self._equalities = EqualityClusters(found)
        apart = np.diff(found.start) > 0
        apart[self._equalities.members] = False
        self._neqsub = np.flatnonzero(apart).astype(np.int32)  # the rule in each seat
        self._seats = Roster(self._neqsub.tolist())
        mine = apart[found.owner]
        seat = (np.cumsum(apart) - 1).astype(np.int32)[found.owner[mine]]
        self._clusters = PredicateClusters(found.rows[mine], seat)
        self._needed = np.bincount(
            seat[keys_of(found.rows[mine])[1]], minlength=len(self._neqsub)
        ).astype(np.uint16)
        self._hits = np.zeros(len(self._neqsub), np.uint16)

    def take(self, number: int, rows: Ints) -> None:
        if (rows[:, LOW] == rows[:, HIGH]).any():
            self._equalities.insert(number, rows)
            return
        seat = self._seats.add(number)
        self._neqsub, self._hits = roomy(self._neqsub, seat + 1), roomy(self._hits, seat + 1)
        self._needed = roomy(self._needed, seat + 1, _NOBODY)
        self._neqsub[seat] = number
        self._needed[seat] = self._clusters.insert(rows, seat)

    def drop(self, number: int, rows: Ints) -> None:
        if (rows[:, LOW] == rows[:, HIGH]).any():
            self._equalities.delete(number, rows)
            return
        seat = self._seats.remove(number)
        self._clusters.delete(rows, seat)
        self._needed[seat] = _NOBODY

    def find(self, codes: Ints) -> Ints:
        out = np.empty(self._room, np.int32)
        partly = self._equalities.find(codes, out)
        found, tested = _match(out, partly, self.at, self.size, self.rows, codes)
        satisfied = self._clusters.satisfied(codes)
        self._hits[:] = 0
        visited = self._clusters.count(satisfied, self._hits)
        found = _complete(self._hits, self._needed, self._neqsub, out, found)
        predicates = self._equalities.visited + tested + len(satisfied)
        self.worked(predicates, visited, partly + len(self._seats))
        return out[:found]

    @property
    def index_bytes(self) -> int:
        seats = self._needed.nbytes + self._hits.nbytes + self._neqsub.nbytes
        return self._equalities.bytes + self._clusters.bytes + seats + self.rows_bytes


@lean
def _match(out, partly, at, size, rows, codes):
    """Lines 4 to 8: of out[:partly], those whose bounds are true; also bounds tested."""
    found = 0
    tested = 0
    for i in range(partly):
        rule = out[i]
        true = True
        for row in range(at[rule], at[rule] + size[rule]):
            low, high = rows[row, LOW], rows[row, HIGH]
            if low == high:
                continue
            tested += 1
            code = codes[rows[row, AXIS]]
            if code < low or code > high:
                true = False
                break
        if true:
            out[found] = rule
            found += 1
    return found, tested


@lean
def _complete(hits, needed, neqsub, out, found):
    """Lines 17 to 21: every seat."""
    for seat in range(len(hits)):
        if hits[seat] == needed[seat]:
            out[found] = neqsub[seat]
            found += 1
    return found
