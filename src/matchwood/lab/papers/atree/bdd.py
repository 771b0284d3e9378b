"""BDD: all rules in one shared, ordered binary decision diagram.

Campailla et al., *Efficient filtering in publish-subscribe systems using binary decision diagrams*,
ICSE 2001, as Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §2, take it to arbitrary expressions; the
diagram is Bryant's (1986), with a unique table and a memo of joins.

- A variable is a literal: a predicate and its negation are two. Rules are in the form without
  `not` and `xor`, so they are monotone in these, and an undefined predicate is one of which both
  variables are false.
- Variables are ordered by first appearance in the rules: predicates of one rule are close together,
  and a new variable goes to the end, so that variables are never reordered.
- A rule is a root. For an event each root is followed down, to `high` where the variable is true
  and otherwise to `low`, as far as the first node whose result is already known for this event.

Nodes that no root reaches are freed when there is no room for more. A diagram that needs
more bytes than its budget raises `OverBudget`, and is then as it was before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.atree import bdd_kernels as kernels
from matchwood.lab.papers.atree.bdd_kernels import (
    ALWAYS,
    GONE,
    HIGH,
    LIVE,
    LOW,
    MEMO,
    NEVER,
    VARIABLE,
)
from matchwood.lab.papers.shared.forms import forms
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import Algorithm, Id, OverBudget, Rule, Rules, Work
from matchwood.lab.papers.shared.rule_numbers import RuleNumbers, roomy

# The variable of the two leaves, which comes after all others.
_LAST_VARIABLE = (1 << 31) - 1

# The last event before all nodes forget their results, each of which holds the number of its event.
_LAST_EVENT = (1 << 30) - 1

# Bytes per node: its row, and its share of the table at most.
_NODE_BYTES = 4 * 5 + 8

# Nodes that there is room for at first.
_FIRST = 1024

# Joins whose results are remembered.
_JOINS = 1 << 18


class Bdd(Algorithm):
    """Rules as the roots of one decision diagram, within a budget of bytes.

    >>> bdd = Bdd({1: "a = 1 and b = 1", 2: "b = 1 and a = 1", 3: "a = 1 or b = 1"})
    >>> sorted(bdd.match({"a": 1})), bdd.nodes
    ([3], 3)
    """

    name = "BDD"
    paper = "Campailla et al. 2001; Ji, Jacobsen 2021, §2"
    budgeted = True
    default_budget: ClassVar[int] = 4 << 30

    def __init__(self, rules: Rules = (), *, budget: int | None = None) -> None:
        self._budget = self.default_budget if budget is None else budget
        super().__init__(rules)

    def build(self, rules: dict[Id, Rule]) -> None:
        """Add the rules one after the other."""
        self._rule_numbers = RuleNumbers(rules)
        self._predicates = PredicateLookup()
        self._rows = np.empty((0, 5), np.int32)
        self._table = np.empty(0, np.int32)
        self._state = np.array([2, GONE, 0], np.int64)
        self._joins = np.zeros((_JOINS, 4), np.int32)
        self._variable_of = np.empty(0, np.int32)
        self._variables = 0
        self._root = np.full(len(rules), GONE, np.int32)
        self._truth, self._event = np.zeros(0, np.uint8), 0
        self._resize(_FIRST)
        program, start = self._predicates.gather(list(rules.values()))
        self._insert(program, start, np.arange(len(rules), dtype=np.int32))
        self._rows = kernels.compact(self._rows, self._state, self._root)
        self._joins[:] = 0
        self._resize(max(_FIRST, len(self._rows)))

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Add one rule."""
        program = self._predicates.program(rule)
        number = self._rule_numbers.add(rule_id)
        self._root = roomy(self._root, number + 1, GONE)
        start = np.array([0, len(program)], np.int64)
        try:
            self._insert(program, start, np.array([number], np.int32))
        except OverBudget:
            self._rule_numbers.remove(rule_id)
            raise

    def remove(self, rule_id: Id) -> None:
        """Forget the root; its nodes are freed when room is needed."""
        self._root[self._rule_numbers.remove(rule_id)] = GONE

    def _insert(self, program: Int32Array, start: Int64Array, numbers: Int32Array) -> None:
        trees = forms(program, start, self._predicates.atoms)
        self._variable_of = roomy(self._variable_of, 2 * self._predicates.atoms, GONE)
        self._variables = kernels.number_variables(trees.words, self._variable_of, self._variables)
        longest = int(np.diff(trees.start).max(initial=0)) + 8
        space = np.empty((5, longest), np.int64)
        done, before = 0, -1
        while done < len(numbers):
            done = kernels.join_all(
                self._rows, self._table, self._state, self._joins, self._variable_of,
                *trees, numbers, done, self._root, space,
            )  # fmt: skip
            if done < len(numbers):
                self._make_room(done == before)
            before = done

    def _make_room(self, again: bool) -> None:
        """Free unused nodes; if that freed none, or half are still in use, double the room."""
        kernels.sweep(self._rows, self._table, self._state, self._root)
        self._joins[:] = 0
        size = len(self._rows)
        if again or 2 * self._state[LIVE] > size:
            if 2 * size * _NODE_BYTES > self._budget:
                raise OverBudget(
                    f"the diagram of {len(self._rule_numbers):,} rules has "
                    f"{int(self._state[LIVE]):,} nodes and "
                    f"needs more than its budget of {self._budget:,} bytes: "
                    "give it fewer or smaller rules, or a larger budget"
                )
            self._resize(2 * size)

    def _resize(self, size: int) -> None:
        rows = np.full((size, 5), GONE, np.int32)
        rows[: len(self._rows)] = self._rows
        rows[:2, VARIABLE] = _LAST_VARIABLE
        rows[:2, LOW] = rows[:2, HIGH] = [NEVER, ALWAYS]
        rows[:, MEMO] = 0
        self._event = 0
        self._rows, self._table = rows, np.full(1 << size.bit_length(), GONE, np.int32)
        kernels.rehash(rows, self._table, self._state)

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Follow every root down."""
        true = self._predicates.true_of(event)
        self._variable_of = roomy(self._variable_of, 2 * self._predicates.atoms, GONE)
        self._truth = roomy(self._truth, self._variables + 1)
        variables = self._variable_of[true]
        variables = variables[variables >= 0]
        self._truth[variables] = 1
        if self._event == _LAST_EVENT:
            self._rows[:, MEMO], self._event = 0, 0
        self._event += 1
        out = np.empty(len(self._root), np.int32)
        path = np.empty(self._variables + 1, np.int32)
        count, visited = kernels.follow(self._rows, self._root, self._truth, self._event, path, out)
        self._truth[variables] = 0
        self.work = Work(len(true), visited, len(self._rule_numbers))
        return self._rule_numbers.named(out[:count])

    @property
    def nodes(self) -> int:
        """The number of nodes that a root reaches, without the constants."""
        kernels.sweep(self._rows, self._table, self._state, self._root)
        self._joins[:] = 0
        return int(self._state[LIVE])

    @property
    def bytes(self) -> int:
        """Bytes of nodes, tables, roots and predicates."""
        return (
            self._rows.nbytes + self._table.nbytes + self._variable_of.nbytes
            + 4 * self._rule_numbers.room + self._predicates.bytes
        )  # fmt: skip

    @property
    def buffers(self) -> int:
        """Bytes of the memo of joined nodes."""
        return self._joins.nbytes
