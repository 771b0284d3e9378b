"""A rule as the index takes it: `and`, `or`, `xor`, `xnor` and `not` over literals.

What the index has no arrays for stays whole, as one literal that is evaluated on demand: see
`evaluated_whole`.
"""

from __future__ import annotations

from matchwood.language.tree import (
    AtLeast,
    AttributeComparison,
    Derived,
    Elements,
    In,
    InList,
    LikeMany,
    Node,
    SumComparison,
    TruthTest,
)
from matchwood.rewrite.negation import opposite
from matchwood.rewrite.pattern_lists import expand_patterns


def index_form(tree: Node) -> Node:
    """The rule that is indexed in the place of another, which is true of the same events."""
    return expand_patterns(tree)


def evaluated_whole(node: Node) -> bool:
    """Whether codes and patterns decide nothing of a literal, so that it is evaluated on demand."""
    if isinstance(node, AtLeast | Elements | InList | LikeMany | SumComparison | TruthTest):
        return True
    if isinstance(node, In) and node.family is None:
        return True
    return any(isinstance(subject, Derived) for subject in node.subjects)


def positive_literal(node: Node) -> Node:
    """The literal of which a node is the negation, or the node itself."""
    if isinstance(node, TruthTest):
        return TruthTest(node.operands[0], node.truth)
    if getattr(node, "negated", False):
        return opposite(node)
    if isinstance(node, AttributeComparison) and node.op == "!=":
        return AttributeComparison(node.left, "=", node.right)
    return node
