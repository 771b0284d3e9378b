"""Subscriptions that share expensive predicates, as Table 1 of Liu et al. (DEBS 2007) has them.

A subscription is a conjunction of predicates that are drawn by their popularity, which is uniform
or follows Zipf's law. The paper does not say what predicates test: here each is the call
`holds(event, number)` of one operator, true with a probability of its own, independent of the
others. Probabilities are drawn evenly from 0 up to a bound that makes an event match the given
share of subscriptions. With a `bias`, they follow from popularity instead: a predicate is false
with a chance in proportion to its popularity to the power of the bias, so that above 0 the popular
predicates are those that are seldom true.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import FloatArray, Int32Array
from matchwood.lab.workloads.drawing import below, key_of, uniform
from matchwood.operators import Operator, Operators

# How the popularity of predicates may be distributed.
MODELS = ("uniform", "zipf")

# How many events an operator keeps the truth of predicates for.
_REMEMBERED = 256

# The pools of random numbers, one per kind of draw.
_WEIGHTS, _LENGTHS, _DRAWN, _CHANCES, _EVENTS = range(5)


@dataclass(frozen=True)
class Overlapping:
    """Subscriptions over expensive predicates.

    >>> workload = Overlapping(rules=2, predicates=50, seed=3)
    >>> workload.texts()[1]
    'holds(event, 1) and holds(event, 40) and holds(event, 8)'
    """

    rules: int = 20_000
    predicates: int = 5_000
    model: str = "uniform"
    alpha: float = 1.0  # the exponent of Zipf's law
    shortest: int = 3
    longest: int = 5
    matched: float = 0.002  # the share of subscriptions that an event matches
    bias: float = 0.0  # the power of popularity by which predicates are false; 0: drawn evenly
    seconds: float = 0.0  # how long a call takes
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model is one of {', '.join(MODELS)}, found {self.model!r}")
        if not 1 <= self.shortest <= self.longest <= self.predicates:
            raise ValueError("expected 1 <= shortest <= longest <= predicates")

    def _uniform(self, pool: int, numbers: NDArray[np.int64], slots: Any = 0) -> FloatArray:
        return uniform(key_of(self.seed, pool), numbers, slots)

    @cached_property
    def popularity(self) -> FloatArray:
        """The weight of each predicate; they add up to 1."""
        numbers = np.arange(self.predicates)
        drawn = self._uniform(_WEIGHTS, numbers)
        if self.model == "zipf":
            drawn[np.argsort(drawn)] = (numbers + 1.0) ** -self.alpha
        weights: FloatArray = drawn / drawn.sum()
        return weights

    @cached_property
    def subscriptions(self) -> tuple[Int32Array, Int32Array]:
        """(start, predicates): those of subscription i are predicates[start[i] : start[i + 1]]."""
        numbers = np.arange(self.rules)
        spread = self.longest - self.shortest + 1
        lengths = self.shortest + below(self._uniform(_LENGTHS, numbers), spread)
        start = np.r_[0, np.cumsum(lengths)]
        owners = np.repeat(numbers, lengths)
        slots = np.arange(start[-1]) - start[owners]
        cumulative = np.cumsum(self.popularity)[:-1]
        drawn = np.empty(start[-1], np.int64)
        again = np.arange(start[-1])
        while len(again):  # predicates that a subscription has twice are drawn again
            chance = self._uniform(_DRAWN, owners[again], slots[again])
            drawn[again] = np.searchsorted(cumulative, chance, side="right")
            keys = owners * self.predicates + drawn
            order = np.argsort(keys, kind="stable")
            again = order[1:][keys[order[1:]] == keys[order[:-1]]]
            slots[again] += self.longest
        return start.astype(np.int32), drawn.astype(np.int32)

    @cached_property
    def selectivity(self) -> FloatArray:
        """The probability that each predicate is true."""
        if not self.bias:
            drawn = self._uniform(_CHANCES, np.arange(self.predicates))
            return self._fitted(lambda bound: drawn * bound)
        weights = (self.popularity / self.popularity.max()) ** self.bias
        weights /= weights.min()
        return self._fitted(lambda bound: np.maximum(0.0, 1.0 - weights * (1.0 / bound - 1.0)))

    def _fitted(self, chances: Callable[[float], FloatArray]) -> FloatArray:
        """Chances by the bound, between 0 and 1, with which an event matches the given share."""
        start, predicates = self.subscriptions
        low, high = 0.0, 1.0
        for _ in range(60):
            bound = (low + high) / 2
            logs = np.log(np.maximum(chances(bound), 1e-300))[predicates]
            matched = np.exp(np.add.reduceat(logs, start[:-1])).mean()
            low, high = (bound, high) if matched < self.matched else (low, bound)
        return chances(high)

    def truth(self, event: int) -> NDArray[np.bool_]:
        """Which predicates are true of an event."""
        drawn = self._uniform(_EVENTS, np.arange(self.predicates), event)
        true: NDArray[np.bool_] = drawn < self.selectivity
        return true

    # As rules and events

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Some of the subscriptions as rules."""
        bounds, predicates = self.subscriptions
        calls = [f"holds(event, {number})" for number in range(self.predicates)]
        return [
            " and ".join(calls[p] for p in predicates[bounds[i] : bounds[i + 1]].tolist())
            for i in range(start, self.rules if stop is None else stop)
        ]

    def events(self, n: int, *, start: int = 0) -> list[dict[str, Any]]:
        """Events, which have their number as the only attribute: all else follows from it."""
        return [{"event": number} for number in range(start, start + n)]

    def operators(self) -> Operators:
        """The operator that the rules call."""
        seconds = self.seconds
        known: dict[int, NDArray[np.bool_]] = {}

        def holds(event: Mapping[str, object], number: int, predicate: int) -> bool:
            if number not in known:
                if len(known) >= _REMEMBERED:
                    known.clear()
                known[number] = self.truth(number)
            if seconds:
                time.sleep(seconds)
            return bool(known[number][predicate])

        return Operators([Operator("holds", holds, cost=seconds or 1e-3)])
