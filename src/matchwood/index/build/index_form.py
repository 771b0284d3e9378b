"""A rule as the index takes it: `and`, `or`, `xor`, `xnor` and `not` over literals.

What the index has no arrays for stays whole, as one literal that is evaluated on demand: see
`evaluated_whole`. Beside it stand literals that the index can look up, where it implies some: see
`rewrite.filters` and `guards`. Tests of truth are pushed down to predicates, each of which is then
a literal.
"""

from __future__ import annotations

from matchwood.language.tree import (
    AtLeast,
    AttributeComparison,
    Call,
    Elements,
    InList,
    Like,
    LikeMany,
    Node,
    SumComparison,
    TruthTest,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.rewrite.counts import expand_counts
from matchwood.rewrite.filters import add_filters
from matchwood.rewrite.mixed_values import expand_mixed_values
from matchwood.rewrite.negation import opposite
from matchwood.rewrite.pattern_lists import expand_patterns
from matchwood.rewrite.truth_tests import push_truth_tests


def index_form(tree: Node) -> Node:
    """The rule that is indexed in the place of another, which is true of the same events."""
    pushed = push_truth_tests(expand_mixed_values(expand_patterns(expand_counts(tree))))
    return add_filters(pushed, lambda rule: push_truth_tests(expand_mixed_values(rule)))


def evaluated_whole(node: Node) -> bool:
    """Whether codes and patterns decide nothing of a literal, so that it is evaluated on demand."""
    if tested_value(node) is not None:
        return False
    return isinstance(node, AtLeast | Elements | InList | LikeMany | SumComparison | TruthTest)


def is_value_test(node: Node) -> bool:
    """Whether one string decides a predicate, such as a pattern."""
    if isinstance(node, Call) and node.name == "contains":
        return not isinstance(node.arguments[1], Attribute)
    return isinstance(node, Like) or (isinstance(node, Call) and node.name in ("endswith", "isa"))


def tested_value(node: Node) -> Node | None:
    """The value test of which a node asks whether it is true; None if it asks for anything else."""
    if not isinstance(node, TruthTest) or node.truth != "true":
        return None
    test = node.operands[0]
    return test if is_value_test(test) and not getattr(test, "negated", False) else None


def predicate_of(node: Node) -> Node:
    """The value test whose truth a node tests, or else the node itself."""
    test = tested_value(node)
    return node if test is None else test


def positive_literal(node: Node) -> Node:
    """The literal of which a node is the negation, or the node itself."""
    if isinstance(node, TruthTest):
        return TruthTest(node.operands[0], node.truth)
    if getattr(node, "negated", False):
        return opposite(node)
    if isinstance(node, AttributeComparison) and node.op == "!=":
        return AttributeComparison(node.left, "=", node.right)
    return node
