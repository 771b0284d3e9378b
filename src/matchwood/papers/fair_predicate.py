"""Fair predicate: count the true predicates of every rule.

Fabret, Llirbat, Pereira and Shasha, *Efficient matching for content-based publish/subscribe
systems* (Le Subscribe), 2000, §3.1, Figure 2. All predicates are treated alike, and each is stored
once. Those that are true are found first (`predicate_clusters`), then counted for each rule that
they stand in, and then every rule is asked whether its count is its number of predicates.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean
from matchwood.papers.predicate_clusters import PredicateClusters, keys_of
from matchwood.papers.roster import roomy
from matchwood.papers.subscriptions import Ints, Rows, Subscriptions

_NONE = 0xFFFF  # predicates of a number without a rule that is sometimes true


class FairPredicate(Subscriptions):
    """Rules with their number of predicates, and the rules of each predicate.

    >>> fair = FairPredicate({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "price > 5"})
    >>> fair.match({"price": 5, "kind": "toy"}), fair.work.predicates
    ([1, 2], 3)
    """

    name = "Fair predicate"
    paper = "Fabret et al. 2000, §3.1, Figure 2"

    def lay_out(self, found: Rows) -> None:
        self._clusters = PredicateClusters(found.rows, found.owner)
        owner = found.owner[keys_of(found.rows)[1]]
        self._needed = np.bincount(owner, minlength=len(found.start) - 1).astype(np.uint16)
        self._needed[self._needed == 0] = _NONE
        self._hits = np.zeros(len(self._needed), np.uint16)

    def take(self, number: int, rows: Ints) -> None:
        self._needed = roomy(self._needed, number + 1, _NONE)
        self._hits = roomy(self._hits, number + 1)
        self._needed[number] = self._clusters.insert(rows, number)

    def drop(self, number: int, rows: Ints) -> None:
        self._clusters.delete(rows, number)
        self._needed[number] = _NONE

    def find(self, codes: Ints) -> Ints:
        satisfied = self._clusters.satisfied(codes)
        self._hits[:] = 0
        visited = self._clusters.count(satisfied, self._hits)
        out = np.empty(len(self._hits), np.int32)
        found = _complete(self._hits, self._needed, out)
        self.worked(len(satisfied), visited, len(self._roster))
        return out[:found]

    @property
    def index_bytes(self) -> int:
        return self._clusters.bytes + self._needed.nbytes + self._hits.nbytes


@lean
def _complete(hits, needed, out):
    """Lines 13 to 17: every rule."""
    found = 0
    for rule in range(len(hits)):
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
    return found
