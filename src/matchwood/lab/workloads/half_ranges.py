"""Conjunctions of wide ranges: the workload that interval indexes are compared on.

A rule asks for a few attributes, each in a range half as wide as its domain. Two settings are in
use: five of 100 attributes, where an event has 20 of them and matches almost nothing; and ten of
20 attributes, all of which an event has, where it matches about one rule in a thousand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class HalfRanges:
    """A seeded workload of conjunctions of `between`, each range half of its attribute's domain.

    >>> HalfRanges(rules=1, attributes=3, predicates=2, event_attributes=3, cardinality=10).texts()
    ['a2 between 4 and 8 and a0 between 5 and 9']
    >>> dense = HalfRanges(rules=1000, attributes=20, predicates=10, event_attributes=20)
    >>> len(dense.events(1)[0])
    20
    """

    rules: int = 1_000_000
    attributes: int = 100
    predicates: int = 5
    event_attributes: int = 20
    cardinality: int = 10_000
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("predicates", "event_attributes"):
            if not 1 <= getattr(self, name) <= self.attributes:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, expected 1 to attributes, {self.attributes}"
                )
        if self.cardinality < 2:
            raise ValueError(f"cardinality is {self.cardinality}, expected at least 2")

    def texts(self) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> len(HalfRanges(rules=10).texts())
        10
        """
        return [text for chunk in self.chunks() for text in chunk]

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time, for workloads too large for one list.

        >>> [len(chunk) for chunk in HalfRanges(rules=25).chunks(10)]
        [10, 10, 5]
        """
        random = np.random.default_rng([self.seed, 0])
        half = self.cardinality // 2
        ready: list[str] = []
        for rows in _blocks(self.rules, self.attributes):
            attributes = _distinct(random, rows, self.attributes, self.predicates)
            lows = random.integers(0, self.cardinality - half, attributes.shape, endpoint=True)
            for chosen, starts in zip(attributes.tolist(), lows.tolist(), strict=True):
                ranges = [
                    f"a{attribute} between {low} and {low + half - 1}"
                    for attribute, low in zip(chosen, starts, strict=True)
                ]
                ready.append(" and ".join(ranges))
            while len(ready) >= size:
                yield ready[:size]
                del ready[:size]
        if ready:
            yield ready

    def events(self, n: int) -> list[dict[str, int]]:
        """Events of `event_attributes` distinct attributes with values drawn evenly.

        >>> sorted(HalfRanges(attributes=5, event_attributes=5).events(1)[0])
        ['a0', 'a1', 'a2', 'a3', 'a4']
        """
        random = np.random.default_rng([self.seed, 1])
        events = []
        for rows in _blocks(n, self.attributes):
            attributes = _distinct(random, rows, self.attributes, self.event_attributes)
            values = random.integers(0, self.cardinality, attributes.shape)
            for chosen, row in zip(attributes.tolist(), values.tolist(), strict=True):
                events.append({f"a{a}": value for a, value in zip(chosen, row, strict=True)})
        return events


def _blocks(rows: int, columns: int) -> Iterator[int]:
    """Parts of `rows` of about a million cells each, to bound the memory of a draw."""
    most = max(1, 1_000_000 // columns)
    for start in range(0, rows, most):
        yield min(most, rows - start)


def _distinct(
    random: np.random.Generator, rows: int, choices: int, count: int
) -> NDArray[np.int64]:
    """Rows of `count` distinct numbers below `choices`."""
    return np.argsort(random.random((rows, choices)), axis=1)[:, :count]
