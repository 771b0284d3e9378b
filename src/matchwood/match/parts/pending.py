"""A rule that is in no segment yet: it is evaluated for each event until it is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from matchwood.kernels.array_types import Int32Array
from matchwood.language.tree import Node
from matchwood.match.parts.operator_rules import PendingOperatorRule
from matchwood.match.parts.part import Part
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


class BuiltPending(NamedTuple):
    """A part of pending rules, and the position of each of its rules among them."""

    part: Part
    order: Int32Array


# Gives a part of the rules that are pending once kernels are compiled, and None until then.
TakingOver = Callable[[], BuiltPending | None]
