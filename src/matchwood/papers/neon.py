"""Neon: tables of predicates and operations, and counting.

New Era of Networks, NEONRules, as Fabret et al., *Le Subscribe*, 2000, §3.1, Figure 8, describe
it. The table *predicates* has a line for each predicate of each rule, with the rule and the value;
nothing is shared. The table *operations* has what predicates have in common, an attribute and a
comparison, and an index leads from there to their lines: "each located predicate must be evaluated
afterwards". What is true is counted by rule in `and`. Rules here have no event type; all are of
one.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean
from matchwood.papers.postings import AT, SIZE, Postings
from matchwood.papers.predicate_clusters import EQUAL, LESS, keys_of
from matchwood.papers.roster import roomy
from matchwood.papers.subscriptions import Ints, Rows, Subscriptions

_RULE, _VALUE = range(2)  # of a line of the table of predicates
_BITS = 31  # of a value in a key, see `predicate_clusters`


class Neon(Subscriptions):
    """Predicates in a table, located by attribute and comparison.

    >>> neon = Neon({1: "price <= 10 and kind = 'toy'", 2: "price <= 20", 3: "price > 5"})
    >>> neon.match({"price": 5}), neon.work.predicates
    ([2], 3)
    """

    name = "Neon"
    paper = "NEONRules; Fabret et al. 2000, §3.1, Figure 8"

    def lay_out(self, found: Rows) -> None:
        keys, place = keys_of(found.rows)
        operation = keys >> _BITS
        order = np.argsort(operation, kind="stable")  # lines of an operation lie together
        owner = found.owner[place][order]
        values = keys[order] & ((1 << _BITS) - 1)
        self._lines = np.column_stack((owner, values)).astype(np.int32)
        self._line_count, self._free_lines = len(order), list[int]()
        self._operations = Postings(operation[order], np.arange(len(order), dtype=np.int32))
        self._needed = np.bincount(owner, minlength=len(found.start) - 1).astype(np.uint16)
        self._hits = np.zeros(len(self._needed), np.uint16)

    def take(self, number: int, rows: Ints) -> None:
        keys, _ = keys_of(rows)
        for key in keys.tolist():
            line = self._free_lines.pop() if self._free_lines else self._line_count
            self._line_count = max(self._line_count, line + 1)
            self._lines = roomy(self._lines, line + 1)
            self._lines[line] = number, key & ((1 << _BITS) - 1)
            self._operations.put(key >> _BITS, line)
        self._needed, self._hits = roomy(self._needed, number + 1), roomy(self._hits, number + 1)
        self._needed[number] = len(keys)

    def drop(self, number: int, rows: Ints) -> None:
        for operation in (keys_of(rows)[0] >> _BITS).tolist():
            lines = self._operations.of(operation)
            line = int(lines[np.argmax(self._lines[lines, _RULE] == number)])
            self._operations.drop(operation, line)
            self._free_lines.append(line)

    def find(self, codes: Ints) -> Ints:
        out = np.empty(self._room, np.int32)
        found, located, true = _match(
            self._operations.lists, self._operations.entries, self._lines, codes, self._needed,
            self._hits, out,
        )  # fmt: skip
        self.worked(located, true, len(self._roster))
        return out[:found]

    @property
    def index_bytes(self) -> int:
        tables = 8 * self._line_count + self._operations.bytes
        return tables + self._needed.nbytes + self._hits.nbytes + 8


@lean
def _match(lists, entries, lines, codes, needed, hits, out):
    """Rules that are true: out[:first of what is returned]; also predicates evaluated, and true.

    `out` is `and` at first: the rules that have a true predicate, with their counts in `hits`.
    """
    count = 0
    located = 0
    true = 0
    for operation in range(min(len(lists), 3 * len(codes))):
        axis, comparison = operation // 3, operation % 3
        value = codes[axis]
        if value < 0:
            continue
        at, size = lists[operation, AT], lists[operation, SIZE]
        located += size
        for i in range(at, at + size):
            line = entries[i]
            other = lines[line, _VALUE]
            if comparison == EQUAL:
                holds = value == other
            elif comparison == LESS:
                holds = value <= other
            else:
                holds = value >= other
            if holds:
                rule = lines[line, _RULE]
                true += 1
                if hits[rule] == 0:
                    out[count] = rule
                    count += 1
                hits[rule] += 1
    found = 0
    for i in range(count):
        rule = out[i]
        if hits[rule] == needed[rule]:
            out[found] = rule
            found += 1
        hits[rule] = 0
    return found, located, true
