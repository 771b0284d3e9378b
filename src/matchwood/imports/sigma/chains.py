"""`and` and `or` of predicates, in which predicates of one attribute become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matchwood.language import Node
from matchwood.language.tree import And, Comparison, In, IsNull, Like, LikeMany, Or, TruthTest
from matchwood.language.values import Literal


def either(nodes: Sequence[Node]) -> Node:
    """True if one of the nodes is; patterns and values of one attribute become one list.

    >>> from matchwood.language import attr
    >>> print(either([attr("a").ilike("%x"), attr("a").ilike("y%"), attr("b").eq(1)]))
    a ilike any ('%x', 'y%') or b = 1
    """
    return _chain(Or, "any", nodes)


def every(nodes: Sequence[Node]) -> Node:
    """True if all nodes are; patterns of one attribute become one list."""
    return _chain(And, "all", nodes)


def otherwise(node: Node) -> Node:
    """True unless the node is: Sigma's `not` has two values, also where a field is missing."""
    if isinstance(node, IsNull):
        return IsNull(node.attribute, not node.negated)
    if isinstance(node, TruthTest):
        return TruthTest(node.operands[0], node.truth, not node.negated)
    return node.is_not_true()


def _chain(kind: type[And] | type[Or], which: str, nodes: Sequence[Node]) -> Node:
    """A chain in which each group of predicates stands where its first one stood."""
    groups: dict[object, list[Node]] = {}
    for node in _flat(kind, nodes):
        groups.setdefault(_group(node, which), []).append(node)
    parts = [_one(group, which) for group in groups.values()]
    return parts[0] if len(parts) == 1 else kind(parts)


def _flat(kind: type[And] | type[Or], nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if type(node) is kind:
            yield from node.operands
        else:
            yield node


def _group(node: Node, which: str) -> object:
    """What nodes have in common that become one; the node itself if it stays as it is."""
    match node:
        case Like(negated=False):
            return ("patterns", node.attribute, node.kind)
        case LikeMany() if node.which == which:
            return ("patterns", node.attribute, node.kind)
        case Comparison(op="=") | In(negated=False) if which == "any":
            return ("values", node.attribute)
    return node


def _one(group: list[Node], which: str) -> Node:
    """The node for all nodes of a group, of which those that differ are of one kind."""
    first = group[0]
    if all(node == first for node in group):
        return first
    if isinstance(first, Like | LikeMany):
        patterns = dict.fromkeys(pattern for node in group for pattern in _patterns(node))
        return LikeMany(first.attribute, first.kind, which, tuple(patterns))
    assert isinstance(first, Comparison | In)
    values = {(type(value), value): value for node in group for value in _values(node)}
    return In(first.attribute, tuple(values.values()))


def _patterns(node: Node) -> tuple[str, ...]:
    if isinstance(node, LikeMany):
        return node.patterns
    assert isinstance(node, Like)
    return (node.pattern,)


def _values(node: Node) -> tuple[Literal, ...]:
    if isinstance(node, In):
        return node.values
    assert isinstance(node, Comparison)
    return (node.value,)
