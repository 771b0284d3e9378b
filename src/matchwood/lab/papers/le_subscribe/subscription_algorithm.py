"""Subscriptions as Fabret et al., *Le Subscribe*, 2000, §2.3, have them.

"A subscription is defined as a conjunction of elementary predicates", `attribute θ value`, where θ
is =, <, <=, > or >=. That is a box (see `shared.box_algorithm`): one *row* per attribute that it
has, with the interval of codes that satisfy it. A row is an equality if its ends are equal, and
otherwise an upper bound, a lower bound, or both. A rule of several boxes, as `!=` makes two, is as
many subscriptions. Subscriptions are numbered as boxes are.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays, FixedBoxes
from matchwood.lab.papers.shared.protocol import Id, Work
from matchwood.lab.papers.shared.rule_numbers import roomy

# All is laid out anew once the removed rules are more than this and the remaining rules together.
_FEW = 256


class SubscriptionRows(NamedTuple):
    """Subscription n has rows[start[n]:start[n + 1]]; one without any is not to be indexed."""

    start: Int64Array
    rows: Int32Array

    @property
    def owner(self) -> Int32Array:
        """The subscription of each row."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))


class FixedSubscriptions(FixedBoxes):
    """Rules as rows by number: rows[at[n]:at[n] + size[n]], for algorithms that read them."""

    def index(self, boxes: BoxArrays) -> None:
        rows = np.column_stack((boxes.axis, boxes.low, boxes.high))
        subscriptions = SubscriptionRows(boxes.start, np.ascontiguousarray(rows, np.int32))
        self.rows, self._used = subscriptions.rows, len(subscriptions.rows)
        self.at = subscriptions.start[:-1].copy()
        self.size = np.diff(subscriptions.start).astype(np.int32)
        self.lay_out(subscriptions)

    def worked(self, predicates: int, nodes: int, candidates: int) -> None:
        """Note the work of a match. Candidates are boxes, of which a rule may have several."""
        self.work = Work(int(predicates), int(nodes), min(int(candidates), len(self._rule_numbers)))

    @abstractmethod
    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        """Take the first subscriptions."""

    @property
    def rows_bytes(self) -> int:
        """Bytes of all rows, and of their positions."""
        return 12 * self._used + self.at.nbytes + self.size.nbytes


class SubscriptionAlgorithm(FixedSubscriptions, BoxAlgorithm):
    """The same with rows that come and go."""

    def index(self, boxes: BoxArrays) -> None:
        self._gone = 0  # rules since then, whose rows, predicates and nodes may still be there
        super().index(boxes)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        rows = np.column_stack((axis, low, high)).astype(np.int32)
        end = self._used + len(rows)
        self.rows = roomy(self.rows, end)
        self.rows[self._used : end] = rows
        self.at, self.size = roomy(self.at, box + 1), roomy(self.size, box + 1)
        self.at[box], self.size[box] = self._used, len(rows)
        self._used = end
        self.take(box, rows)

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self.drop(box, np.column_stack((axis, low, high)).astype(np.int32))

    def remove(self, rule_id: Id) -> None:
        """Remove a rule; all is laid out anew once more rules are removed than are left."""
        super().remove(rule_id)
        self._gone += 1
        if self._gone > len(self._rules) + _FEW:
            self.build(self._rules)

    @abstractmethod
    def take(self, number: int, rows: Int32Array) -> None:
        """Take one more; its number is the next, or that of one that was dropped."""

    @abstractmethod
    def drop(self, number: int, rows: Int32Array) -> None:
        """Drop one that was taken."""
