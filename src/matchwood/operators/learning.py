"""The calls and literals of a matcher, numbered, with what is learned while they are evaluated.

A literal's chance to hold and a call's cost are estimated from recent observations: counts are
halved when they reach a limit, and every observation moves a mean by a minimum share. Until a call
has been made often, the mean of its operator counts beside its own, and at first the cost that the
operator was registered with. Costs are means of logarithms, so that a call which had to wait once
is not taken for a slow one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held
from matchwood.kernels.array_types import FloatArray, Int32Array
from matchwood.language.tree import Call, Node
from matchwood.operators.learning_kernels import AROUND, note_costs, note_truths
from matchwood.operators.registry import ASSUMED_SECONDS, Operator
from matchwood.operators.residue import calls_in

# Observations of a literal that the mean of its operator is worth, for chances.
PRIOR = 2.0

# Observations of a call that the mean of its operator is worth, for costs.
COST_PRIOR = 4.0


class Calls:
    """Calls and literals by number, with their estimates; shared by all threads of a matcher.

    If two threads note an observation at the same time, one of the two may be lost.
    """

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        self._operators = operators
        self._lock = threading.Lock()
        self._number: dict[Call, int] = {}
        self._literal: dict[Node, int] = {}
        self._by_name: dict[str, int] = {}
        self.calls: list[Call] = []
        self.literals: list[Node] = []
        self.literal_call: Int32Array = np.empty(0, np.int32)
        self._literal_operator: Int32Array = np.empty(0, np.int32)
        self._call_operator: Int32Array = np.empty(0, np.int32)
        self._asked: FloatArray = np.empty(0)
        self._held: FloatArray = np.empty(0)
        self._cost: FloatArray = np.empty(0)  # the mean of logarithms
        self._made: FloatArray = np.empty(0)  # how often, up to RECENT
        self._operator_asked: FloatArray = np.empty(0)
        self._operator_held: FloatArray = np.empty(0)
        self._operator_cost: FloatArray = np.empty(0)
        self._operator_made: FloatArray = np.empty(0)
        self._scratch: list[tuple[Int32Array, Int32Array]] = []

    def __len__(self) -> int:
        return len(self.literals)

    def was_changing(self) -> bool:
        """In a forked process: whether a thread of the parent was changing this at the fork."""
        lock_was_held = is_left_held(self._lock)
        if lock_was_held:
            self._lock = threading.Lock()
        return lock_was_held

    def numbers(self, literals: Iterable[Node]) -> Int32Array:
        """The numbers of literals; unknown ones are added."""
        with self._lock:
            numbers = np.array([self._add(literal) for literal in literals], np.int32)
            self._grow()
        return numbers

    def _add(self, literal: Node) -> int:
        known = self._literal.get(literal)
        if known is not None:
            return known
        [call] = calls_in(literal)
        if call not in self._number:
            self._number[call] = len(self.calls)
            self.calls.append(call)
            self._by_name.setdefault(call.name, len(self._by_name))
        self._literal[literal] = len(self.literals)
        self.literals.append(literal)
        return len(self.literals) - 1

    def _grow(self) -> None:
        """Replace the arrays by longer ones; readers keep using those that they took."""
        literals, calls, names = len(self.literals), len(self.calls), len(self._by_name)
        if literals > len(self.literal_call):
            new = self.literals[len(self.literal_call) :]
            numbers = [self._number[calls_in(literal)[0]] for literal in new]
            operators = [self._by_name[self.calls[number].name] for number in numbers]
            self._asked = _longer(self._asked, literals, 0.0)
            self._held = _longer(self._held, literals, 0.0)
            self._literal_operator = np.r_[self._literal_operator, np.array(operators, np.int32)]
            self.literal_call = np.r_[self.literal_call, np.array(numbers, np.int32)]
        if names > len(self._operator_cost):
            fresh = list(self._by_name)[len(self._operator_cost) :]
            log_costs = [log(self._registered_cost(name) + AROUND) for name in fresh]
            self._operator_made = _longer(self._operator_made, names, COST_PRIOR)
            self._operator_asked = _longer(self._operator_asked, names, 0.0)
            self._operator_held = _longer(self._operator_held, names, 0.0)
            self._operator_cost = np.r_[self._operator_cost, np.array(log_costs)]
        if calls > len(self._cost):
            new_calls = self.calls[len(self._cost) :]
            operators = [self._by_name[call.name] for call in new_calls]
            self._made = _longer(self._made, calls, 0.0)
            self._cost = _longer(self._cost, calls, 0.0)
            self._call_operator = np.r_[self._call_operator, np.array(operators, np.int32)]

    def _registered_cost(self, name: str) -> float:
        operator = self._operators.get(name)
        return ASSUMED_SECONDS if operator is None else operator.cost

    # Estimates

    def chances(self, literals: Int32Array) -> FloatArray:
        """The chance of each literal to hold."""
        operators = self._literal_operator[literals]
        mean = (self._operator_held + 1) / (self._operator_asked + 2)
        times_true = self._held[literals] + PRIOR * mean[operators]
        return times_true / (self._asked[literals] + PRIOR)

    def costs(self, calls: Int32Array) -> FloatArray:
        """The cost of each call, in seconds."""
        mean = self._operator_cost[self._call_operator[calls]]
        own = self._made[calls] / (self._made[calls] + COST_PRIOR)
        seconds: FloatArray = np.exp(own * self._cost[calls] + (1 - own) * mean)
        return seconds

    def note_costs(self, call_seconds: Sequence[tuple[Call, float]]) -> None:
        """Take in how many seconds calls took."""
        numbered = [(self._number.get(call), seconds) for call, seconds in call_seconds]
        numbers = np.array([number for number, _ in numbered if number is not None], np.int32)
        seconds = np.array(
            [seconds for number, seconds in numbered if number is not None], np.float64
        )
        own = (self._call_operator, self._cost, self._made)
        note_costs(numbers, seconds, *own, self._operator_cost, self._operator_made)

    def note_truths(self, literals: Sequence[int], holds: Sequence[bool]) -> None:
        """Take in whether literals held."""
        numbers, truths = np.array(literals, np.int32), np.array(holds, np.float64)
        own = (self._literal_operator, self._asked, self._held)
        note_truths(numbers, truths, *own, self._operator_asked, self._operator_held)

    def learned_from(self, other: Calls) -> None:
        """Copy what another table learned about the calls and literals that are also here."""
        with other._lock:  # a number there has its place in the arrays only after `_grow`
            for literal, number in self._literal.items():
                number_there = other._literal.get(literal)
                if number_there is not None:
                    self._asked[number] = other._asked[number_there]
                    self._held[number] = other._held[number_there]
            for call, number in self._number.items():
                number_there = other._number.get(call)
                if number_there is not None:
                    self._cost[number] = other._cost[number_there]
                    self._made[number] = other._made[number_there]

    # Scratch for `order_kernels.distinct_calls`

    def borrow(self) -> tuple[Int32Array, Int32Array]:
        """Two arrays of -1, by literal and by call; give them back unchanged."""
        sizes = len(self.literal_call), len(self._cost)
        while self._scratch:
            scratch = self._scratch.pop()
            if (len(scratch[0]), len(scratch[1])) == sizes:
                return scratch
        return np.full(sizes[0], -1, np.int32), np.full(sizes[1], -1, np.int32)

    def give_back(self, scratch: tuple[Int32Array, Int32Array]) -> None:
        if len(self._scratch) < 8:
            self._scratch.append(scratch)


def _longer(array: NDArray[Any], size: int, value: float) -> NDArray[Any]:
    return np.concatenate([array, np.full(size - len(array), value)])
