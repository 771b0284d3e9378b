"""Flatten: an `and` within an `and` is one `and`, and the same for `or`."""

from __future__ import annotations

from matchwood.language.tree import And, Node, Or
from matchwood.rewrite.local_rewrites import Order, node_over


def flatten(node: Node, order: Order) -> Node:
    """The node with operands of its own kind replaced by their operands."""
    kind = type(node)
    if kind not in (And, Or) or not any(type(operand) is kind for operand in node.operands):
        return node
    flat: list[Node] = []
    for operand in node.operands:
        flat.extend(operand.operands if type(operand) is kind else (operand,))
    return node_over(kind, flat)
