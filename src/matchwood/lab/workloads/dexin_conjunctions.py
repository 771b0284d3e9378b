"""Conjunctions over all attributes, as Fan, Liu and Tang, 2016, section 4, compare DEXIN on.

A rule has a constraint on every attribute: with probability `points` a value, else a range whose
width is a part of the domain. Values are integers, `cardinality` per domain, where the paper has
as many fractions of 1. By Zipf's law low values are more common, in events and as the low ends of
ranges.

Rules with a given matching rate are made as in section 4.1.7: there are as few events as that rate
needs, and each rule is made for one of them. On one attribute it accepts nothing but the event's
value, on the others a value or a range around it.

What a rule is depends on the seed and its number alone, so that any part can be made by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import FloatArray, Int64Array
from matchwood.lab.workloads.drawing import below, key_of, uniform, zipf

# Rules that are made at a time; it bounds the memory of the draws.
CHUNK = 50_000

# How the values of an attribute may be distributed.
DISTRIBUTIONS = ("uniform", "zipf", "mixed")

# Slots of the draws of a rule, each as many as there are attributes.
KIND, WIDTH, PLACE, ONLY = range(4)


@dataclass(frozen=True)
class DexinConjunctions:
    """A seeded workload of conjunctions over all of a few attributes.

    `width` is the width of all ranges; without it each range draws its own, from `least_width` to
    `most_width`. `matching` is the share of the rules that an event matches; without it rules and
    events are independent. In the `mixed` distribution, each attribute is uniform or follows
    Zipf's law with equal probability.

    >>> DexinConjunctions(rules=2, attributes=2, cardinality=100, seed=5).texts()
    ['a0 between 2 and 81 and a1 between 18 and 84', 'a0 = 62 and a1 between 9 and 78']
    >>> list(DexinConjunctions(attributes=2).events(1)[0])
    ['a0', 'a1']
    """

    rules: int = 1_000_000
    attributes: int = 10
    cardinality: int = 10_000
    points: float = 0.1
    width: float | None = None
    least_width: float = 0.2
    most_width: float = 0.8
    matching: float | None = None
    distribution: str = "uniform"
    alpha: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("rules", "attributes", "cardinality"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        for name in ("points", "width", "least_width", "most_width", "matching"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} is {value}, expected 0 to 1")
        if self.matching == 0:
            raise ValueError("matching is 0, expected more: no number of events is enough for it")
        if self.distribution not in DISTRIBUTIONS:
            raise ValueError(
                f"distribution is {self.distribution!r}, expected one of {', '.join(DISTRIBUTIONS)}"
            )

    @property
    def sources(self) -> int:
        """How many events the rules are made for; with `matching` there are no other events."""
        return round(1 / self.matching) if self.matching else 0

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> DexinConjunctions(rules=100).texts(40, 60) == DexinConjunctions(rules=100).texts()[
        ...     40:60
        ... ]
        True
        """
        end = self.rules if stop is None else min(stop, self.rules)
        parts = (self._some(first, min(first + CHUNK, end)) for first in range(start, end, CHUNK))
        return list(chain.from_iterable(parts))

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time, for workloads too large for one list.

        >>> [len(chunk) for chunk in DexinConjunctions(rules=25).chunks(10)]
        [10, 10, 5]
        """
        for start in range(0, self.rules, size):
            yield self.texts(start, start + size)

    def events(self, n: int, start: int = 0) -> list[dict[str, int]]:
        """Events with all attributes.

        >>> DexinConjunctions(matching=0.5).events(4)[:2] == DexinConjunctions(matching=0.5).events(
        ...     2, start=2
        ... )
        True
        """
        numbers = np.arange(start, start + n)
        rows = self._values(numbers % self.sources if self.sources else numbers).tolist()
        names = [f"a{attribute}" for attribute in range(self.attributes)]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _values(self, events: Int64Array) -> Int64Array:
        """The values of some events, one row per event."""
        attributes = np.arange(self.attributes)
        drawn = uniform(key_of(self.seed, 1), events[:, None], attributes[None, :])
        return self._skewed(drawn)

    def _skewed(self, drawn: FloatArray) -> Int64Array:
        """Values of attributes, one column per attribute, each with its own distribution."""
        even = below(drawn, self.cardinality)
        if self.distribution == "uniform":
            return even
        skewed = zipf(drawn, self.cardinality, self.alpha)
        if self.distribution == "zipf":
            return skewed
        coins = uniform(key_of(self.seed, 2), np.arange(self.attributes), 0) < 0.5
        return np.where(coins[None, :], skewed, even)

    def _some(self, start: int, stop: int) -> list[str]:
        """The rules from `start` to before `stop`."""
        numbers = np.arange(start, stop)
        key = key_of(self.seed, 0)
        attributes = np.arange(self.attributes)

        def draw(slot: int) -> FloatArray:
            return uniform(key, numbers[:, None], slot * self.attributes + attributes[None, :])

        widths = draw(WIDTH) * (self.most_width - self.least_width) + self.least_width
        if self.width is not None:
            widths = np.full_like(widths, self.width)
        sizes = np.maximum(1, np.rint(widths * self.cardinality)).astype(np.int64)
        point = draw(KIND) < self.points
        sizes[point] = 1
        places = draw(PLACE)
        if self.sources:
            only = below(uniform(key, numbers, ONLY * self.attributes), self.attributes)
            sizes[np.arange(len(numbers)), only] = 1
            values = self._values(numbers % self.sources)
            least = np.maximum(0, values - sizes + 1)
            most = np.minimum(values, self.cardinality - sizes)
            lows = least + below(places, most - least + 1)
        else:
            # A position among all values, scaled down to the values that a range can begin at.
            lows = self._skewed(places) * (self.cardinality - sizes + 1) // self.cardinality
        return _texts(lows, lows + sizes - 1, point)


def _texts(lows: Int64Array, highs: Int64Array, point: NDArray[np.bool_]) -> list[str]:
    """Rules as texts: a value, or a range with both its ends."""
    texts = []
    for low, high, single in zip(lows.tolist(), highs.tolist(), point.tolist(), strict=True):
        parts = [
            f"a{a} = {low[a]}" if single[a] else f"a{a} between {low[a]} and {high[a]}"
            for a in range(len(low))
        ]
        texts.append(" and ".join(parts))
    return texts
