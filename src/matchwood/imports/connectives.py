"""Nodes joined by `and`, `or` and `not`, without the constants that decide nothing."""

from __future__ import annotations

from collections.abc import Iterable

from matchwood.language.tree import And, Constant, IsNull, Node, Not, Or, TruthTest

TRUE, FALSE = Constant(True), Constant(False)


def all_of(nodes: Iterable[Node]) -> Node:
    """The `and` of any number of nodes."""
    return _joined(nodes, And, neutral=TRUE, deciding=FALSE)


def any_of(nodes: Iterable[Node]) -> Node:
    """The `or` of any number of nodes."""
    return _joined(nodes, Or, neutral=FALSE, deciding=TRUE)


def _joined(nodes: Iterable[Node], kind: type[And | Or], neutral: Node, deciding: Node) -> Node:
    operands: list[Node] = []
    for node in nodes:
        if node == deciding:
            return deciding
        if node != neutral:
            operands.extend(node.operands if type(node) is kind else (node,))
    if not operands:
        return neutral
    return operands[0] if len(operands) == 1 else kind(operands)


def negated(node: Node) -> Node:
    """The negation, for all three truth values."""
    if isinstance(node, Constant):
        return Constant(not node.value)
    if isinstance(node, Not):
        return node.operands[0]
    if isinstance(node, IsNull):
        return IsNull(node.attribute, not node.negated)
    if isinstance(node, TruthTest):
        return TruthTest(node.operands[0], node.truth, not node.negated)
    return Not(node)


def tested(node: Node, truth: str) -> Node:
    """`(…) is true`, `is false` or `is unknown`, which is never undefined."""
    two_valued = isinstance(node, Constant | IsNull | TruthTest)
    if two_valued:
        return FALSE if truth == "unknown" else node if truth == "true" else negated(node)
    return TruthTest(node, truth)


def not_true(node: Node) -> Node:
    """The two-valued negation: true where the node is not, and never undefined."""
    return negated(tested(node, "true"))
