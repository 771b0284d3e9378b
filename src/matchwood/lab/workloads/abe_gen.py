"""ABE-Gen, the workload of the A-Tree paper: arbitrary Boolean expressions that share their parts.

A rule is a tree whose root is at depth 1 and whose leaves, all at depth `depth`, are predicates.
The paper fixes the parameters and the outcome: how often a predicate and a subexpression are
shared, and how many rules an event matches. How the sharing comes about is a choice made here:
each depth below the root has a pool, the children of a node are drawn from the pool below it by
Zipf rank, and a pool has as many entries as keep the sharing independent of the number of rules.

    depth 1   the rules              each drawn once
    depth 2   pool of inner nodes    draws / (1 + slope · alpha) entries
    depth 3   pool of predicates     likewise

With alpha 0 a pool has one entry per draw, and each is used once, so that nothing is shared.

An entry depends on its number alone, not on the entries before it: any part of a workload can be
made by itself, by a process that knows only the seed, and shares what the whole shares.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from matchwood.kernels.array_types import Int64Array
from matchwood.lab.workloads.drawing import key_of, mixed, scattered, uniform, zipf_apart
from matchwood.lab.workloads.predicate_pool import PredicatePool

# What stands between the operands of each operator: first the operators of `AbeGen.operators` in
# their order, then the root of a rule of depth 1, whose only operand is a predicate.
JOINERS = (" and ", " or ", "", " xor ", " xnor ", "")

# The number of `not` among the operators.
NOT = 2

# How fast the draws per entry of a pool of nodes grow with alpha. The paper's sharing of
# subexpressions at alpha 0.6 fixes it.
NODE_SLOPE = 4.75

# How fast the draws per entry of the pool of predicates grow with alpha. The paper's sharing of
# predicates at alpha 0.6 fixes it.
PREDICATE_SLOPE = 5.05

# Events per block; each block has random numbers of its own.
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

        A part of the rules is made from those entries of the pools that it uses.

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

    def _some(self, depth: int, numbers: Int64Array) -> list[str]:
        """The texts of some entries of the pool at a depth, from 0 for the rules."""
        if depth == len(self._pools):
            return self._predicates.some(numbers).texts()
        nodes = self._pools[depth].some(numbers)
        used, places = np.unique(nodes.children, return_inverse=True)
        below = self._some(depth + 1, used)
        if depth + 1 < len(self._pools):
            below = [f"({text})" for text in below]
        return _PooledNodes(nodes.operators, nodes.starts, places).texts(below)

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
        """The events of one block, which has random numbers of its own."""
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
        (occurrences, distinct), *nodes = list(self._counted().values())
        nodes = nodes[:-1]  # without the rules
        return {
            "predicates": occurrences / distinct,
            "subexpressions": sum(n for n, _ in nodes) / max(1, sum(n for _, n in nodes)),
        }

    def sharing_by_level(self) -> dict[int, float]:
        """How often a subexpression of each level occurs on average, from 1, the predicates.

        The rules themselves are the highest level.

        >>> list(AbeGen(rules=1000).sharing_by_level())
        [1, 2, 3]
        """
        return {level: n / distinct for level, (n, distinct) in self._counted().items()}

    def _counted(self) -> dict[int, tuple[int, int]]:
        """By level, how many subexpressions occur, and how many distinct ones."""
        nodes = [pool.all() for pool in self._pools]
        identities = [self._predicates.all().identities()]
        for node in reversed(nodes):
            identities.append(node.identities(identities[-1]))
        uses = np.ones(self.rules, dtype=np.int64)
        counted = {len(nodes) + 1: (self.rules, len(np.unique(identities[-1])))}
        for level, (node, below) in enumerate(zip(nodes, identities[-2::-1], strict=True)):
            uses = node.uses_below(uses, len(below))
            counted[len(nodes) - level] = (int(uses.sum()), len(np.unique(below[uses > 0])))
        if self.depth == 1:  # a rule is its sole predicate
            del counted[2]
        return dict(sorted(counted.items()))

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
            # With alpha 0 there is one entry per possible draw, even if a node has fewer operands.
            draws = size * (mean if self.alpha else max(counts))
            below = max(self.operands, round(draws / (1 + slope * self.alpha)))
            pools.append(_Pool(key_of(self.seed, depth), size, below, self.alpha, counts, shares))
            size = below
        return pools

    @property
    def _predicates(self) -> PredicatePool:
        return PredicatePool(
            key_of(self.seed, 0),
            self._pools[-1].below,
            self.attributes,
            self.attribute_alpha,
            self.cardinality,
        )


@dataclass(frozen=True)
class _Pool:
    """Inner nodes by number: what node i is depends on the key and on i alone."""

    key: int
    size: int
    below: int  # the size of the pool that children come from
    alpha: float
    counts: tuple[int, ...]  # operands by operator
    shares: tuple[float, ...]

    def all(self) -> "_PooledNodes":
        return self.some(np.arange(self.size))

    def some(self, numbers: Int64Array) -> "_PooledNodes":
        highest = max(i for i, share in enumerate(self.shares) if share)
        shares = np.cumsum(self.shares[:highest])  # their sum may round to less than 1
        operators = np.searchsorted(shares, uniform(self.key, numbers, -1), side="right")
        counts = np.array(self.counts)[operators]
        starts = np.concatenate([[0], np.cumsum(counts)])
        parents = np.repeat(np.arange(len(numbers)), counts)
        slots = np.arange(starts[-1]) - starts[parents]
        if self.alpha == 0:
            children = scattered(numbers[parents] * max(self.counts) + slots, self.below)
            return _PooledNodes(operators, starts, children)
        owner_numbers = numbers[parents]
        children = zipf_apart(self.key, owner_numbers, parents, slots, self.below, self.alpha)
        return _PooledNodes(operators, starts, children)


@dataclass(frozen=True)
class _PooledNodes:
    """Nodes of one depth: node i has the children `children[starts[i]:starts[i + 1]]`."""

    operators: Int64Array
    starts: Int64Array
    children: Int64Array

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

    def identities(self, below: Int64Array) -> Int64Array:
        """A hash per node, equal for equal operators and sets of children."""
        sums = np.add.reduceat(mixed(below[self.children]), self.starts[:-1])
        return mixed(sums + self.operators)

    def uses_below(self, uses: Int64Array, pool: int) -> Int64Array:
        """How often each entry of the pool below occurs, given how often each node does."""
        weights = np.repeat(uses, np.diff(self.starts))
        return np.bincount(self.children, weights, pool).astype(np.int64)
