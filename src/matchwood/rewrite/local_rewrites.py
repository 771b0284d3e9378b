"""Rewrites of one node: how they are applied to a whole tree, and the order of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

from matchwood.language.errors import RuleError
from matchwood.language.text.printing import to_text
from matchwood.language.tree import (
    MAX_LEVELS,
    And,
    AtLeast,
    Constant,
    Node,
    Not,
    Or,
    Xnor,
    Xor,
    fold,
)

Rewrite: TypeAlias = Callable[[Node], Node]
Key: TypeAlias = tuple[int, str, bytes]
OperatorKind: TypeAlias = type[And] | type[Or] | type[Xor] | type[Xnor]


# Nodes of an `at_least` that stays one when it is rewritten; a larger one stays as it was written.
MODEST_NODES = 4_096


class Order:
    """The sort key of a node among its siblings: predicates first, by their text.

    Nodes with equal keys are equal. The key of a node with operands is made of their keys (its
    first predicate, then a digest), so that sorting a deep tree takes linear time. Unlike `hash`,
    it does not depend on the process. An `Order` lasts as long as the rewriting of one tree.
    """

    def __init__(self) -> None:
        self._keys: dict[int, tuple[Node, Key]] = {}  # the node keeps its id from being reused

    def __call__(self, node: Node) -> Key:
        if not node.operands or isinstance(node, Not):
            return predicate_key(node)
        known = self._keys.get(id(node))
        if known is not None:
            return known[1]
        below = [self(operand) for operand in node.operands]  # known already: leaves come first
        digest = blake2b(_kind(node).encode(), digest_size=16)
        for rank, text, inner in below:
            digest.update(b"%d" % rank + (inner or text.encode()) + b"\0")
        key = (1, below[0][1], digest.digest())
        self._keys[id(node)] = (node, key)
        return key


@lru_cache(maxsize=1 << 16)
def predicate_key(node: Node) -> Key:
    return (0, to_text(node), b"")


def _kind(node: Node) -> str:
    """What a node with operands says, apart from its operands."""
    key = node._key()
    return f"{type(node).__name__}{key}" if key else type(node).__name__


LocalRewrite: TypeAlias = Callable[[Node, Order], Node]


def at_each_node(*rewrites: LocalRewrite) -> Rewrite:
    """A rewrite of a tree, made of rewrites of a node whose operands are rewritten already.

    They run in turn until none of them changes the node; a rewrite that changes nothing returns
    the same object.
    """

    def rewrite_tree(tree: Node) -> Node:
        order = Order()

        def settle(node: Node, operands: Sequence[Node]) -> Node:
            node = with_operands(node, operands)
            while True:
                before = node
                for rewrite in rewrites:
                    node = rewrite(node, order)
                if node is before:
                    order(node)
                    return node

        return fold(tree, settle)

    return rewrite_tree


def with_operands(node: Node, operands: Sequence[Node]) -> Node:
    """The node with other operands; the same object if they are the same."""
    if all(a is b for a, b in zip(node.operands, operands, strict=True)):
        return node
    if isinstance(node, Not):
        return negated_predicate(operands[0])
    if isinstance(node, And | Or | Xor | Xnor):
        return node_over(type(node), operands)
    return over(node, operands)


def over(node: Node, operands: Sequence[Node]) -> Node:
    """The node over other operands, regardless of the limits of the language."""
    try:
        return node.over(operands)
    except RuleError:
        made = _unlimited(type(node), operands, 1 + max(operand.levels for operand in operands))
        for name in ("truth", "negated", "count"):
            if hasattr(node, name):
                object.__setattr__(made, name, getattr(node, name))
        return made


def node_over(kind: OperatorKind, operands: Sequence[Node]) -> Node:
    """A node of a kind with these operands; a single operand is returned as it is.

    The limits of the language are for rules that people write. A rule just within the limits may
    exceed them once it is rewritten, with a `not` before each predicate or one more level, and is
    built nevertheless.
    """
    if len(operands) == 1:
        return operands[0]
    try:
        return kind(operands)
    except RuleError:
        levels = 1 + max(operand.levels for operand in operands)
        return _unlimited(kind, operands, levels)


def at_least_over(count: int, operands: Sequence[Node]) -> Node:
    """An `at_least` of that many of these operands, regardless of the limits of the language."""
    return over(AtLeast(count, [Constant(True)] * len(operands)), operands)


def is_modest(threshold: Node) -> bool:
    """Whether an `at_least` that was rewritten is still far within the limits of the language.

    What is evaluated on demand is kept in files as text, and read again within those limits.
    """
    return threshold.size <= MODEST_NODES and threshold.levels <= MAX_LEVELS // 2


def negated_predicate(predicate: Node) -> Node:
    """`not` before a predicate, regardless of the limits of the language."""
    try:
        return Not(predicate)
    except RuleError:
        return _unlimited(Not, (predicate,), predicate.levels + 1)


def _unlimited(kind: type[Node], operands: Sequence[Node], levels: int) -> Node:
    node = object.__new__(kind)
    object.__setattr__(node, "operands", tuple(operands))
    object.__setattr__(node, "size", 1 + sum(operand.size for operand in operands))
    object.__setattr__(node, "levels", levels)
    return node
