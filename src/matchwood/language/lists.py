"""What predicates see of a list: its distinct values in order, family by family.

They are put in order once an event, so that a comparison, an `in` or a `contains` costs as much
as a search, however long the list is.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from matchwood.language.predicates import Between, Comparison, In
from matchwood.language.values import Family, Literal, Value, holds, read_time


class Ordered(NamedTuple):
    """The values of one family that a list holds, each once, the least first."""

    values: list[Any]
    members: frozenset[Any]

    def satisfies(self, node: Comparison | Between | In) -> bool:
        """Whether any of the values satisfies a predicate, taken without its `not`."""
        if isinstance(node, In):
            return not self.members.isdisjoint(node.values)
        if isinstance(node, Between):
            place = bisect_left(self.values, node.low)
            return place < len(self.values) and bool(self.values[place] <= node.high)
        if node.op in ("=", "!="):
            return node.value in self.members
        if not self.values:
            return False
        extreme = self.values[0] if node.op in ("<", "<=") else self.values[-1]
        return holds(extreme, node.op, node.value)


class Elements:
    """A list, by family.

    >>> from matchwood.language.values import read
    >>> elements = Elements(tuple(map(read, [5, "2026-01-31", 3, 5, True])))
    >>> elements.of(Family.NUMBER).values, elements.of(Family.BOOLEAN).values
    ([3, 5], [True])
    >>> [str(time) for time in elements.of(Family.TIME).values]
    ['2026-01-31']
    """

    __slots__ = ("_families", "_values")

    def __init__(self, values: tuple[Value, ...]) -> None:
        self._values = values
        self._families: dict[Family, Ordered] = {}

    def of(self, family: Family) -> Ordered:
        """The values of a family; among the times are the strings that spell one."""
        found = self._families.get(family)
        if found is None:
            members = self._members(family)
            found = self._families[family] = Ordered(sorted(members), members)
        return found

    def _members(self, family: Family) -> frozenset[Any]:
        found: set[Literal | None] = {v.value for v in self._values if v.family is family}
        if family is Family.TIME:
            texts = {str(v.value) for v in self._values if v.family is Family.STRING}
            found.update(time for time in map(read_time, texts) if time is not None)
        return frozenset(found)
