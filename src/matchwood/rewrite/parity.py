"""Tidy `xor` and `xnor`: one flat sorted chain of positive operands, negated as a whole or not.

Negations of operands cancel in pairs. If one is left, an even chain becomes an `xnor`; an odd
chain has it on its first predicate or, if it has no predicate, is `(… xor …) xnor last`. Equal
operands stay, because `x xor x` is undefined where x is.
"""

from __future__ import annotations

from matchwood.language.tree import AttributeComparison, Node, Not, SumComparison, Xnor, Xor
from matchwood.rewrite.local_rewrites import Order, node_over
from matchwood.rewrite.negation import opposite


def tidy_parity(node: Node, order: Order) -> Node:
    """The one way to write a chain of `xor`s and `xnor`s."""
    if not isinstance(node, Xor | Xnor):
        return node
    operands, odd = _operands(node)
    operands.sort(key=order)
    tidy = _chain(operands, odd)
    return node if tidy == node else tidy


def _operands(node: Node) -> tuple[list[Node], bool]:
    """Every operand of the chain in its positive form, and whether their parity is negated."""
    operands: list[Node] = []
    negations = 0
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, Xor | Xnor):
            negations += (len(part.operands) - 1) * isinstance(part, Xnor)
            todo.extend(part.operands)
        elif is_negative(part):
            operands.append(opposite(part))
            negations += 1
        else:
            operands.append(part)
    return operands, negations % 2 == 1


def is_negative(node: Node) -> bool:
    """Whether a predicate is written as the negation of another."""
    if isinstance(node, AttributeComparison | SumComparison):
        return node.op in ("!=", "<=", ">=")
    return isinstance(node, Not) or bool(getattr(node, "negated", False))


def _chain(operands: list[Node], odd: bool) -> Node:
    if not odd:
        return node_over(Xor, operands)
    if len(operands) % 2 == 0:
        return node_over(Xnor, operands)
    if not operands[0].operands:  # predicates come first
        return node_over(Xor, [opposite(operands[0]), *operands[1:]])
    return node_over(Xnor, [node_over(Xor, operands[:-1]), operands[-1]])
