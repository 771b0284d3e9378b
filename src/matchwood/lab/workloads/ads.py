"""Display advertisements, fitted to what the A-Tree paper says of its own (§6.2, Figure 7).

The paper has 1,392,196 rules of 1 to 56 predicates and 1 to 9 levels over 122 attributes, 973,794
distinct predicates that occur 68.76 times each, which is 48 per rule, and a sharing that falls
level by level to 2.88 times at level 9. Such large rules, with at most 56 predicates each, leave
one simple shape:

    level 1   a predicate
    level 2   6 or 7 predicates
    level n   a subexpression of level n - 1, and 6 or 7 predicates

`and` and `or` take turns from level to level. Each level has a pool of subexpressions, whose size
follows from the sharing asked for: a rule draws its level and one of that level's pool, a node
draws its subexpression from the pool below and its predicates, by Zipf rank. Most rules are an
`and`. The paper does not say how many rules an event matches; here it is about one in a hundred.

Nodes that draw their predicates independently have no set of operands in common, so that nothing
can be reorganised. With `overlap`, that share of the nodes above level 2 takes all predicates of a
node of level 2 that has the same operator, drawn by Zipf rank like any other. Where that node is
part of a rule, too, the larger expression contains the smaller one, whichever arrives first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from matchwood.kernels.array_types import Int64Array
from matchwood.lab.workloads.drawing import key_of, mixed, uniform, zipf, zipf_apart
from matchwood.lab.workloads.predicate_pool import PredicatePool

# The number of rules of the paper's workload.
PAPER_RULES = 1_392_196

# The number of levels of a rule at most, as in Figure 7(a).
LEVELS = 9

# The sharing of Figure 7(a) is known at its ends; between them it falls by the same factor.
SHARING = tuple(68.76 * (2.88 / 68.76) ** (level / (LEVELS - 1)) for level in range(LEVELS))

# How many rules have each level: their mean of 48 predicates leaves few below level 7.
LEVEL_SHARES = (0.01, 0.01, 0.01, 0.01, 0.02, 0.03, 0.08, 0.25, 0.58)

# Predicates of a node, at least.
FEWEST = 6

# The share of nodes that have one predicate more.
MORE_SHARE = 0.7

# The share of rules that are an `and`.
AND_SHARE = 0.95

# The exponent of Zipf's law by which predicates and subexpressions are drawn.
ALPHA = 0.7

# The operators of nodes.
AND, OR = range(2)

# What stands between the operands of each operator.
JOINERS = (" and ", " or ")

# Events per block; each block has random numbers of its own.
EVENT_BLOCK = 1000

# The shares of `in` and `not in` among predicates; the rest are ranges.
MOST_LISTS = (0.7, 0.05)

# The narrowest and the widest range, as parts of the domain.
RANGES = (0.05, 0.3)

# How many attributes an event has more or fewer than `event_size`, at most.
SPREAD = 4


@dataclass(frozen=True)
class Ads:
    """A seeded workload of large rules that share most of their parts.

    >>> ads = Ads(rules=1000, seed=3)
    >>> len(ads.texts())
    1000
    >>> 16 <= len(ads.events(1)[0]) <= 24
    True
    """

    rules: int = PAPER_RULES
    attributes: int = 122
    cardinality: int = 1000
    attribute_alpha: float = 0.6
    event_size: int = 20
    overlap: float = 0.0  # the share of nodes above level 2 that contain one of level 2
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("rules", "cardinality", "event_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if not 0 <= self.overlap <= 1:
            raise ValueError(f"overlap is {self.overlap}, expected a share from 0 to 1")
        if self.event_size + SPREAD > self.attributes:
            raise ValueError(
                f"event_size is {self.event_size}, expected at most {SPREAD} below attributes, "
                f"{self.attributes}"
            )

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> Ads(rules=100).texts(40, 60) == Ads(rules=100).texts()[40:60]
        True
        """
        numbers = np.arange(start, self.rules if stop is None else min(stop, self.rules))
        parts = self._parts(numbers)
        used = parts.predicates
        texts: list[list[str]] = [self._predicates.some(used).texts()]
        for nodes in parts.nodes:
            texts.append(nodes.texts(texts[0], used, texts[-1] if len(texts) > 1 else []))
        entries = [used, *(nodes.numbers for nodes in parts.nodes)]
        made = [""] * len(numbers)
        for level in range(LEVELS):
            rows = np.flatnonzero(parts.levels == level)
            positions = np.searchsorted(entries[level], parts.entries[rows])
            for row, position in zip(rows.tolist(), positions.tolist(), strict=True):
                made[row] = texts[level][position]
        return made

    def chunks(self, size: int = 100_000) -> Iterator[list[str]]:
        """The rules of `texts`, `size` at a time.

        >>> [len(chunk) for chunk in Ads(rules=25).chunks(10)]
        [10, 10, 5]
        """
        texts = self.texts()  # equal rules share one string, so that all of them need little memory
        for start in range(0, self.rules, size):
            yield texts[start : start + size]

    def events(self, n: int, start: int = 0) -> list[dict[str, int]]:
        """Events of about `event_size` distinct attributes, as popular as among the rules.

        >>> Ads().events(1)[0].keys() <= {f"a{i}" for i in range(122)}
        True
        """
        first, last = start // EVENT_BLOCK, -(-(start + n) // EVENT_BLOCK)
        events = [event for block in range(first, last) for event in self._block(block)]
        skipped = start - first * EVENT_BLOCK
        return events[skipped : skipped + n]

    def _block(self, number: int) -> list[dict[str, int]]:
        random = np.random.default_rng([self.seed, 1, number])
        # The first arrivals of independent exponential clocks are a draw without replacement.
        arrivals = random.standard_exponential((EVENT_BLOCK, self.attributes))
        arrivals *= np.arange(1, self.attributes + 1) ** self.attribute_alpha
        chosen = np.argsort(arrivals, axis=1)
        low = max(1, self.event_size - SPREAD)
        sizes = random.integers(low, 2 * self.event_size - low + 1, EVENT_BLOCK)
        values = random.integers(0, self.cardinality, chosen.shape)
        columns = (chosen.tolist(), values.tolist(), sizes.tolist())
        return [
            {f"a{a}": v for a, v in zip(attributes[:size], row[:size], strict=True)}
            for attributes, row, size in zip(*columns, strict=True)
        ]

    def sharing_by_level(self) -> dict[int, float]:
        """How often a subexpression of each level occurs on average, from 1, the predicates.

        Rules are counted with the subexpressions of their level, as in Figure 7(a).

        >>> list(Ads(rules=1000).sharing_by_level())
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
        """
        used, identities = self._all_parts()
        sharing = {}
        for level, (uses, identity) in enumerate(zip(used, identities, strict=True), 1):
            sharing[level] = float(uses.sum() / len(np.unique(identity)))
        return sharing

    def uses_of_predicates(self) -> list[int]:
        """How often each distinct predicate occurs, as in Figure 7(b), the most often first.

        >>> uses = Ads(rules=1000).uses_of_predicates()
        >>> uses[0] > 1000, uses[-1]
        (True, 1)
        """
        used, identities = self._all_parts()
        _, places = np.unique(identities[0], return_inverse=True)
        uses = np.bincount(places, used[0]).astype(np.int64)
        most_first: list[int] = np.sort(uses[uses > 0])[::-1].tolist()
        return most_first

    def _all_parts(self) -> tuple[list[Int64Array], list[Int64Array]]:
        """For each level from 1, how often each of its parts is used, and their identities."""
        parts = self._parts(np.arange(self.rules))
        predicates = self._predicates.some(parts.predicates).identities()
        identities = [predicates]
        for nodes in parts.nodes:
            below = identities[-1] if len(identities) > 1 else None
            identities.append(nodes.identities(predicates, parts.predicates, below))
        used = np.zeros(len(parts.predicates), np.int64)
        by_level: list[Int64Array] = []
        for level in range(LEVELS - 1, 0, -1):
            nodes = parts.nodes[level - 1]
            own = parts.entries[parts.levels == level]
            counts = np.bincount(np.searchsorted(nodes.numbers, own), minlength=len(nodes.numbers))
            if by_level:
                np.add.at(counts, parts.nodes[level].below, by_level[-1])
            by_level.append(counts)
            weights = np.repeat(counts, np.diff(nodes.starts))
            places = np.searchsorted(parts.predicates, nodes.predicates)
            used += np.bincount(places, weights, len(used)).astype(np.int64)
        own = parts.entries[parts.levels == 0]
        used += np.bincount(np.searchsorted(parts.predicates, own), minlength=len(used))
        return [used, *by_level[::-1]], identities

    # How it is made

    @cached_property
    def _sizes(self) -> "_Sizes":
        return _Sizes.fitted(self.rules, self.overlap)

    @property
    def _predicates(self) -> PredicatePool:
        return PredicatePool(
            key_of(self.seed, 0),
            self._sizes.predicates,
            self.attributes,
            self.attribute_alpha,
            self.cardinality,
            MOST_LISTS,
            RANGES,
        )

    def _parts(self, numbers: Int64Array) -> "_Parts":
        """All nodes and predicates of some rules, from the rules down."""
        key = key_of(self.seed, LEVELS + 1)
        bounds = np.cumsum(LEVEL_SHARES)[:-1]
        levels = np.searchsorted(bounds, uniform(key, numbers, 0), side="right")
        operators = np.where(uniform(key, numbers, 1) < AND_SHARE, AND, OR)
        drawn = uniform(key, numbers, 2)
        entries = np.zeros(len(numbers), np.int64)
        for level in range(1, LEVELS):
            for operator in (AND, OR):
                rows = (levels == level) & (operators == operator)
                entries[rows] = self._entries(drawn[rows], level, operator)
        rows = levels == 0
        entries[rows] = zipf(drawn[rows], self._sizes.predicates, ALPHA)
        nodes: list[_AdNodes] = []
        wanted = np.zeros(0, np.int64)
        predicates = [entries[rows]]
        for level in range(LEVELS - 1, 0, -1):
            own = np.unique(np.concatenate([wanted, entries[levels == level]]))
            made = self._nodes(level, own)
            wanted = np.unique(made.below)
            if nodes:
                nodes[-1].below = np.searchsorted(own, nodes[-1].below)
            nodes.append(made)
            predicates.append(made.predicates)
        return _Parts(levels, entries, np.unique(np.concatenate(predicates)), nodes[::-1])

    def _entries(
        self, drawn: "np.typing.NDArray[np.float64]", level: int, operator: int
    ) -> Int64Array:
        """Numbers of a pool: even ones are an `and`, odd ones an `or`."""
        return 2 * zipf(drawn, self._sizes.nodes[level][operator], ALPHA) + operator

    def _nodes(self, level: int, numbers: Int64Array) -> "_AdNodes":
        key = key_of(self.seed, level)
        sources = self._sources(key, level, numbers)
        counts = FEWEST + (uniform(key, sources, -1) < MORE_SHARE)
        starts = np.concatenate([[0], np.cumsum(counts)])
        owners = np.repeat(np.arange(len(numbers)), counts)
        slots = np.arange(starts[-1]) - starts[owners]
        owner_numbers = sources[owners]
        predicates = zipf_apart(key, owner_numbers, owners, slots, self._sizes.predicates, ALPHA)
        below = np.zeros(0, np.int64)
        if level > 1:
            below = np.zeros(len(numbers), np.int64)
            drawn = uniform(key, numbers, -2)
            for operator in (AND, OR):
                rows = numbers % 2 == operator
                below[rows] = self._entries(drawn[rows], level - 1, 1 - operator)
        return _AdNodes(numbers, starts, predicates, below)

    def _sources(self, key: int, level: int, numbers: Int64Array) -> Int64Array:
        """The numbers that predicates are drawn with: those of nodes, or of others at level 2."""
        taking = uniform(key, numbers, -3) < (self.overlap if level > 1 else 0)
        sources = numbers.copy()
        for operator in (AND, OR):
            rows = taking & (numbers % 2 == operator)
            taken = self._entries(uniform(key, numbers[rows], -4), 1, operator)
            # A draw adds its number to the key, so that this is a draw with the key of level 2.
            sources[rows] = taken + (key_of(self.seed, 1) - key)
        return sources


@dataclass
class _AdNodes:
    """Some nodes of a level: numbers in the pool, predicates, and the node below of each.

    `below` has numbers of the pool below until that is made, and then positions in it.
    """

    numbers: Int64Array
    starts: Int64Array
    predicates: Int64Array
    below: Int64Array

    def texts(self, predicates: list[str], used: Int64Array, below: list[str]) -> list[str]:
        positions = np.searchsorted(used, self.predicates).tolist()
        operators = (self.numbers % 2).tolist()
        starts = self.starts.tolist()
        texts = []
        for i, operator in enumerate(operators):
            parts = [predicates[position] for position in positions[starts[i] : starts[i + 1]]]
            if below:
                parts.append(f"({below[self.below[i]]})")
            texts.append(JOINERS[operator].join(parts))
        return texts

    def identities(
        self, predicates: Int64Array, used: Int64Array, below: Int64Array | None
    ) -> Int64Array:
        """A hash per node, equal for equal operators and sets of operands."""
        places = np.searchsorted(used, self.predicates)
        sums = np.add.reduceat(mixed(predicates[places]), self.starts[:-1])
        if below is not None:
            sums = sums + mixed(below[self.below] + 1)
        return mixed(sums + self.numbers % 2)


@dataclass(frozen=True)
class _Parts:
    """The levels of rules, from 0, their entries in the pool of the level, and those pools."""

    levels: Int64Array
    entries: Int64Array
    predicates: Int64Array
    nodes: list[_AdNodes]  # from level 2, which is nodes[0]


@dataclass(frozen=True)
class _Sizes:
    """How many entries pools have: of nodes by level, `and` and `or` apart."""

    predicates: int
    nodes: list[tuple[int, int]]

    @classmethod
    def fitted(cls, rules: int, overlap: float) -> "_Sizes":
        """Sizes with which each level is shared as in `SHARING`, for any number of rules."""
        sizes: list[tuple[int, int]] = [(0, 0)] * LEVELS
        occurring, distinct = np.zeros(2), np.zeros(2)
        predicates = drawn = rules * LEVEL_SHARES[0]
        for level in range(LEVELS - 1, 0, -1):
            own = rules * LEVEL_SHARES[level] * np.array([AND_SHARE, 1 - AND_SHARE])
            # What is drawn by an `and` above is an `or` here.
            draws = own + distinct[::-1]
            occurring = own + occurring[::-1]
            distinct = occurring / SHARING[level]
            sizes[level] = (_pool(draws[AND], distinct[AND]), _pool(draws[OR], distinct[OR]))
            each = FEWEST + MORE_SHARE
            predicates += occurring.sum() * each
            drawn += distinct.sum() * each * (1 - overlap if level > 1 else 1)
        return cls(max(2 * FEWEST, _pool(drawn, predicates / SHARING[0])), sizes)


def _pool(draws: float, distinct: float) -> int:
    """The size of a pool of which so many draws by Zipf rank hit so many entries."""
    low, high = max(1, int(distinct)), max(2, int(distinct * 20))
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        ranks = np.arange(1, middle + 1, dtype=np.float64) ** -ALPHA
        hit = middle - np.exp(-draws * ranks / ranks.sum()).sum()
        low, high = (middle, high) if hit < distinct else (low, middle)
    return low
