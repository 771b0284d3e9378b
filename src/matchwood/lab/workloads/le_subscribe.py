"""The subscriptions of Fabret et al., *Le Subscribe*, 2000, section 4.

There is one type of event, with six optional attributes: three of strings with 200 values each,
which rules test for equality only, and three of numbers with 5,000 values each. A rule tests an
attribute with probability 0.5, and an event has it with the same probability. A number is tested
for equality with probability p, and otherwise with <= or >=, each as often as the other; these are
the comparisons that the paper's algorithms index. All values are uniform.

A rule without predicates is drawn again; the paper does not say what becomes of it.

What a rule is depends on the seed and its number alone, so that any part can be made by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from matchwood.kernels.array_types import FloatArray, Int64Array
from matchwood.lab.workloads.drawing import below, key_of, uniform

# The comparisons of a predicate.
EQUAL, LESS, GREATER = range(3)

# The text of each comparison.
COMPARED = ("=", "<=", ">=")

# Rules that are made at a time; it bounds the memory of the draws.
CHUNK = 100_000

# Slots of the draws of an attribute; a rule that is drawn again draws from those after them.
PRESENT, VALUE, EQUALITY, DIRECTION, DRAWS = range(5)


@dataclass(frozen=True)
class LeSubscribe:
    """A seeded workload of conjunctions over three strings and three numbers.

    >>> LeSubscribe(seed=3).texts(0, 1)
    ["s0 = 'v97' and s1 = 'v5' and s2 = 'v83' and n0 = 3718 and n2 >= 1488"]
    >>> LeSubscribe().events(1)
    [{'s0': 'v167', 's1': 'v177', 's2': 'v27', 'n0': 1008, 'n1': 1587}]
    """

    rules: int = 400_000
    equality: float = 0.5  # the paper's p
    strings: int = 3
    numbers: int = 3
    string_values: int = 200
    number_values: int = 5000
    present: float = 0.5  # the probability of an attribute in a rule, and in an event
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("rules", "string_values", "number_values"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if min(self.strings, self.numbers) < 0 or not self.strings + self.numbers:
            raise ValueError(
                f"strings is {self.strings} and numbers {self.numbers}, expected an attribute"
            )
        if not 0 <= self.equality <= 1:
            raise ValueError(f"equality is {self.equality}, expected a probability")
        if not 0 < self.present <= 1:
            raise ValueError(f"present is {self.present}, expected a probability above 0")

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> LeSubscribe(rules=100).texts(40, 60) == LeSubscribe(rules=100).texts()[40:60]
        True
        """
        end = self.rules if stop is None else min(stop, self.rules)
        made: list[str] = []
        for first in range(start, end, CHUNK):
            made.extend(self._some(np.arange(first, min(first + CHUNK, end))))
        return made

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time, for workloads too large for one list.

        >>> [len(chunk) for chunk in LeSubscribe(rules=25).chunks(10)]
        [10, 10, 5]
        """
        for start in range(0, self.rules, size):
            yield self.texts(start, start + size)

    def events(self, n: int, start: int = 0) -> list[dict[str, str | int]]:
        """Events with some of the attributes, or with none; the same for the same seed.

        >>> LeSubscribe().events(2, start=5) == LeSubscribe().events(7)[5:]
        True
        """
        key = key_of(self.seed, 1)
        numbers = np.arange(start, start + n)
        present = self._drawn(key, numbers, PRESENT) < self.present
        values = below(self._drawn(key, numbers, VALUE), self._sizes).tolist()
        return [
            {
                name: f"v{value}" if i < self.strings else value
                for i, (name, value) in enumerate(zip(self._names, row, strict=True))
                if row_present[i]
            }
            for row_present, row in zip(present.tolist(), values, strict=True)
        ]

    @property
    def _names(self) -> list[str]:
        strings = [f"s{i}" for i in range(self.strings)]
        return strings + [f"n{i}" for i in range(self.numbers)]

    @property
    def _sizes(self) -> Int64Array:
        return np.repeat([self.string_values, self.number_values], [self.strings, self.numbers])

    def _drawn(self, key: int, numbers: Int64Array, slot: int, again: int = 0) -> FloatArray:
        """A number from 0 up to 1 for each of some rules or events, by attribute."""
        attributes = np.arange(len(self._sizes))
        slots = (again * len(attributes) + attributes) * DRAWS + slot
        return uniform(key, numbers[:, None], slots[None, :])

    def _some(self, numbers: Int64Array) -> list[str]:
        """The texts of some rules, made as lines: the first predicate of a rule begins a line."""
        key = key_of(self.seed, 0)
        again = 0
        asked = self._drawn(key, numbers, PRESENT) < self.present
        while len(empty := np.flatnonzero(~asked.any(axis=1))):
            again += 1
            asked[empty] = self._drawn(key, numbers[empty], PRESENT, again) < self.present
        values = below(self._drawn(key, numbers, VALUE), self._sizes)
        compared = np.full(asked.shape, EQUAL)
        other = self._drawn(key, numbers, EQUALITY) >= self.equality
        other[:, : self.strings] = False
        less = self._drawn(key, numbers, DIRECTION) < 0.5
        compared[other] = np.where(less, LESS, GREATER)[other]
        largest = max(self.string_values, self.number_values)
        predicate = (np.arange(asked.shape[1]) * len(COMPARED) + compared) * largest + values
        before = asked & (np.cumsum(asked, axis=1) > 1)
        joined = (predicate * 2 + before)[asked]
        return "".join(map(self._pieces.__getitem__, joined.tolist())).split("\n")[1:]

    @cached_property
    def _pieces(self) -> list[str]:
        """The text of every predicate, at the beginning of a rule and after another predicate."""
        largest = max(self.string_values, self.number_values)
        pieces = []
        for i, name in enumerate(self._names):
            for op in COMPARED:
                for value in range(largest):
                    text = f"{name} {op} " + (f"'v{value}'" if i < self.strings else str(value))
                    pieces += [f"\n{text}", f" and {text}"]
        return pieces
