"""The options of many rules as arrays: clauses over literals, each with its condition.

A clause is one option of one rule. Rules are identified by ordinals, which rise with clauses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.language.tree import Node
from matchwood.language.tree.variables import Join
from matchwood.operators.learning import Calls
from matchwood.operators.residue import Residue


class ClauseTable:
    """The clauses of some rules; immutable."""

    def __init__(self, rules: Iterable[tuple[int, Residue]]) -> None:
        self._known: dict[Node, int] = {}  # literals
        self.conditions: list[Node] = []
        self.joins: dict[int, tuple[Join, ...]] = {}
        self.whole: dict[int, Node] = {}  # clauses that stand for a whole rule, evaluated as such
        self._condition_numbers: dict[Node, int] = {}  # of conditions
        self._waiting: list[list[int]] = []
        owner: list[int] = []
        bounds = [0]
        flat: list[int] = []
        always: list[int] = []
        for ordinal, rest in rules:
            for option in rest.options:
                self._wait(option.condition, len(owner), always)
                for literal in option.literals:
                    flat.append(self._known.setdefault(literal, len(self._known)))
                if option.joins:
                    self.joins[len(owner)] = option.joins
                owner.append(ordinal)
                bounds.append(len(flat))
            if rest.whole is not None:
                self._wait(rest.upper, len(owner), always)
                self.whole[len(owner)] = rest.whole
                owner.append(ordinal)
                bounds.append(len(flat))
        self.rule = np.array(owner, np.int32)
        self.start = np.array(bounds, np.int32)
        self._local = np.array(flat, np.int32)
        self.has_joins = np.zeros(len(owner), np.uint8)
        self.has_joins[list(self.joins)] = 1
        self.is_whole = np.zeros(len(owner), bool)
        self.is_whole[list(self.whole)] = True
        lengths = np.diff(self.start)
        self.is_plain = (lengths == 1) & ~self.is_whole & (self.has_joins == 0)  # one literal
        self.always = np.array(always, np.int32)
        sizes = [len(clauses) for clauses in self._waiting]
        self.condition_start = np.r_[0, np.cumsum(sizes)].astype(np.int32)
        joined = [clause for clauses in self._waiting for clause in clauses]
        self.condition_clause = np.array(joined, np.int32)
        self._literals = list(self._known)
        self._numbered: tuple[Calls, Int32Array] | None = None
        self.shape: Any = None  # (calls, shape of all clauses over them), kept by `deciding`
        del self._known, self._condition_numbers, self._waiting

    def _wait(self, condition: Node | None, clause: int, always: list[int]) -> None:
        """Note that a clause is to be considered when its condition is true."""
        if condition is None:
            always.append(clause)
            return
        number = self._condition_numbers.get(condition)
        if number is None:
            number = self._condition_numbers[condition] = len(self.conditions)
            self.conditions.append(condition)
            self._waiting.append([])
        self._waiting[number].append(clause)

    def __len__(self) -> int:
        return len(self.rule)

    @property
    def literals(self) -> int:
        return len(self._literals)

    def literals_of(self, clause: int) -> list[Node]:
        """The literals of a clause."""
        local = self._local[self.start[clause] : self.start[clause + 1]]
        return [self._literals[number] for number in local.tolist()]

    def literal_numbers(self, calls: Calls) -> Int32Array:
        """The literals of all clauses, as the numbers that `calls` gives them."""
        known = self._numbered
        if known is None or known[0] is not calls:
            known = self._numbered = calls, calls.numbers(self._literals)[self._local]
        return known[1]

    def clauses_when(self, conditions: Int32Array) -> Int32Array:
        """The clauses to consider when these conditions are true, in order."""
        waiting = [
            self.condition_clause[self.condition_start[c] : self.condition_start[c + 1]]
            for c in conditions.tolist()
        ]
        if not waiting:
            return self.always
        if len(waiting) == 1 and not len(self.always):
            return waiting[0]
        clauses: Int32Array = np.unique(np.concatenate([self.always, *waiting]))
        return clauses
