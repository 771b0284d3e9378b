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

Each entry is drawn by its number alone, not after the others: any part of a workload can be made
by itself, by a process that knows no more than the seed, and shares what the whole shares.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

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
EVENT_BLOCK = 1000


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

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        Some of them are made from those parts of the pools that they use.

        >>> AbeGen(rules=1, depth=2, operands=2).texts()
        ['a531 between 7 and 71 or a692 not in (20, 25, 47, 67)']
        >>> AbeGen(rules=100).texts(40, 60) == AbeGen(rules=100).texts()[40:60]
        True
        """
        if start == 0 and stop is None:
            return [text for chunk in self.chunks() for text in chunk]
        numbers = np.arange(start, self.rules if stop is None else min(stop, self.rules))
        return self._some(0, numbers)

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time, for workloads too large for one list.

        >>> [len(chunk) for chunk in AbeGen(rules=25).chunks(10)]
        [10, 10, 5]
        """
        first, *others = self._pools
        pool = self._predicates.all().texts()
        for below in reversed(others):
            pool = [f"({text})" for text in below.all().texts(pool)]
        for start in range(0, self.rules, size):
            yield first.some(np.arange(start, min(start + size, self.rules))).texts(pool)

    def _some(self, depth: int, numbers: Integers) -> list[str]:
        """The texts of some entries of the pool at a depth, from 0 for the rules."""
        if depth == len(self._pools):
            return self._predicates.some(numbers).texts()
        nodes = self._pools[depth].some(numbers)
        used, places = np.unique(nodes.children, return_inverse=True)
        below = self._some(depth + 1, used)
        if depth + 1 < len(self._pools):
            below = [f"({text})" for text in below]
        return _Nodes(nodes.operators, nodes.starts, places).texts(below)

    def events(
        self, n: int, distribution: Literal["uniform", "zipf"] = "uniform", start: int = 0
    ) -> list[dict[str, int]]:
        """Events of `event_size` distinct attributes, drawn evenly or as the rules draw theirs.

        >>> AbeGen(event_size=3).events(1)[0].keys() <= {f"a{i}" for i in range(1000)}
        True
        """
        if distribution not in ("uniform", "zipf"):
            raise ValueError(f"distribution is {distribution!r}, expected 'uniform' or 'zipf'")
        first, last = start // EVENT_BLOCK, -(-(start + n) // EVENT_BLOCK)
        events = [
            event for block in range(first, last) for event in self._block(block, distribution)
        ]
        skipped = start - first * EVENT_BLOCK
        return events[skipped : skipped + n]

    def _block(self, number: int, distribution: str) -> list[dict[str, int]]:
        """A block of events has random numbers of its own."""
        random = np.random.default_rng([self.seed, 1 if distribution == "uniform" else 2, number])
        alpha = self.attribute_alpha if distribution == "zipf" else 0.0
        names = [f"a{i}" for i in range(self.attributes)]
        # The first arrivals of independent exponential clocks are a draw without replacement.
        arrivals = random.standard_exponential((EVENT_BLOCK, self.attributes))
        arrivals *= np.arange(1, self.attributes + 1) ** alpha
        chosen = np.argsort(arrivals, axis=1)[:, : self.event_size]
        values = random.integers(0, self.cardinality, chosen.shape)
        return [
            {names[a]: v for a, v in zip(attributes, row, strict=True)}
            for attributes, row in zip(chosen.tolist(), values.tolist(), strict=True)
        ]

    def sharing(self) -> dict[str, float]:
        """How often a predicate and a subexpression occur on average.

        A subexpression is an inner node below the root. Its operands have no order: `p and q`
        and `q and p` are one.

        >>> sorted(AbeGen(rules=1000).sharing())
        ['predicates', 'subexpressions']
        """
        levels = [pool.all() for pool in self._pools]
        identities = [self._predicates.all().identities()]
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

    @cached_property
    def _pools(self) -> "list[_Pool]":
        """The pools of inner nodes from the rules down."""
        counts = (self.operands, self.operands, 1, 2, 2, 1)
        shares = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0) if self.depth == 1 else (*self.operators, 0.0)
        mean = sum(share * count for share, count in zip(shares, counts, strict=True))
        pools = []
        size = self.rules
        for depth in range(1, max(2, self.depth)):
            slope = NODE_SLOPE if depth < self.depth - 1 else PREDICATE_SLOPE
            # With alpha 0 an entry a draw, whether or not a node has as many operands.
            draws = size * (mean if self.alpha else max(counts))
            below = max(self.operands, round(draws / (1 + slope * self.alpha)))
            pools.append(_Pool(_key(self.seed, depth), size, below, self.alpha, counts, shares))
            size = below
        return pools

    @property
    def _predicates(self) -> "_PredicatePool":
        return _PredicatePool(_key(self.seed, 0), self._pools[-1].below, self)


@dataclass(frozen=True)
class _Pool:
    """Inner nodes by number: what node i is depends on the key and on i alone."""

    key: int
    size: int
    below: int  # the size of the pool that children come from
    alpha: float
    counts: tuple[int, ...]  # operands by operator
    shares: tuple[float, ...]

    def all(self) -> "_Nodes":
        return self.some(np.arange(self.size))

    def some(self, numbers: Integers) -> "_Nodes":
        highest = max(i for i, share in enumerate(self.shares) if share)
        shares = np.cumsum(self.shares[:highest])  # their sum may round to less than 1
        operators = np.searchsorted(shares, _uniform(self.key, numbers, -1), side="right")
        counts = np.array(self.counts)[operators]
        starts = np.concatenate([[0], np.cumsum(counts)])
        parents = np.repeat(np.arange(len(numbers)), counts)
        slots = np.arange(starts[-1]) - starts[parents]
        if self.alpha == 0:
            children = _scattered(numbers[parents] * max(self.counts) + slots, self.below)
            return _Nodes(operators, starts, children)
        children = _zipf(_uniform(self.key, numbers[parents], slots), self.below, self.alpha)
        # A node that drew a child twice draws again, until no node has one twice.
        while True:
            keys = parents * self.below + children
            order = np.argsort(keys, kind="stable")
            again = order[1:][keys[order[1:]] == keys[order[:-1]]]
            if not len(again):
                return _Nodes(operators, starts, children)
            slots[again] += self.below  # slots that no node has
            drawn = _uniform(self.key, numbers[parents[again]], slots[again])
            children[again] = _zipf(drawn, self.below, self.alpha)


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one depth: node i has the children `children[starts[i]:starts[i + 1]]`."""

    operators: Integers
    starts: Integers
    children: Integers

    def texts(self, pool: list[str]) -> list[str]:
        """The nodes, given the texts of the pool below."""
        children = [pool[i] for i in self.children.tolist()]
        texts, begin = [], 0
        for operator, end in zip(self.operators.tolist(), self.starts[1:].tolist(), strict=True):
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
class _PredicatePool:
    """Predicates by number."""

    key: int
    size: int
    workload: AbeGen

    def all(self) -> "_Predicates":
        return self.some(np.arange(self.size))

    def some(self, numbers: Integers) -> "_Predicates":
        cardinality, top = self.workload.cardinality, self.workload.cardinality - 1
        drawn = [_uniform(self.key, numbers, slot) for slot in range(4 + MOST_VALUES)]
        attributes = _zipf(drawn[0], self.workload.attributes, self.workload.attribute_alpha)
        comparisons = numbers < round(self.size * COMPARISON_RANKS)
        operators = np.where(comparisons, _below(drawn[1], IN), IN + _below(drawn[1], 9 - IN))
        values = np.full((len(numbers), MOST_VALUES), -1)
        values[:, 0] = _below(drawn[2], cardinality)
        # `<` and `>=` take no 0 and `<=` and `>` not the highest value: never or always true.
        for bounded, shift in (((2, 5), 1), ((3, 4), 0)):
            rows = np.isin(operators, bounded)
            values[rows, 0] = _below(drawn[2][rows], max(1, top)) + shift
        rows = operators == BETWEEN
        widths = (NARROWEST + drawn[3][rows] * (WIDEST - NARROWEST)) * cardinality
        spans = np.clip(np.rint(widths).astype(np.int64) - 1, 0, top)
        values[rows, 0] = _below(drawn[2][rows], top - spans + 1)
        values[rows, 1] = values[rows, 0] + spans
        rows = (operators == IN) | (operators == NOT_IN)
        values[rows] = _value_lists(drawn[3][rows], np.array(drawn[4:]).T[rows], cardinality)
        return _Predicates(attributes, operators, values)


@dataclass(frozen=True)
class _Predicates:
    """Predicates as columns; `values` is padded with -1 on the right."""

    attributes: Integers
    operators: Integers
    values: Integers

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


def _value_lists(length: Floats, drawn: Floats, cardinality: int) -> Integers:
    """Rows of two to five ascending distinct values, padded with -1 on the right."""
    most = min(MOST_VALUES, cardinality)
    fewest = min(2, most)
    counts = (fewest + _below(length, most - fewest + 1))[:, None]
    places = np.arange(MOST_VALUES)
    # Ascending numbers, the j-th raised by j, are distinct; room for that is left at the top.
    values = _below(drawn, cardinality - counts + 1)
    values[places >= counts] = cardinality
    values.sort(axis=1)
    return np.where(places < counts, values + places, -1)


def _zipf(drawn: Floats, size: int, alpha: float) -> Integers:
    """Ranks from 0 to size - 1, rank r as often as (r + 1) ** -alpha."""
    cumulative = _cumulative(size, alpha)
    # The highest of the products may round up to the total, which is beyond the last rank.
    ranks: Integers = np.searchsorted(cumulative[:-1], drawn * cumulative[-1], side="right")
    return ranks


@lru_cache(maxsize=8)
def _cumulative(size: int, alpha: float) -> Floats:
    cumulative: Floats = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -alpha)
    return cumulative


def _scattered(numbers: Integers, size: int) -> Integers:
    """Numbers below size, each to one of its own, far from those of its neighbours."""
    step = max(1, int(min(size, 2**31) * 0.618))
    while gcd(step, size) != 1:
        step += 1
    return numbers * step % size


def _below(drawn: Floats, limit: int | Integers) -> Integers:
    """Integers from 0 to limit - 1."""
    integers: Integers = (drawn * limit).astype(np.int64)
    return integers


def _key(seed: int, pool: int) -> int:
    return int(np.random.SeedSequence([seed, pool]).generate_state(1, np.uint64)[0] >> 1)


def _uniform(key: int, numbers: Integers, slots: int | Integers) -> Floats:
    """Numbers from 0 up to 1, each given by the key, a number and a slot."""
    bits = _mix(_mix(numbers + key) + slots).astype(np.uint64)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(numbers: Integers) -> Integers:
    """The splitmix64 finaliser: near numbers become unrelated ones."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).astype(np.int64)
