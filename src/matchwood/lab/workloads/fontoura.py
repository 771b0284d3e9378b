"""Advertising contracts in the manner of Fontoura et al., 2010, section 5.1.

A rule is a tree of `and` and `or` in turn, an `and` at its root, whose leaves are conjunctions of
equalities. The paper drew sizes, attributes and targets from statistics of contracts that it does
not print. Here they are parameters, whose defaults were chosen so that rules of depth 1 to 4
match about as many events as its Table 3 says: a conjunction is true of about half of them.

Selectivity is lowered as in section 5.5, by rules that match no event: among the operands of their
root is one whose targets no event has. The rest of such a rule is as in any other.

What a rule is depends on the seed and its number alone, so that any part can be made by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array
from matchwood.lab.workloads.drawing import below, key_of, mixed, uniform, zipf, zipf_apart

# Events per block; each block has random numbers of its own.
EVENT_BLOCK = 1000

# Rules that are made at a time; it bounds the memory of the draws.
CHUNK = 50_000

# Rules that the selectivity is estimated with.
SAMPLED_RULES = 1000

# Events that the selectivity is estimated with.
SAMPLED_EVENTS = 200


# What stands between two leaves: an operator, or the end of a rule.
AND, OR, NEXT = range(3)

# The text of each of these.
BETWEEN = (" and ", " or ", "\n")

# Slots of the draws of a node.
COUNT, DEAD, SIZE = -1, -2, -3


@dataclass(frozen=True)
class Fontoura:
    """A seeded workload of `and`/`or` trees over conjunctions, as in an ad exchange.

    >>> Fontoura(rules=2, depth=1, seed=3).texts()
    ['a0 = 10 and a26 = 0', 'a16 = 7 and (a9 = 0 and a4 = 0 and a41 = 0)']
    >>> len(Fontoura().events(1)[0])
    50
    """

    rules: int = 100_000
    depth: int = 2
    minimum_depth: int = 1
    children: tuple[float, ...] = (0.0, 0.05, 0.7, 0.2, 0.05)  # of 0, 1, 2, … children
    sizes: tuple[float, ...] = (0.6, 0.3, 0.1)  # of conjunctions of 1, 2, 3, … predicates
    attributes: int = 50
    attribute_alpha: float = 0.5
    cardinality: int = 100
    value_alpha: float = 2.5
    event_size: int = 50
    selectivity: float | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("rules", "depth", "minimum_depth", "cardinality", "event_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if max(len(self.sizes), self.event_size) > self.attributes:
            raise ValueError(
                f"attributes is {self.attributes}, expected at least event_size, "
                f"{self.event_size}, and the largest conjunction, {len(self.sizes)}"
            )
        for name in ("children", "sizes"):
            shares = getattr(self, name)
            if abs(sum(shares) - 1) > 1e-9 or min(shares) < 0:
                raise ValueError(f"{name} is {shares}, expected probabilities whose sum is 1")
        if self.children[0] > 1 - 1e-9:
            raise ValueError("children says that no node has any, expected some that do")

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> Fontoura(rules=100).texts(40, 60) == Fontoura(rules=100).texts()[40:60]
        True
        """
        end = self.rules if stop is None else min(stop, self.rules)
        parts = (self._some(first, min(first + CHUNK, end)) for first in range(start, end, CHUNK))
        return list(chain.from_iterable(parts))

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time, for workloads too large for one list.

        >>> [len(chunk) for chunk in Fontoura(rules=25).chunks(10)]
        [10, 10, 5]
        """
        for start in range(0, self.rules, size):
            yield self.texts(start, start + size)

    def events(self, n: int, start: int = 0) -> list[dict[str, int]]:
        """Events of `event_size` attributes, whose values are as common as among the rules.

        >>> Fontoura(event_size=3).events(1)[0].keys() <= {f"a{i}" for i in range(50)}
        True
        """
        first, last = start // EVENT_BLOCK, -(-(start + n) // EVENT_BLOCK)
        events = []
        for block in range(first, last):
            for names, row in zip(*self._block(block), strict=True):
                events.append({f"a{a}": v for a, v in zip(names, row, strict=True)})
        skipped = start - first * EVENT_BLOCK
        return events[skipped : skipped + n]

    def _block(self, number: int) -> tuple[list[list[int]], list[list[int]]]:
        """Attributes and values of a block of events, which has random numbers of its own."""
        random = np.random.default_rng([self.seed, 1, number])
        chosen = np.argsort(random.random((EVENT_BLOCK, self.attributes)), axis=1)
        chosen = np.sort(chosen[:, : self.event_size], axis=1)
        values = zipf(random.random(chosen.shape), self.cardinality, self.value_alpha)
        return chosen.tolist(), values.tolist()

    @cached_property
    def unfilled_selectivity(self) -> float:
        """The share of rules that an event matches on average where no rule is made to match none.

        >>> 0.4 < Fontoura(rules=1000).unfilled_selectivity < 0.7
        True
        """
        return replace(self, selectivity=None).measured_selectivity()

    def measured_selectivity(self) -> float:
        """The share of rules that an event matches on average, from a sample of both."""
        trees = self._trees(np.arange(min(SAMPLED_RULES, self.rules)))
        values = np.full((self.attributes, SAMPLED_EVENTS), -1)
        for i, event in enumerate(self.events(SAMPLED_EVENTS)):
            for name, value in event.items():
                values[int(name[1:]), i] = value
        true = values[trees.attributes] == trees.values[:, None]
        true = np.logical_and.reduceat(true, trees.starts[:-1])
        for depth, level in reversed(list(enumerate(trees.levels))):
            combine = np.logical_or if depth % 2 else np.logical_and
            true = combine.reduceat(true, level.starts[:-1])
        return float(true.mean())

    @cached_property
    def _filling(self) -> float:
        """The share of rules that match nothing."""
        if self.selectivity is None:
            return 0.0
        most = self.unfilled_selectivity
        if not 0 <= self.selectivity <= most:
            raise ValueError(
                f"selectivity is {self.selectivity}, expected 0 to {most:.3f}, "
                "which rules of this kind have by themselves"
            )
        return 1 - self.selectivity / most

    def _trees(self, numbers: Int64Array) -> "_Trees":
        """The trees of some rules, level by level; a node is known by a hash of its path."""
        key = key_of(self.seed, 0)
        paths = mixed(numbers + key)
        fillers = uniform(key_of(self.seed, 1), numbers, 0) < self._filling
        dead = np.zeros(len(numbers), bool)
        depths = np.zeros(len(numbers), np.int64)
        together = np.full(len(numbers), -1)  # depth of the last node shared with the leaf before
        levels: list[_Level] = []
        for depth in range(self.depth):
            growing = depths == depth
            counts = np.ones(len(paths), np.int64)
            counts[growing] = self._counts(key, paths[growing], depth)
            leaves = growing & (counts == 0)
            counts[leaves] = 1
            starts = np.concatenate([[0], np.cumsum(counts)])
            parents = np.repeat(np.arange(len(paths)), counts)
            slots = np.arange(starts[-1]) - starts[parents]
            inner = (growing & ~leaves)[parents]
            dead = dead[parents]
            if depth == 0:
                chosen = below(uniform(key, paths, DEAD), counts)
                dead = fillers[parents] & (slots == chosen[parents])
            together = np.where((slots > 0) & inner, depth, together[parents])
            depths = depths[parents] + inner
            paths = np.where(inner, mixed(paths[parents] + slots + 1), paths[parents])
            levels.append(_Level(starts))
        return self._leaves(key, paths, dead, _Trees(levels, depths, together))

    def _counts(self, key: int, paths: Int64Array, depth: int) -> Int64Array:
        """How many children nodes have; below the minimum depth none has no child."""
        shares = np.array(self.children)
        if depth < self.minimum_depth:
            shares[0] = 0.0
        drawn = uniform(key, paths, COUNT) * shares.sum()
        counts: Int64Array = np.searchsorted(np.cumsum(shares)[:-1], drawn, side="right")
        return counts

    def _leaves(
        self, key: int, paths: Int64Array, dead: NDArray[np.bool_], trees: "_Trees"
    ) -> "_Trees":
        """The conjunctions of leaves; a dead one has targets that no event has."""
        drawn = uniform(key, paths, SIZE)
        sizes = 1 + np.searchsorted(np.cumsum(self.sizes)[:-1], drawn, side="right")
        trees.starts = np.concatenate([[0], np.cumsum(sizes)])
        owners = np.repeat(np.arange(len(paths)), sizes)
        slots = np.arange(trees.starts[-1]) - trees.starts[owners]
        owner_paths = paths[owners]
        trees.attributes = zipf_apart(
            key, owner_paths, owners, slots, self.attributes, self.attribute_alpha
        )
        values = zipf(
            uniform(key_of(self.seed, 2), owner_paths, slots), self.cardinality, self.value_alpha
        )
        trees.values = values + dead[owners] * self.cardinality
        return trees

    @cached_property
    def _predicates(self) -> list[str]:
        values = range(2 * self.cardinality)
        return [f"a{a} = {value}" for a in range(self.attributes) for value in values]

    def _some(self, start: int, stop: int) -> list[str]:
        trees = self._trees(np.arange(start, stop))
        predicates = trees.attributes * 2 * self.cardinality + trees.values
        between, texts = trees.between()
        pieces = map(texts.__getitem__, between.tolist())
        named = map(self._predicates.__getitem__, predicates.tolist())
        text = "".join(chain.from_iterable(zip(pieces, named, strict=True)))
        return (text + trees.end()).split("\n")[1:]


@dataclass
class _Level:
    """Node i of a depth has the children starts[i] to starts[i + 1]; a leaf has itself."""

    starts: Int64Array


@dataclass
class _Trees:
    """Trees by level, and their leaves from left to right.

    Leaf i is the conjunction starts[i] to starts[i + 1] of attributes and values.
    """

    levels: list[_Level]
    depths: Int64Array  # of leaves
    together: Int64Array  # the depth of the deepest node over a leaf and the one before, or -1
    starts: Int64Array = None  # type: ignore[assignment]
    attributes: Int64Array = None  # type: ignore[assignment]
    values: Int64Array = None  # type: ignore[assignment]

    def between(self) -> tuple[Int64Array, list[str]]:
        """What stands before each predicate: as numbers of texts, and the texts."""
        several = np.diff(self.starts) > 1  # such a leaf needs parentheses
        first = self.together < 0
        lowest = np.maximum(self.together, 0)
        opened = self.depths - 1 - lowest + several
        closed = np.zeros(len(opened), np.int64)
        # Between two rules, all parentheses of the first are closed.
        shared = np.where(first[1:], 0, lowest[1:])
        closed[1:] = self.depths[:-1] - 1 - shared + several[:-1]
        kind = np.where(first, NEXT, np.where(lowest % 2, OR, AND))
        room = int(max(opened.max(), closed.max())) + 1
        codes = np.zeros(self.starts[-1], np.int64)  # a plain " and "
        codes[self.starts[:-1]] = (kind * room + closed) * room + opened
        distinct, places = np.unique(codes, return_inverse=True)
        texts = []
        for code in distinct.tolist():
            rest, opening = divmod(code, room)
            join, closing = divmod(rest, room)
            texts.append(")" * closing + BETWEEN[join] + "(" * opening)
        return places, texts

    def end(self) -> str:
        """The parentheses that the last leaf leaves open."""
        several = self.starts[-1] - self.starts[-2] > 1
        return ")" * int(self.depths[-1] - 1 + several)
