"""Write `path like any ('a%', 'b%')` as an `or` of its patterns, and `like all` as an `and`."""

from __future__ import annotations

from collections.abc import Sequence

from matchwood.language.tree import And, LikeMany, Node, Or, fold, walk
from matchwood.rewrite.local_rewrites import node_over, with_operands


def expand_patterns(tree: Node) -> Node:
    """The same rule with one pattern in each predicate.

    >>> from matchwood.language import parse
    >>> expand_patterns(parse("a and p like any ('x%', 'y%')"))
    parse("a and (p like 'x%' or p like 'y%')")
    """
    if not any(isinstance(node, LikeMany) for node in walk(tree)):
        return tree
    return fold(tree, _expanded)


def _expanded(node: Node, operands: Sequence[Node]) -> Node:
    if isinstance(node, LikeMany):
        return node_over(Or if node.which == "any" else And, node.each())
    return with_operands(node, operands) if operands else node
