"""Which rules have all their equalities true: Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 4.

"Two subscriptions with equality predicates over the same attributes are placed in the same
cluster", whose *schema* is that set of attributes; it "stores all combinations of equality
predicates over that set". An event looks one combination up, its own, in each cluster whose schema
it has (`eqsubmatch`). A rule is in one cluster; one without equalities in none.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean
from matchwood.papers.postings import AT, SIZE, Postings
from matchwood.papers.subscriptions import AXIS, HIGH, LOW, Ints, Rows
from matchwood.papers.tuples import Tuples, place_of


class EqualityClusters:
    """Schemas, combinations (a schema and its values), and the rules of each combination."""

    visited = 0  # combinations that the last `find` looked up

    def __init__(self, found: Rows) -> None:
        equal = found.rows[:, LOW] == found.rows[:, HIGH]
        owner = found.owner[equal]
        counts = np.bincount(owner, minlength=len(found.start) - 1)
        self.members = np.flatnonzero(counts).astype(np.int32)  # rules with an equality
        sizes = counts[self.members]
        start = np.r_[0, np.cumsum(sizes)].astype(np.int64)
        self._schemas, self._combinations = Tuples(), Tuples()
        schemas = self._schemas.add_all(start, found.rows[equal, AXIS].copy())
        # A combination is its schema, then its values.
        flat = np.insert(found.rows[equal, LOW], start[:-1], schemas).astype(np.int32)
        numbers = self._combinations.add_all(start + np.arange(len(start)), flat)
        self._postings = Postings(numbers, self.members)

    @property
    def bytes(self) -> int:
        return self._schemas.bytes + self._combinations.bytes + self._postings.bytes

    def insert(self, number: int, rows: Ints) -> None:
        """Add a rule to its combination; it has an equality."""
        self._postings.put(self._combination(rows), number)

    def delete(self, number: int, rows: Ints) -> None:
        """Take a rule out of its combination, which stays."""
        self._postings.drop(self._combination(rows), number)

    def _combination(self, rows: Ints) -> int:
        equal = rows[rows[:, LOW] == rows[:, HIGH]]
        schema = self._schemas.add(equal[:, AXIS].tolist())
        return self._combinations.add([schema, *equal[:, LOW].tolist()])

    def find(self, codes: Ints, out: Ints) -> int:
        """Rules whose equalities are all true: out[:returned]."""
        schemas, combinations, postings = self._schemas, self._combinations, self._postings
        found, self.visited = _eqsubmatch(
            len(schemas), schemas.start, schemas.pool, codes, combinations.table,
            combinations.start, combinations.pool, postings.lists, postings.entries,
            np.empty(len(codes) + 1, np.int32), out,
        )  # fmt: skip
        return int(found)


@lean
def _eqsubmatch(schemas, schema_start, axes, codes, table, start, pool, lists, entries, items, out):
    """Rules, and combinations that were looked up."""
    found = 0
    visited = 0
    for schema in range(schemas):
        items[0] = schema
        width = 1
        for i in range(schema_start[schema], schema_start[schema + 1]):
            code = codes[axes[i]]
            if code < 0:
                break
            items[width] = code
            width += 1
        if width <= schema_start[schema + 1] - schema_start[schema]:
            continue
        visited += 1
        combination = table[place_of(table, start, pool, items, width)]
        if combination >= 0:
            at, size = lists[combination, AT], lists[combination, SIZE]
            for i in range(at, at + size):
                out[found] = entries[i]
                found += 1
    return found, visited
