"""Absorb: `x or (x and y)` is x, and so is `x and (x or y)`; undefined changes neither."""

from __future__ import annotations

from matchwood.language.tree import And, Node, Or
from matchwood.rewrite.local_rewrites import Key, Order, node_over

# Operands of a node that are compared with each other. Beyond, only those without operands of
# their own absorb others.
MAX_OPERANDS = 64


def absorb(node: Node, order: Order) -> Node:
    """The node without operands that another operand makes redundant."""
    if not isinstance(node, And | Or):
        return node
    inner = Or if isinstance(node, And) else And
    if not any(type(operand) is inner for operand in node.operands):
        return node
    parts = [_parts(operand, inner, order) for operand in node.operands]
    alone = {next(iter(part)) for part in parts if len(part) == 1}
    small = parts if len(parts) <= MAX_OPERANDS else []
    kept = [
        operand
        for operand, part in zip(node.operands, parts, strict=True)
        if len(part) == 1 or (part.isdisjoint(alone) and not any(other < part for other in small))
    ]
    return node if len(kept) == len(node.operands) else node_over(type(node), kept)


def _parts(operand: Node, inner: type[Node], order: Order) -> frozenset[Key]:
    parts = operand.operands if type(operand) is inner else (operand,)
    return frozenset(map(order, parts))
