"""Tidy `xor` and `xnor`: one flat sorted chain of positive operands, negated as a whole or not.

The negations of operands cancel in pairs. One that is left makes an even chain an `xnor`; an odd
chain carries it on its first predicate, or, where it has none, is `(… xor …) xnor last`. Equal
operands stay: `x xor x` is undefined where x is.
"""

from __future__ import annotations

from matchwood.language.tree import AttributeComparison, Node, Not, Xnor, Xor
from matchwood.normalise.negation import opposite
from matchwood.normalise.nodes import Order, joined


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
    if isinstance(node, AttributeComparison):
        return node.op in ("!=", "<=", ">=")
    return isinstance(node, Not) or bool(getattr(node, "negated", False))


def _chain(operands: list[Node], odd: bool) -> Node:
    if not odd:
        return joined(Xor, operands)
    if len(operands) % 2 == 0:
        return joined(Xnor, operands)
    if not operands[0].operands:  # predicates come first
        return joined(Xor, [opposite(operands[0]), *operands[1:]])
    return joined(Xnor, [joined(Xor, operands[:-1]), operands[-1]])
