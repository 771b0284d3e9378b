"""Domains: the values that an attribute may have, and how they compare.

    Plain         any value of a family: number, string, boolean or time
    Range         numbers from a minimum to a maximum
    Enumerated    a list of values, perhaps with an order of their own
    Hierarchical  the nodes of a hierarchy

Rules compare strings by code point, whatever the domain; an order of the domain's own is written
out in rules as `in` and `isa` (`Schema.spell_out`).
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

_SHOWN = 6  # values of a domain that an error names

Number = int | Decimal


class Domain(ABC):
    """The values of an attribute: of one family, and perhaps only some of them."""

    family: Family

    @abstractmethod
    def __contains__(self, value: Literal) -> bool:
        """Whether a value of the family is of the domain."""

    @abstractmethod
    def __str__(self) -> str:
        """What a value of it is, as in 'expected a number from 0 to 5'."""

    ordered = True  # whether `<` on strings by code point, or on numbers, is what is meant

    def outside(self, value: Literal) -> str | None:
        """What to say of a value of the family that is not of the domain, None if it is."""
        return None if value in self else f"expected {self}, found {shown(value)}"

    def compared(self, op: str, value: Literal) -> list[Literal] | None:
        """The values for which `op value` holds in an order of the domain's own, None without."""
        return None


@dataclass(frozen=True)
class Plain(Domain):
    """Every value of a family."""

    family: Family

    def __contains__(self, value: Literal) -> bool:
        return family_of(value) is self.family

    def __str__(self) -> str:
        return f"a {self.family}"


@dataclass(frozen=True)
class Range(Domain):
    """Numbers from a minimum to a maximum, both included; None where there is none."""

    minimum: Number | None = None
    maximum: Number | None = None
    family = Family.NUMBER

    def __post_init__(self) -> None:
        low, high = self.minimum, self.maximum
        if low is not None and high is not None and low > high:
            raise SchemaError(f"the minimum {low} is over the maximum {high}")

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
    """Some values of one family; `chains` are ascending and together make a partial order.

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
                found = f"a {self.family} and a {family_of(value)}"
                raise SchemaError(f"the values of a domain are of one family, found {found}")
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
            found = self._greater[value]
        else:
            found = {other for other in self.values if value in self._greater[other]}
        return [v for v in self.values if v in found or (v == value and op in ("<=", ">="))]


@dataclass(frozen=True)
class Hierarchical(Domain):
    """The nodes of a hierarchy; one is less than another where it is a kind of it."""

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
        found = self.hierarchy.above(kind) if op in (">", ">=") else self.hierarchy.below(kind)
        return [kind, *found] if op in ("<=", ">=") else list(found)


FAMILIES: dict[str, Domain] = {str(family): Plain(family) for family in Family}


def shown(value: Literal) -> str:
    """A value as rules write it, cut where it is long."""
    if isinstance(value, str):
        text = value if len(value) <= 60 else value[:60] + "…"
        return "'" + text.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def listed(values: Sequence[Literal]) -> str:
    """The first few values."""
    rest = len(values) - _SHOWN
    first = ", ".join(map(shown, values[:_SHOWN]))
    return first if rest <= 0 else f"{first} and {rest:,} more"


def _value(value: object) -> Literal:
    try:
        found = literal(value)
    except RuleError as error:
        raise SchemaError(f"a value of a domain: {error.reason}") from None
    if isinstance(found, bool) or not isinstance(found, str | int | Decimal):
        raise SchemaError(
            f"the values of a domain are strings or numbers, found a {family_of(found)}"
        )
    return found


def _closure(
    values: Sequence[Literal], chains: Iterable[Sequence[Literal]]
) -> dict[Literal, set[Literal]]:
    """For each value all that are greater; a SchemaError where one is greater than itself."""
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
