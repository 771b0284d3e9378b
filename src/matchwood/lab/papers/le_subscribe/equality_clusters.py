"""Which rules have all their equalities true: Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 4.

"Two subscriptions with equality predicates over the same attributes are placed in the same
cluster", whose *schema* is that set of attributes; it "stores all combinations of equality
predicates over that set". An event looks one combination up, its own, in each cluster whose schema
it has (`eqsubmatch`). A rule is in one cluster; one without equalities in none.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import equality_clusters_kernels as kernels
from matchwood.lab.papers.le_subscribe.postings import Postings
from matchwood.lab.papers.le_subscribe.row_layout import AXIS, HIGH, LOW
from matchwood.lab.papers.le_subscribe.subscription_algorithm import SubscriptionRows
from matchwood.lab.papers.le_subscribe.tuples import Tuples


class EqualityClusters:
    """Schemas, combinations (a schema and its values), and the rules of each combination."""

    visited = 0  # combinations that the last `find` looked up

    def __init__(self, subscriptions: SubscriptionRows) -> None:
        equal = subscriptions.rows[:, LOW] == subscriptions.rows[:, HIGH]
        owner = subscriptions.owner[equal]
        counts = np.bincount(owner, minlength=len(subscriptions.start) - 1)
        self.members = np.flatnonzero(counts).astype(np.int32)  # rules with an equality
        sizes = counts[self.members]
        start = np.r_[0, np.cumsum(sizes)].astype(np.int64)
        self._schemas, self._combinations = Tuples(), Tuples()
        schemas = self._schemas.add_all(start, subscriptions.rows[equal, AXIS].copy())
        # A combination is its schema, then its values.
        flat = np.insert(subscriptions.rows[equal, LOW], start[:-1], schemas).astype(np.int32)
        numbers = self._combinations.add_all(start + np.arange(len(start)), flat)
        self._postings = Postings(numbers, self.members)

    @property
    def bytes(self) -> int:
        return self._schemas.bytes + self._combinations.bytes + self._postings.bytes

    def insert(self, number: int, rows: Int32Array) -> None:
        """Add a rule to its combination; it has an equality."""
        self._postings.put(self._combination(rows), number)

    def delete(self, number: int, rows: Int32Array) -> None:
        """Take a rule out of its combination, which stays."""
        self._postings.drop(self._combination(rows), number)

    def _combination(self, rows: Int32Array) -> int:
        equal = rows[rows[:, LOW] == rows[:, HIGH]]
        schema = self._schemas.add(equal[:, AXIS].tolist())
        return self._combinations.add([schema, *equal[:, LOW].tolist()])

    def find(self, codes: Int32Array, out: Int32Array) -> int:
        """Write the rules whose equalities are all true to `out`; returns how many."""
        schemas, combinations, postings = self._schemas, self._combinations, self._postings
        rule_count, self.visited = kernels.eqsubmatch(
            len(schemas), schemas.start, schemas.pool, codes, combinations.table,
            combinations.start, combinations.pool, postings.lists, postings.entries,
            np.empty(len(codes) + 1, np.int32), out,
        )  # fmt: skip
        return int(rule_count)
