"""ABE-Gen, the workload of the A-Tree paper: arbitrary Boolean expressions that share their parts.

A rule is a tree whose root is at depth 1 and whose leaves, all at depth `depth`, are predicates.
The paper fixes the parameters and the outcome: how often a predicate and a subexpression are
shared, and how many rules an event matches. How the sharing comes about is a choice made here:
each depth below the root has a pool, the children of a node are drawn from the pool below it by
Zipf rank, and a pool has as many entries as keep the sharing independent of the number of rules.

    depth 1   the rules              each drawn once
    depth 2   pool of inner nodes    draws / (1 + slope · alpha) entries
    depth 3   pool of predicates     likewise

With alpha 0 a pool has an entry a draw and each is used once, so that nothing is shared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# Operators in the order of `AbeGen.operators`; a rule of depth 1 is its sole child, a predicate.
JOINERS = (" and ", " or ", "", " xor ", " xnor ", "")
NOT, SOLE = 2, 5
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
IN, NOT_IN, BETWEEN = range(6, 9)

# Draws per pool entry grow with alpha; the paper's sharing at alpha 0.6 fixes the slopes.
NODE_SLOPE, PREDICATE_SLOPE = 4.75, 5.05
# An attribute has only six comparisons a value, so they fill the hottest ranks of the pool of
# predicates, where a tenth of the entries is two fifths of the uses; lists and ranges do the rest.
COMPARISON_RANKS = 0.10
# `in` and `not in` have two to five values; `between` covers this part of the values.
MOST_VALUES = 5
NARROWEST, WIDEST = 0.2, 0.7


@dataclass(frozen=True)
class AbeGen:
    """A seeded workload of nested rules over integer attributes, shaped as in the A-Tree paper.

    >>> workload = AbeGen(rules=1000, seed=7)
    >>> len(workload.texts())
    1000
    >>> [len(event) for event in workload.events(2)]
    [20, 20]
    """

    rules: int = 1_000_000
    operators: tuple[float, float, float, float, float] = (0.40, 0.40, 0.10, 0.05, 0.05)
    depth: int = 3
    operands: int = 4
    alpha: float = 0.6
    attributes: int = 1000
    cardinality: int = 100
    attribute_alpha: float = 0.6
    event_size: int = 20
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("rules", "depth", "attributes", "cardinality", "event_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.operands < 2:
            raise ValueError(f"operands is {self.operands}, expected at least 2")
        if self.event_size > self.attributes:
            raise ValueError(
                f"event_size is {self.event_size}, expected at most attributes, {self.attributes}"
            )

    def texts(self) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> AbeGen(rules=1, depth=2, operands=2).texts()
        ['a69 not in (2, 32, 54, 76) or a882 between 39 and 78']
        """
        return [text for chunk in self.chunks() for text in chunk]

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time, for workloads too large for one list.

        >>> [len(chunk) for chunk in AbeGen(rules=25).chunks(10)]
        [10, 10, 5]
        """
        levels, predicates = self._draw()
        pool = predicates.texts()
        for level in reversed(levels[1:]):
            pool = [f"({text})" for text in level.texts(pool, 0, level.size)]
        for start in range(0, self.rules, size):
            yield levels[0].texts(pool, start, min(start + size, self.rules))

    def events(
        self, n: int, distribution: Literal["uniform", "zipf"] = "uniform"
    ) -> list[dict[str, int]]:
        """Events of `event_size` distinct attributes, drawn evenly or as the rules draw theirs.

        >>> AbeGen(event_size=3).events(1)[0].keys() <= {f"a{i}" for i in range(1000)}
        True
        """
        if distribution not in ("uniform", "zipf"):
            raise ValueError(f"distribution is {distribution!r}, expected 'uniform' or 'zipf'")
        random = np.random.default_rng([self.seed, 1 if distribution == "uniform" else 2])
        alpha = self.attribute_alpha if distribution == "zipf" else 0.0
        names = [f"a{i}" for i in range(self.attributes)]
        scale = np.arange(1, self.attributes + 1) ** alpha
        events: list[dict[str, int]] = []
        block = max(1, 1_000_000 // self.attributes)
        while len(events) < n:
            rows = min(block, n - len(events))
            # The first arrivals of independent exponential clocks are a draw without replacement.
            arrivals = random.standard_exponential((rows, self.attributes)) * scale
            chosen = np.argsort(arrivals, axis=1)[:, : self.event_size]
            values = random.integers(0, self.cardinality, chosen.shape)
            for attributes, row in zip(chosen.tolist(), values.tolist(), strict=True):
                events.append({names[a]: v for a, v in zip(attributes, row, strict=True)})
        return events

    def sharing(self) -> dict[str, float]:
        """How often a predicate and a subexpression occur on average.

        A subexpression is an inner node below the root. Its operands have no order: `p and q`
        and `q and p` are one.

        >>> sorted(AbeGen(rules=1000).sharing())
        ['predicates', 'subexpressions']
        """
        levels, predicates = self._draw()
        identities = [predicates.identities()]
        for level in reversed(levels[1:]):
            identities.append(level.identities(identities[-1]))
        uses = np.ones(self.rules, dtype=np.int64)
        occurrences, distinct = [], []
        for level, below in zip(levels, reversed(identities), strict=True):
            uses = level.uses_below(uses, len(below))
            occurrences.append(int(uses.sum()))
            distinct.append(len(np.unique(below[uses > 0])))
        return {
            "predicates": occurrences[-1] / distinct[-1],
            "subexpressions": sum(occurrences[:-1]) / max(1, sum(distinct[:-1])),
        }

    def _draw(self) -> "tuple[list[_Level], _Predicates]":
        """The inner levels from the root down, and the pool of predicates below them."""
        random = np.random.default_rng([self.seed, 0])
        operands = np.array([self.operands, self.operands, 1, 2, 2, 1])
        levels = []
        size = self.rules
        for depth in range(1, max(2, self.depth)):
            if self.depth == 1:
                operators = np.full(size, SOLE)
            else:
                operators = random.choice(5, size=size, p=self.operators)
            counts = operands[operators]
            draws = int(counts.sum())
            slope = NODE_SLOPE if depth < self.depth - 1 else PREDICATE_SLOPE
            pool = max(self.operands, round(draws / (1 + slope * self.alpha)))
            levels.append(_Level.draw(random, operators, counts, pool, self.alpha))
            size = pool
        return levels, _Predicates.draw(random, size, self)


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth: node i has the children `children[starts[i]:starts[i + 1]]`."""

    operators: Integers
    starts: Integers
    children: Integers

    @classmethod
    def draw(
        cls,
        random: np.random.Generator,
        operators: Integers,
        counts: Integers,
        pool: int,
        alpha: float,
    ) -> "_Level":
        starts = np.concatenate([[0], np.cumsum(counts)])
        draws = int(starts[-1])
        if alpha == 0:
            return cls(operators, starts, random.permutation(pool)[:draws])
        children = _zipf(random, pool, draws, alpha)
        parents = np.repeat(np.arange(len(counts)), counts)
        # A node that drew a child twice draws again, until no node has one twice.
        while True:
            keys = parents * pool + children
            order = np.argsort(keys, kind="stable")
            again = order[1:][keys[order[1:]] == keys[order[:-1]]]
            if not len(again):
                return cls(operators, starts, children)
            children[again] = _zipf(random, pool, len(again), alpha)

    @property
    def size(self) -> int:
        return len(self.operators)

    def texts(self, pool: list[str], start: int, stop: int) -> list[str]:
        """The nodes from `start` to `stop`, given the texts of the pool below."""
        first, last = int(self.starts[start]), int(self.starts[stop])
        children = [pool[i] for i in self.children[first:last].tolist()]
        ends = (self.starts[start + 1 : stop + 1] - first).tolist()
        texts, begin = [], 0
        for operator, end in zip(self.operators[start:stop].tolist(), ends, strict=True):
            if operator == NOT:
                child = children[begin]
                texts.append(f"not {child}" if child[0] == "(" else f"not ({child})")
            else:
                texts.append(JOINERS[operator].join(children[begin:end]))
            begin = end
        return texts

    def identities(self, below: Integers) -> Integers:
        """A hash a node, equal where operator and set of children are."""
        mixed = _mix(below[self.children])
        sums = np.add.reduceat(mixed, self.starts[:-1])
        return _mix(sums + self.operators)

    def uses_below(self, uses: Integers, pool: int) -> Integers:
        """How often each entry of the pool below occurs, given how often each node does."""
        weights = np.repeat(uses, np.diff(self.starts))
        return np.bincount(self.children, weights, pool).astype(np.int64)


@dataclass(frozen=True)
class _Predicates:
    """A pool of predicates as columns; `values` is padded with -1 on the right."""

    attributes: Integers
    operators: Integers
    values: Integers

    @classmethod
    def draw(cls, random: np.random.Generator, size: int, workload: AbeGen) -> "_Predicates":
        top = workload.cardinality - 1
        attributes = _zipf(random, workload.attributes, size, workload.attribute_alpha)
        comparisons = round(size * COMPARISON_RANKS)
        operators = np.concatenate(
            [random.integers(0, IN, comparisons), random.integers(IN, 9, size - comparisons)]
        )
        values = np.full((size, MOST_VALUES), -1)
        values[:, 0] = random.integers(0, top, size, endpoint=True)
        # `<` and `>=` take no 0 and `<=` and `>` not the highest value: never or always true.
        for bounded, shift in (((2, 5), 1), ((3, 4), 0)):
            rows = np.isin(operators, bounded)
            values[rows, 0] = random.integers(0, max(1, top), int(rows.sum())) + shift
        rows = operators == BETWEEN
        widths = random.uniform(NARROWEST, WIDEST, int(rows.sum())) * workload.cardinality
        spans = np.clip(np.rint(widths).astype(np.int64) - 1, 0, top)
        values[rows, 0] = random.integers(0, top - spans, endpoint=True)
        values[rows, 1] = values[rows, 0] + spans
        rows = (operators == IN) | (operators == NOT_IN)
        values[rows] = _value_lists(random, int(rows.sum()), workload.cardinality)
        return cls(attributes, operators, values)

    def texts(self) -> list[str]:
        texts = []
        columns = (self.attributes.tolist(), self.operators.tolist(), self.values.tolist())
        for attribute, operator, values in zip(*columns, strict=True):
            if operator < IN:
                texts.append(f"a{attribute} {COMPARISONS[operator]} {values[0]}")
            elif operator == BETWEEN:
                texts.append(f"a{attribute} between {values[0]} and {values[1]}")
            else:
                listed = ", ".join([str(value) for value in values if value >= 0])
                texts.append(f"a{attribute} {'in' if operator == IN else 'not in'} ({listed})")
        return texts

    def identities(self) -> Integers:
        """A hash a predicate, equal where attribute, operator and values are."""
        hashed = _mix(self.attributes * 9 + self.operators)
        for column in self.values.T:
            hashed = _mix(hashed + column)
        return hashed


def _value_lists(random: np.random.Generator, size: int, cardinality: int) -> Integers:
    """Rows of two to five ascending distinct values, padded with -1 on the right."""
    most = min(MOST_VALUES, cardinality)
    counts = random.integers(min(2, most), most, size, endpoint=True)[:, None]
    places = np.arange(MOST_VALUES)
    # Ascending numbers, the j-th raised by j, are distinct; room for that is left at the top.
    drawn = (random.random((size, MOST_VALUES)) * (cardinality - counts + 1)).astype(np.int64)
    drawn[places >= counts] = cardinality
    drawn.sort(axis=1)
    return np.where(places < counts, drawn + places, -1)


def _zipf(random: np.random.Generator, size: int, draws: int, alpha: float) -> Integers:
    """Ranks from 0 to size - 1, rank r as often as (r + 1) ** -alpha."""
    cumulative: NDArray[np.float64] = np.cumsum(np.arange(1, size + 1) ** -alpha)
    # The highest of the products may round up to the total, which is beyond the last rank.
    places = random.random(draws) * cumulative[-1]
    ranks: Integers = np.searchsorted(cumulative[:-1], places, side="right")
    return ranks


def _mix(numbers: Integers) -> Integers:
    """The splitmix64 finaliser: near numbers become unrelated ones."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).astype(np.int64)
