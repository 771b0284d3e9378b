"""Merge equalities: `a = 1 or a in (2, 3)` is `a in (1, 2, 3)`, and `a != 1 and a != 2` is
`a not in (1, 2)`: for lists too, of which one value is any of these, or none is.
"""

from __future__ import annotations

from matchwood.language.tree import And, Comparison, In, Node, Or
from matchwood.language.values import Family, Literal
from matchwood.normalise.nodes import Order, joined
from matchwood.normalise.predicates import tidied


def merge_values(node: Node, order: Order) -> Node:
    """The node with one `in` (or `not in`) for each attribute and family of values."""
    if not isinstance(node, And | Or):
        return node
    negated = isinstance(node, And)
    values: dict[tuple[str, Family], list[Literal]] = {}
    rest: list[Node] = []
    merges = False
    for operand in node.operands:
        if isinstance(operand, In) and operand.negated is negated:
            found = operand.values
        elif isinstance(operand, Comparison) and operand.op == ("!=" if negated else "="):
            found = (operand.value,)
        else:
            rest.append(operand)
            continue
        known = values.setdefault((operand.attribute, operand.family), [])
        merges = merges or bool(known)
        known.extend(found)
    if not merges:
        return node
    merged = [tidied(In(name, many, negated)) for (name, _), many in values.items()]
    return joined(type(node), [*rest, *merged])
