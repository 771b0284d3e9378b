"""What predicates see of a list: its distinct values, sorted, by family.

They are sorted once per event, so that a comparison, an `in` or a `contains` takes a binary search
or a lookup, however long the list is.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from matchwood.language.tree.predicates import Between, Comparison
from matchwood.language.values import Family, Literal, Value, holds, read_time


class SortedValues(NamedTuple):
    """The distinct values of one family in a list, in ascending order."""

    values: list[Any]
    members: frozenset[Any]

    def satisfies(self, node: Comparison | Between) -> bool:
        """Whether any of the values satisfies a predicate without its `not`."""
        if isinstance(node, Between):
            first = bisect_left(self.values, node.low)
            return first < len(self.values) and bool(self.values[first] <= node.high)
        if node.op in ("=", "!="):
            return node.value in self.members
        if not self.values:
            return False
        extreme = self.values[0] if node.op in ("<", "<=") else self.values[-1]
        return holds(extreme, node.op, node.value)


class ListValues:
    """The values of a list, by family.

    >>> from matchwood.language.values import read
    >>> elements = ListValues(tuple(map(read, [5, "2026-01-31", 3, 5, True])))
    >>> elements.of(Family.NUMBER).values, elements.of(Family.BOOLEAN).values
    ([3, 5], [True])
    >>> [str(time) for time in elements.of(Family.TIME).values]
    ['2026-01-31']
    """

    __slots__ = ("_families", "_values")

    def __init__(self, values: tuple[Value, ...]) -> None:
        self._values = values
        self._families: dict[Family, SortedValues] = {}

    def of(self, family: Family) -> SortedValues:
        """The values of a family; times include the strings that spell a time."""
        known = self._families.get(family)
        if known is None:
            members = self._members(family)
            known = self._families[family] = SortedValues(sorted(members), members)
        return known

    def _members(self, family: Family) -> frozenset[Any]:
        members: set[Literal | None] = {v.value for v in self._values if v.family is family}
        if family is Family.TIME:
            texts = {str(v.value) for v in self._values if v.family is Family.STRING}
            members.update(time for time in map(read_time, texts) if time is not None)
        return frozenset(members)
