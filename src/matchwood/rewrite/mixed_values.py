"""Write `a in (1, 'x')` as predicates of one family each, which the index can look up.

A value is compared with the literals of its own family, so `in` is the `or` of its families where
that is true. Where one family says false, the others are undefined; so what is not true has to be
told from what is undefined, which tests of truth do.
"""

from __future__ import annotations

from matchwood.language.tree import And, AtLeast, In, Node, Not, Or, TruthTest, walk
from matchwood.rewrite.local_rewrites import node_over, with_operands


def expand_mixed_values(tree: Node) -> Node:
    """A rule that is true of the same events, with literals of one family in each `in`.

    >>> from matchwood.language import parse
    >>> print(expand_mixed_values(parse("a in (1, 'x') and b")))
    (a in (1) or a in ('x')) and b
    >>> print(expand_mixed_values(parse("a not in (1, 'x')")).operands[0])
    (a in (1)) is not true
    """
    if not any(_is_mixed(node) for node in walk(tree)):
        return tree
    return _expanded(tree, True)


def _is_mixed(node: Node) -> bool:
    return isinstance(node, In) and node.family is None


def _expanded(node: Node, if_true: bool) -> Node:
    """The same node; if only what is true counts, it may be undefined where the other is false."""
    if isinstance(node, AtLeast):  # it is evaluated as a whole
        return node
    if node.operands:
        counts = if_true and isinstance(node, And | Or)
        return with_operands(node, [_expanded(operand, counts) for operand in node.operands])
    return _of_families(node, if_true) if isinstance(node, In) and node.family is None else node


def _of_families(node: In, if_true: bool) -> Node:
    parts = [In(node.attribute, values) for values in node.by_family().values()]
    if not if_true:
        # It is undefined where all parts are, and then so is the first of them.
        unknown = node_over(And, [*(TruthTest(part, "unknown") for part in parts), parts[0]])
        known = node_over(Or, [*(TruthTest(part, "true") for part in parts), unknown])
        return Not(known) if node.negated else known
    if not node.negated:
        return node_over(Or, parts)
    defined = node_over(Or, [TruthTest(part, "unknown", True) for part in parts])
    return node_over(And, [*(TruthTest(part, "true", True) for part in parts), defined])
