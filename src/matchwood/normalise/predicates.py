"""One way to write each predicate.

The values of an `in` are sorted and distinct, and one alone is `=`; `between 3 and 3` is `= 3`;
of two attributes compared, the first by name stands on the left. Reversed bounds stay: they are
false of every value of their family, and undefined elsewhere.
"""

from __future__ import annotations

from functools import lru_cache

from matchwood.language.tree import FLIPPED, AttributeComparison, Between, Comparison, In, Node
from matchwood.normalise.nodes import Order


def tidy_predicate(node: Node, order: Order) -> Node:
    """The one way to write a predicate."""
    if isinstance(node, In | Between | AttributeComparison):
        return tidied(node)
    return node


@lru_cache(maxsize=1 << 14)
def tidied(node: Node) -> Node:
    """`tidy_predicate` of a predicate with parts to tidy."""
    match node:
        case In(attribute=name, values=values, negated=negated):
            distinct = tuple(sorted(set(values)))
            if len(distinct) == 1:
                return Comparison(name, "!=" if negated else "=", distinct[0])
            return node if distinct == values else In(name, distinct, negated)
        case Between(attribute=name, low=low, high=high, negated=negated) if low == high:
            return Comparison(name, "!=" if negated else "=", low)
        case AttributeComparison(left=left, op=op, right=right) if left > right:
            return AttributeComparison(right, FLIPPED[op], left)
    return node
