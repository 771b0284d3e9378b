"""A pattern as a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matchwood.imports.connectives import all_of, any_of
from matchwood.imports.differences import DOTTED_NAMES, NESTED_LISTS
from matchwood.imports.event_patterns.branches import Branch, branches_of
from matchwood.imports.event_patterns.comparisons import has_value
from matchwood.imports.event_patterns.consistency import PatternField, conditions, shares_objects
from matchwood.language.builder import attr
from matchwood.language.tree import Node


def rule_of_pattern(
    pattern: Any,
    never_lists: frozenset[tuple[str, ...]] = frozenset(),
    differs: set[str] | None = None,
) -> Node:
    """The rule that an event passes if the pattern matches it.

    `never_lists` are paths at which an event never has a list. The kinds of events of which the
    rule may answer otherwise are added to `differs`.

    >>> pattern = {"source": ["shop"], "detail": {"lines": {"sku": ["x"], "count": [1]}}}
    >>> print(rule_of_pattern(pattern))
    any(detail.lines, count = 1 and sku = 'x') and source = 'shop'
    """
    branches = branches_of(pattern)
    fields = [
        [PatternField(tuple(name.split(".")), tests) for name, tests in branch.items()]
        for branch in branches
    ]
    if differs is not None:
        differs |= _of_fields(branches) | {NESTED_LISTS}
        if any(shares_objects([each.path for each in some], never_lists) for some in fields):
            differs.add(DOTTED_NAMES)
    return _of_branches([conditions(some, never_lists) for some in fields])


def rule_of_policy(policy: Any, differs: set[str] | None = None) -> Node:
    """The rule about the attributes of a message; their names have no structure.

    Of a message without attributes, no policy is true.

    >>> print(rule_of_policy({"store": ["a.b"], "price": [{"numeric": [">", 5]}]}))
    price > 5 and store = 'a.b'
    """
    branches = branches_of(policy)
    if differs is not None:
        differs |= _of_fields(branches)
    return _of_branches([_of_attributes(branch) for branch in branches])


def _of_fields(branches: Sequence[Branch]) -> set[str]:
    """The kinds of events for which fields differ, wherever they stand."""
    return {kind for branch in branches for tests in branch.values() for kind in tests.differs}


def _of_attributes(branch: Branch) -> list[Node]:
    found = conditions(
        [PatternField((name,), tests) for name, tests in branch.items()], frozenset()
    )
    if all(tests.absent for tests in branch.values()):
        found.append(has_value(attr("*")))
    return found


def _of_branches(branches: Sequence[list[Node]]) -> Node:
    """The rule for branches, with what they have in common said once."""
    common = [node for node in branches[0] if all(node in branch for branch in branches[1:])]
    rests = [all_of(node for node in branch if node not in common) for branch in branches]
    return all_of([*common, any_of(dict.fromkeys(rests))])
