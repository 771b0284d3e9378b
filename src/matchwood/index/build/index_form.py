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
    Like,
    LikeMany,
    Node,
    SumComparison,
    TruthTest,
)
from matchwood.rewrite.negation import opposite
from matchwood.rewrite.pattern_lists import expand_patterns
from matchwood.rewrite.truth_tests import push_truth_tests


def index_form(tree: Node) -> Node:
    """The rule that is indexed in the place of another, which is true of the same events."""
    return push_truth_tests(expand_patterns(tree))


def evaluated_whole(node: Node) -> bool:
    """Whether codes and patterns decide nothing of a literal, so that it is evaluated on demand."""
    if tested_pattern(node) is not None:
        return False
    if isinstance(node, AtLeast | Elements | InList | LikeMany | SumComparison | TruthTest):
        return True
    if isinstance(node, In) and node.family is None:
        return True
    return any(isinstance(subject, Derived) for subject in node.subjects)


def tested_pattern(node: Node) -> Like | None:
    """The pattern of which a node asks whether it is true; None if it asks for anything else."""
    if not isinstance(node, TruthTest) or node.truth != "true":
        return None
    pattern = node.operands[0]
    if not isinstance(pattern, Like) or pattern.negated or isinstance(pattern.attribute, Derived):
        return None
    return pattern


def predicate_of(node: Node) -> Node:
    """The pattern whose truth a node tests, or else the node itself."""
    pattern = tested_pattern(node)
    return node if pattern is None else pattern


def positive_literal(node: Node) -> Node:
    """The literal of which a node is the negation, or the node itself."""
    if isinstance(node, TruthTest):
        return TruthTest(node.operands[0], node.truth)
    if getattr(node, "negated", False):
        return opposite(node)
    if isinstance(node, AttributeComparison) and node.op == "!=":
        return AttributeComparison(node.left, "=", node.right)
    return node
