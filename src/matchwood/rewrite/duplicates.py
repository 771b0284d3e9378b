"""Sort the operands of `and` and `or`, and keep one of each."""

from __future__ import annotations

from matchwood.language.tree import And, Node, Or
from matchwood.rewrite.local_rewrites import Order, node_over


def sort_and_dedupe(node: Node, order: Order) -> Node:
    """The node with its operands sorted, each of them once."""
    if not isinstance(node, And | Or):
        return node
    by_key = {order(operand): operand for operand in node.operands}
    operands = tuple(by_key[key] for key in sorted(by_key))
    if len(operands) == len(node.operands) and all(map(_same, operands, node.operands)):
        return node
    return node_over(type(node), operands)


def _same(a: Node, b: Node) -> bool:
    return a is b
