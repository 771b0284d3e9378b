"""Flatten: an `and` within an `and` is one `and`, and likewise `or`."""

from __future__ import annotations

from matchwood.language.tree import And, Node, Or
from matchwood.normalise.nodes import Order, joined


def flatten(node: Node, order: Order) -> Node:
    """The node with the operands of operands of its own kind."""
    kind = type(node)
    if kind not in (And, Or) or not any(type(operand) is kind for operand in node.operands):
        return node
    flat: list[Node] = []
    for operand in node.operands:
        flat.extend(operand.operands if type(operand) is kind else (operand,))
    return joined(kind, flat)
