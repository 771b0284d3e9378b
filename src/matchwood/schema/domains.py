"""Domains: the values that an attribute may have, and how they compare.

    Plain         any value of a family: number, string, boolean or time
    Range         numbers from a minimum to a maximum
    Enumerated    a list of values, perhaps with an order of their own
    Hierarchical  the nodes of a hierarchy

Rules compare strings by code point, whatever the domain is. To use an order that only the domain
has, rules are written with `in` and `isa`, which `Schema.spell_out` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from matchwood.language.errors import RuleError
from matchwood.language.values import Family, Literal, family_of, literal
from matchwood.schema.errors import SchemaError, nearest
from matchwood.schema.hierarchy import Hierarchy

# The most values of a domain that an error names.
_MOST_VALUES_NAMED = 6

Number = int | Decimal


class Domain(ABC):
    """The values that an attribute may have, all of one family.

    >>> domain: Domain = Range(0, 5)
    >>> print(domain.outside(7))
    expected a number from 0 to 5, found 7
    """

    family: Family

    @abstractmethod
    def __contains__(self, value: Literal) -> bool:
        """Whether a value of the family is in the domain."""

    @abstractmethod
    def __str__(self) -> str:
        """What its values are, as in 'expected a number from 0 to 5'."""

    ordered = True  # whether `<` means the order of the family: of numbers, or of code points

    @property
    def has_own_order(self) -> bool:
        """Whether the domain states an order other than that of its family."""
        return not self.ordered

    def outside(self, value: Literal) -> str | None:
        """The error for a value of the family that is not in the domain; None if it is."""
        return None if value in self else f"expected {self}, found {shown(value)}"

    def compared(self, op: str, value: Literal) -> list[Literal] | None:
        """The values for which `op value` holds in the domain's own order; None if it has none."""
        return None


@dataclass(frozen=True)
class Plain(Domain):
    """Every value of a family.

    >>> 18 in Plain(Family.NUMBER), "x" in Plain(Family.NUMBER)
    (True, False)
    """

    family: Family

    def __contains__(self, value: Literal) -> bool:
        return family_of(value) is self.family

    def __str__(self) -> str:
        return f"a {self.family}"


@dataclass(frozen=True)
class Range(Domain):
    """Numbers from a minimum to a maximum, both included; None if there is no bound.

    >>> 5 in Range(0, 5), -1 in Range(0), -1 in Range(None, 5)
    (True, False, True)
    """

    minimum: Number | None = None
    maximum: Number | None = None
    family = Family.NUMBER

    def __post_init__(self) -> None:
        low, high = self.minimum, self.maximum
        if low is not None and high is not None and low > high:
            raise SchemaError(f"the minimum {low} is above the maximum {high}")

    def __contains__(self, value: Literal) -> bool:
        if family_of(value) is not Family.NUMBER:
            return False
        number: Number = value  # type: ignore[assignment]
        return (self.minimum is None or number >= self.minimum) and (
            self.maximum is None or number <= self.maximum
        )

    def __str__(self) -> str:
        low = "" if self.minimum is None else f" from {self.minimum}"
        high = "" if self.maximum is None else f" to {self.maximum}"
        return f"a number{low}{high}"


class Enumerated(Domain):
    """A list of values of one family, perhaps with a partial order, made of ascending chains.

    >>> condition = Enumerated(["poor", "good", "mint"], [["poor", "good", "mint"]])
    >>> "good" in condition, condition.compared(">=", "good")
    (True, ['good', 'mint'])
    """

    def __init__(
        self, values: Sequence[object], chains: Iterable[Sequence[object]] | None = None
    ) -> None:
        self.values = tuple(map(_value, values))
        if not self.values:
            raise SchemaError("an enumerated domain has one value or more, found none")
        self.family = family_of(self.values[0])
        for value in self.values:
            if family_of(value) is not self.family:
                two_families = f"a {self.family} and a {family_of(value)}"
                raise SchemaError(f"the values of a domain are of one family, found {two_families}")
        if len(set(self.values)) < len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise SchemaError(f"{shown(twice)} is there twice")
        self.chains = (
            None if chains is None else tuple(tuple(map(_value, chain)) for chain in chains)
        )
        self._greater = _closure(self.values, self.chains or ())
        self._members = frozenset(self.values)

    def __contains__(self, value: Literal) -> bool:
        return family_of(value) is self.family and value in self._members

    def __str__(self) -> str:
        return f"one of {listed(self.values)}"

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.family is Family.NUMBER and self.chains is None

    @property
    def has_own_order(self) -> bool:
        return self.chains is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Enumerated) and (self.values, self.chains) == (
            other.values,
            other.chains,
        )

    def __hash__(self) -> int:
        return hash(self._members)

    def outside(self, value: Literal) -> str | None:
        reason = super().outside(value)
        if reason is not None and isinstance(value, str):
            reason += nearest(value, [v for v in self.values if isinstance(v, str)])
        return reason

    def compared(self, op: str, value: Literal) -> list[Literal] | None:
        if self.chains is None:
            return None
        if op in (">", ">="):
            others = self._greater[value]
        else:
            others = {other for other in self.values if value in self._greater[other]}
        return [v for v in self.values if v in others or (v == value and op in ("<=", ">="))]


@dataclass(frozen=True)
class Hierarchical(Domain):
    """The nodes of a hierarchy; a node is less than another if it is a kind of it.

    >>> furniture = Hierarchical(Hierarchy({"table": "furniture", "chair": "furniture"}))
    >>> "chair" in furniture, furniture.compared("<", "furniture")
    (True, ['chair', 'table'])
    """

    hierarchy: Hierarchy
    family = Family.STRING
    ordered = False

    def __contains__(self, value: Literal) -> bool:
        return isinstance(value, str) and value in self.hierarchy.nodes

    def __str__(self) -> str:
        return f"a node of the hierarchy of {listed(sorted(self.hierarchy.nodes))}"

    def outside(self, value: Literal) -> str | None:
        reason = super().outside(value)
        return None if reason is None else reason + nearest(str(value), self.hierarchy.nodes)

    def compared(self, op: str, value: Literal) -> list[Literal] | None:
        kind = str(value)
        others = self.hierarchy.above(kind) if op in (">", ">=") else self.hierarchy.below(kind)
        return [kind, *others] if op in ("<=", ">=") else list(others)


# The domains that have the name of a family.
FAMILIES: dict[str, Domain] = {str(family): Plain(family) for family in Family}


def shown(value: Literal) -> str:
    """A value as rules write it, shortened if it is long."""
    if isinstance(value, str):
        text = value if len(value) <= 60 else value[:60] + "…"
        return "'" + text.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def listed(values: Sequence[Literal]) -> str:
    """The first few values, and how many more there are."""
    rest = len(values) - _MOST_VALUES_NAMED
    first = ", ".join(map(shown, values[:_MOST_VALUES_NAMED]))
    return first if rest <= 0 else f"{first} and {rest:,} more"


def _value(value: object) -> Literal:
    try:
        canonical = literal(value)
    except RuleError as error:
        raise SchemaError(f"a value of a domain: {error.reason}") from None
    if isinstance(canonical, bool) or not isinstance(canonical, str | int | Decimal):
        raise SchemaError(
            f"the values of a domain are strings or numbers, found a {family_of(canonical)}"
        )
    return canonical


def _closure(
    values: Sequence[Literal], chains: Iterable[Sequence[Literal]]
) -> dict[Literal, set[Literal]]:
    """All greater values of each value; a SchemaError if a value is greater than itself."""
    direct: dict[Literal, set[Literal]] = {value: set() for value in values}
    for chain in chains:
        for value in chain:
            if value not in direct:
                raise SchemaError(f"the order names {shown(value)}, which is not among the values")
        for lower, upper in pairwise(chain):
            direct[lower].add(upper)
    greater: dict[Literal, set[Literal]] = {}
    for value in values:
        reached: set[Literal] = set()
        waiting = list(direct[value])
        while waiting:
            other = waiting.pop()
            if other not in reached:
                reached.add(other)
                waiting += direct[other]
        if value in reached:
            raise SchemaError(f"the order runs in a circle: {shown(value)} is less than itself")
        greater[value] = reached
    return greater
