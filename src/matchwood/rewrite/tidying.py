"""One way to write each predicate.

The values of an `in` are sorted and distinct, and a single one is written with `=`;
`between 3 and 3` is `= 3`; in a comparison of two attributes, the first by name is on the left.
A `between` whose low is above its high stays: it is false for every value of its family, and
undefined for other values.
"""

from __future__ import annotations

from functools import lru_cache

from matchwood.language.tree import FLIPPED, AttributeComparison, Between, Comparison, In, Node
from matchwood.language.values import family_of
from matchwood.rewrite.local_rewrites import Order


def tidy_predicate(node: Node, order: Order) -> Node:
    """The predicate, written in the one way that is chosen."""
    if isinstance(node, In | Between | AttributeComparison):
        return tidied(node)
    return node


@lru_cache(maxsize=1 << 14)
def tidied(node: Node) -> Node:
    """`tidy_predicate` for the predicates that can be written in several ways."""
    match node:
        case In(attribute=name, values=values, negated=negated):
            by_family = {(family_of(value), value): value for value in values}
            distinct = tuple(by_family[key] for key in sorted(by_family))
            if len(distinct) == 1:
                return Comparison(name, "!=" if negated else "=", distinct[0])
            return node if distinct == values else In(name, distinct, negated)
        case Between(attribute=name, low=low, high=high, negated=negated) if low == high:
            return Comparison(name, "!=" if negated else "=", low)
        case AttributeComparison(left=left, op=op, right=right) if left > right:
            return AttributeComparison(right, FLIPPED[op], left)
    return node
