"""The calls and literals of a matcher, numbered, and what is learned of them as they are asked.

A literal's chance to hold and a call's cost are estimated from what was seen lately: counts are
halved when they are full, and a mean moves by a part of each observation at least. Until a call has
been made often its operator's mean counts with its own, and at first what was said when that was
registered. Costs are means of logarithms: a call that had to wait once is not taken for a slow one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import inlined, lean
from matchwood.forking import is_left_held
from matchwood.language.tree import Call, Node
from matchwood.operators.registry import COST, Operator
from matchwood.operators.residue import calls_in

FULL = 256  # observations of a literal before they count half
PRIOR = 2.0  # observations that the mean of its operator is worth, for chances
COST_PRIOR = 4.0  # and for costs
RECENT = 32  # observations that a cost is the mean of, about
AROUND = 2e-5  # seconds that every call takes beside its operator: less is not worth telling apart

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class Calls:
    """Calls and literals by number, with their estimates; shared by all threads of a matcher.

    Two threads that note an observation at the same time may lose one of them.
    """

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        self._operators = operators
        self._lock = threading.Lock()
        self._number: dict[Call, int] = {}
        self._literal: dict[Node, int] = {}
        self._by_name: dict[str, int] = {}
        self.calls: list[Call] = []
        self.literals: list[Node] = []
        self.literal_call: Ints = np.empty(0, np.int32)
        self._literal_operator: Ints = np.empty(0, np.int32)
        self._call_operator: Ints = np.empty(0, np.int32)
        self._asked: Floats = np.empty(0)
        self._held: Floats = np.empty(0)
        self._cost: Floats = np.empty(0)  # the mean of logarithms
        self._made: Floats = np.empty(0)  # how often, up to RECENT
        self._operator_asked: Floats = np.empty(0)
        self._operator_held: Floats = np.empty(0)
        self._operator_cost: Floats = np.empty(0)
        self._operator_made: Floats = np.empty(0)
        self._scratch: list[tuple[Ints, Ints]] = []

    def __len__(self) -> int:
        return len(self.literals)

    def was_changing(self) -> bool:
        """In a forked process: whether a thread that is not there was adding to this one."""
        held = is_left_held(self._lock)
        if held:
            self._lock = threading.Lock()
        return held

    def numbers(self, literals: Iterable[Node]) -> Ints:
        """The numbers of literals, new ones added."""
        with self._lock:
            found = np.array([self._add(literal) for literal in literals], np.int32)
            self._grow()
        return found

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
        """Arrays for what was added; readers go on with those that they took."""
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
            said = [log(self._said(name) + AROUND) for name in fresh]
            self._operator_made = _longer(self._operator_made, names, COST_PRIOR)
            self._operator_asked = _longer(self._operator_asked, names, 0.0)
            self._operator_held = _longer(self._operator_held, names, 0.0)
            self._operator_cost = np.r_[self._operator_cost, np.array(said)]
        if calls > len(self._cost):
            new_calls = self.calls[len(self._cost) :]
            operators = [self._by_name[call.name] for call in new_calls]
            self._made = _longer(self._made, calls, 0.0)
            self._cost = _longer(self._cost, calls, 0.0)
            self._call_operator = np.r_[self._call_operator, np.array(operators, np.int32)]

    def _said(self, name: str) -> float:
        operator = self._operators.get(name)
        return COST if operator is None else operator.cost

    # Estimates

    def chances(self, literals: Ints) -> Floats:
        """The chance of each literal to hold."""
        operators = self._literal_operator[literals]
        mean = (self._operator_held + 1) / (self._operator_asked + 2)
        held = self._held[literals] + PRIOR * mean[operators]
        return held / (self._asked[literals] + PRIOR)

    def costs(self, calls: Ints) -> Floats:
        """The cost of each call, in seconds."""
        mean = self._operator_cost[self._call_operator[calls]]
        own = self._made[calls] / (self._made[calls] + COST_PRIOR)
        found: Floats = np.exp(own * self._cost[calls] + (1 - own) * mean)
        return found

    def note_costs(self, taken: Sequence[tuple[Call, float]]) -> None:
        """The seconds that calls took."""
        found = [(self._number.get(call), seconds) for call, seconds in taken]
        numbers = np.array([number for number, _ in found if number is not None], np.int32)
        seconds = np.array([seconds for number, seconds in found if number is not None], np.float64)
        own = (self._call_operator, self._cost, self._made)
        _note_costs(numbers, seconds, *own, self._operator_cost, self._operator_made)

    def note_truths(self, literals: Sequence[int], holds: Sequence[bool]) -> None:
        """Whether literals held."""
        numbers, held = np.array(literals, np.int32), np.array(holds, np.float64)
        own = (self._literal_operator, self._asked, self._held)
        _note_truths(numbers, held, *own, self._operator_asked, self._operator_held)

    def learned_from(self, other: Calls) -> None:
        """Take over what another one learned of what is here."""
        with other._lock:  # what is known there has its arrays only when they have grown
            for literal, place in self._literal.items():
                before = other._literal.get(literal)
                if before is not None:
                    self._asked[place] = other._asked[before]
                    self._held[place] = other._held[before]
            for call, place in self._number.items():
                known = other._number.get(call)
                if known is not None:
                    self._cost[place] = other._cost[known]
                    self._made[place] = other._made[known]

    # Scratch for `order.gather`

    def borrow(self) -> tuple[Ints, Ints]:
        """Two arrays of -1, by literal and by call; give them back as they were."""
        sizes = len(self.literal_call), len(self._cost)
        while self._scratch:
            found = self._scratch.pop()
            if (len(found[0]), len(found[1])) == sizes:
                return found
        return np.full(sizes[0], -1, np.int32), np.full(sizes[1], -1, np.int32)

    def give_back(self, scratch: tuple[Ints, Ints]) -> None:
        if len(self._scratch) < 8:
            self._scratch.append(scratch)


@inlined
def _average(mean: Floats, made: Floats, place: int, value: float) -> None:
    made[place] = min(made[place] + 1, RECENT)
    mean[place] += (value - mean[place]) / made[place]


@inlined
def _count(asked: Floats, held: Floats, place: int, holds: float) -> None:
    if asked[place] >= FULL:
        asked[place] /= 2
        held[place] /= 2
    asked[place] += 1
    held[place] += holds


@lean
def _note_costs(
    numbers: Ints, seconds: Floats, operator: Ints, cost: Floats, made: Floats,
    operator_cost: Floats, operator_made: Floats,
) -> None:  # fmt: skip
    for i in range(len(numbers)):
        taken = log(seconds[i] + AROUND)
        _average(cost, made, numbers[i], taken)
        _average(operator_cost, operator_made, operator[numbers[i]], taken)


@lean
def _note_truths(
    numbers: Ints, holds: Floats, operator: Ints, asked: Floats, held: Floats,
    operator_asked: Floats, operator_held: Floats,
) -> None:  # fmt: skip
    for i in range(len(numbers)):
        _count(asked, held, numbers[i], holds[i])
        _count(operator_asked, operator_held, operator[numbers[i]], holds[i])


def _longer(array: NDArray[Any], size: int, value: float) -> NDArray[Any]:
    return np.concatenate([array, np.full(size - len(array), value)])
