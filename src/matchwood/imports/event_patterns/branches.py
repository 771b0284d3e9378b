"""A pattern as conjunctions of fields, one or another of which must hold.

`$or` takes all that stands before it in the pattern into each of its branches. A field that stands
in a branch and before it, or after it, has the list that comes last, as in event-ruler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.imports.event_patterns.comparisons import FieldTests, field_tests
from matchwood.imports.imported import Inexpressible

# Branches of one pattern. EventBridge allows 1,000 combinations, too.
MAX_BRANCHES = 1_000

OR = "$or"

# Fields cannot have these names in a branch of `$or`.
_RESERVED = frozenset(
    # comparisons
    ("exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard",
     "numeric", "cidr", "=", "<", "<=", ">", ">=",
    # words that event-ruler keeps for later
     "regex", "not-wildcard", "not-equals-ignore-case", "date-after", "date-on-or-after",
     "date-before", "date-on-or-before", "in-date-range", "ip-address-in-range",
     "ip-address-not-in-range")
)  # fmt: skip

# The fields of a conjunction by their dotted names.
Branch = dict[str, FieldTests]


def branches_of(pattern: Any) -> list[Branch]:
    """The branches of a pattern; each has one field or more."""
    if not isinstance(pattern, Mapping):
        raise Inexpressible("a pattern is an object")
    branches: list[Branch] = []
    _add_fields(branches, pattern, "", within_or=False)
    return branches


def _add_fields(
    branches: list[Branch], fields: Mapping[str, Any], prefix: str, within_or: bool
) -> None:
    if not fields:
        raise Inexpressible("an object has one field or more, found none", prefix)
    for name, inner in fields.items():
        place = f"{prefix}.{name}" if prefix else name
        if name == OR:
            _add_or(branches, inner, prefix, place)
            continue
        if within_or and name in _RESERVED:
            raise Inexpressible(f"no field in {OR} is called {name!r}", place)
        if isinstance(inner, Mapping):
            _add_fields(branches, inner, place, within_or)
            continue
        tests = field_tests(inner, place)
        if not branches:
            branches.append({})
        for branch in branches:
            branch[place] = tests


def _add_or(branches: list[Branch], alternatives: Any, prefix: str, place: str) -> None:
    if not isinstance(alternatives, list) or len(alternatives) < 2:
        raise Inexpressible(f"{OR} takes a list of two objects or more", place)
    before = list(branches) or [{}]
    branches.clear()
    for number, alternative in enumerate(alternatives):
        if not isinstance(alternative, Mapping):
            raise Inexpressible("expected an object", f"{place}[{number}]")
        within = [dict(branch) for branch in before]
        try:
            _add_fields(within, alternative, prefix, within_or=True)
        except Inexpressible as error:
            raise Inexpressible(error.reason, f"{place}[{number}]: {error.place}") from None
        branches.extend(within)
        if len(branches) > MAX_BRANCHES:
            raise Inexpressible(f"more than {MAX_BRANCHES:,} combinations of {OR}", place)
