"""Merge equalities: `a = 1 or a in (2, 3)` is `a in (1, 2, 3)`.

Likewise, `a != 1 and a != 2` is `a not in (1, 2)`. Both hold for lists too: some value of the list
is one of the constants, or none is.
"""

from __future__ import annotations

from matchwood.language.tree import And, Comparison, In, Node, Or
from matchwood.language.values import Family, Literal
from matchwood.rewrite.local_rewrites import Order, node_over
from matchwood.rewrite.tidying import tidied


def merge_values(node: Node, order: Order) -> Node:
    """The node with one `in` (or `not in`) per attribute and family of values."""
    if not isinstance(node, And | Or):
        return node
    negated = isinstance(node, And)
    values: dict[tuple[str, Family], list[Literal]] = {}
    rest: list[Node] = []
    merges = False
    for operand in node.operands:
        if isinstance(operand, In) and operand.negated is negated and operand.family is not None:
            key, merged_values = (operand.attribute, operand.family), operand.values
        elif isinstance(operand, Comparison) and operand.op == ("!=" if negated else "="):
            key, merged_values = (operand.attribute, operand.family), (operand.value,)
        else:
            rest.append(operand)
            continue
        known = values.setdefault(key, [])
        merges = merges or bool(known)
        known.extend(merged_values)
    if not merges:
        return node
    merged = [tidied(In(name, literals, negated)) for (name, _), literals in values.items()]
    return node_over(type(node), [*rest, *merged])
