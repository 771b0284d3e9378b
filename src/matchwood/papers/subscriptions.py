"""Subscriptions as Fabret et al., *Le Subscribe*, 2000, §2.3, have them.

"A subscription is defined as a conjunction of elementary predicates", `attribute θ value`, where θ
is =, <, <=, > or >=. That is a box (see `boxes`): one *row* for each attribute that it asks for,
with the interval of codes that is true. A row is an equality where its ends are one, and else a
bound above, a bound below, or both. A rule of several boxes, as `!=` makes two, is as many
subscriptions. A number is that of a box.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.protocol import Id, Work
from matchwood.papers.roster import roomy

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

AXIS, LOW, HIGH = range(3)  # of a row
_FEW = 256  # rules that may be gone, beside as many as are left, before all is laid out anew


class Rows(NamedTuple):
    """Subscription n has rows[start[n]:start[n + 1]]; one without any is not to be indexed."""

    start: Longs
    rows: Ints

    @property
    def owner(self) -> Ints:
        """The subscription of each row."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))


class Subscriptions(Boxed):
    """Rules as rows by number: rows[at[n]:at[n] + size[n]], for algorithms that read them."""

    def index(self, given: Boxes) -> None:
        rows = np.column_stack((given.axis, given.low, given.high))
        found = Rows(given.start, np.ascontiguousarray(rows, np.int32))
        self.rows, self._used = found.rows, len(found.rows)
        self.at = found.start[:-1].copy()
        self.size = np.diff(found.start).astype(np.int32)
        self._gone = 0  # rules since then, whose rows, predicates and nodes may still be there
        self.lay_out(found)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        rows = np.column_stack((axis, low, high)).astype(np.int32)
        end = self._used + len(rows)
        self.rows = roomy(self.rows, end)
        self.rows[self._used : end] = rows
        self.at, self.size = roomy(self.at, box + 1), roomy(self.size, box + 1)
        self.at[box], self.size[box] = self._used, len(rows)
        self._used = end
        self.take(box, rows)

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self.drop(box, np.column_stack((axis, low, high)).astype(np.int32))

    def remove(self, rule_id: Id) -> None:
        """All is laid out anew once more rules are gone than are left."""
        super().remove(rule_id)
        self._gone += 1
        if self._gone > len(self._rules) + _FEW:
            self.build(self._rules)

    def worked(self, predicates: int, nodes: int, candidates: int) -> None:
        """Note what a match did. Candidates are boxes, of which a rule may have several."""
        self.work = Work(int(predicates), int(nodes), min(int(candidates), len(self._roster)))

    @abstractmethod
    def lay_out(self, found: Rows) -> None:
        """Take the first subscriptions."""

    @abstractmethod
    def take(self, number: int, rows: Ints) -> None:
        """Take one more; its number may be the next, or that of one that is gone."""

    @abstractmethod
    def drop(self, number: int, rows: Ints) -> None:
        """Drop one that was taken."""

    @property
    def rows_bytes(self) -> int:
        """Of all rows, and where they are."""
        return 12 * self._used + self.at.nbytes + self.size.nbytes
