"""A rule that is in no segment yet: it is evaluated for each event until it is built."""

from __future__ import annotations

from typing import NamedTuple

from matchwood.language.tree import Node
from matchwood.match.parts.operator_rules import PendingOperatorRule
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.operators.residue import is_costly


class PendingRule(NamedTuple):
    """A rule that waits to be built into a segment."""

    tree: Node
    details: RuleDetails
    calls: PendingOperatorRule | None = None  # what decides it where it calls operators

    @classmethod
    def of(cls, tree: Node, details: RuleDetails) -> PendingRule:
        calls = PendingOperatorRule.of(tree, details.id) if is_costly(tree) else None
        return cls(tree, details, calls)
