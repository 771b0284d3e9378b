"""Neon: tables of predicates and operations, and counting.

New Era of Networks, NEONRules, as Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 8, describe
it. The table *predicates* has a line for each predicate of each rule, with the rule and the value;
nothing is shared. The table *operations* has what predicates have in common, an attribute and a
comparison, and an index leads from there to their lines: "each located predicate must be evaluated
afterwards". True predicates are counted by rule in `and`. Rules by themselves have no event type;
in Le Subscribe's language (`subscription_language`) an operation is of an event type, too.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.le_subscribe import neon_kernels as kernels
from matchwood.lab.papers.le_subscribe.neon_kernels import (
    RULE,
)
from matchwood.lab.papers.le_subscribe.postings import Postings
from matchwood.lab.papers.le_subscribe.predicate_clusters import keys_of
from matchwood.lab.papers.le_subscribe.predicate_keys import cluster_of, code_of
from matchwood.lab.papers.le_subscribe.subscription_algorithm import (
    SubscriptionAlgorithm,
    SubscriptionRows,
)
from matchwood.lab.papers.shared.rule_numbers import roomy


class Neon(SubscriptionAlgorithm):
    """Predicates in a table, located by attribute and comparison.

    >>> neon = Neon({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "price > 5"})
    >>> neon.match({"price": 5}), neon.work.predicates
    ([2], 3)
    """

    name = "Neon"
    paper = "NEONRules; Fabret et al. 2000, §3.1, Figure 8"

    def lay_out(self, subscriptions: SubscriptionRows) -> None:
        keys, row = keys_of(subscriptions.rows)
        operation = cluster_of(keys)
        order = np.argsort(operation, kind="stable")  # lines of an operation lie together
        owner = subscriptions.owner[row][order]
        values = code_of(keys[order])
        self._lines = np.column_stack((owner, values)).astype(np.int32)
        self._line_count, self._free_lines = len(order), list[int]()
        self._operations = Postings(operation[order], np.arange(len(order), dtype=np.int32))
        self._needed = np.bincount(owner, minlength=len(subscriptions.start) - 1).astype(np.uint16)
        self._hits = np.zeros(len(self._needed), np.uint16)

    def take(self, number: int, rows: Int32Array) -> None:
        keys, _ = keys_of(rows)
        for key in keys.tolist():
            line = self._free_lines.pop() if self._free_lines else self._line_count
            self._line_count = max(self._line_count, line + 1)
            self._lines = roomy(self._lines, line + 1)
            self._lines[line] = number, code_of(key)
            self._operations.put(cluster_of(key), line)
        self._needed, self._hits = roomy(self._needed, number + 1), roomy(self._hits, number + 1)
        self._needed[number] = len(keys)

    def drop(self, number: int, rows: Int32Array) -> None:
        for operation in cluster_of(keys_of(rows)[0]).tolist():
            lines = self._operations.of(operation)
            line = int(lines[np.argmax(self._lines[lines, RULE] == number)])
            self._operations.drop(operation, line)
            self._free_lines.append(line)

    def find(self, codes: Int32Array) -> Int32Array:
        out = np.empty(self._room, np.int32)
        count, located, true = kernels.match(
            self._operations.lists, self._operations.entries, self._lines, codes, self._needed,
            self._hits, out,
        )  # fmt: skip
        self.worked(located, true, len(self._rule_numbers))
        return out[:count]

    @property
    def index_bytes(self) -> int:
        tables = 8 * self._line_count + self._operations.bytes
        return tables + self._needed.nbytes + self._hits.nbytes + 8
