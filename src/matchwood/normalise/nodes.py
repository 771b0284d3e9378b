"""What the rewrites share: how a node is rebuilt, and the order in which operands stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

from matchwood.language.errors import RuleError
from matchwood.language.printing import to_text
from matchwood.language.tree import And, Node, Not, Or, Xnor, Xor, fold

Rewrite: TypeAlias = Callable[[Node], Node]
Key: TypeAlias = tuple[int, str, bytes]
Inner: TypeAlias = type[And] | type[Or] | type[Xor] | type[Xnor]


class Order:
    """Where a node stands among its siblings: predicates first, by their text.

    Equal keys are equal nodes. The key of a node with operands is made of theirs (its first
    predicate, then a digest), so that sorting a deep tree stays linear; it does not depend on the
    process, as `hash` would. One lasts as long as the rewriting of one tree.
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
        digest = blake2b(type(node).__name__.encode(), digest_size=16)
        for rank, text, inner in below:
            digest.update(b"%d" % rank + (inner or text.encode()) + b"\0")
        key = (1, below[0][1], digest.digest())
        self._keys[id(node)] = (node, key)
        return key


@lru_cache(maxsize=1 << 16)
def predicate_key(node: Node) -> Key:
    return (0, to_text(node), b"")


LocalRewrite: TypeAlias = Callable[[Node, Order], Node]


def at_each_node(*rewrites: LocalRewrite) -> Rewrite:
    """One rewrite of a tree, made of rewrites of a node whose operands are done.

    They run in turn until none changes the node; a rewrite that changes nothing gives back the
    same object.
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
    """The node over other operands, itself where they are the same."""
    if all(a is b for a, b in zip(node.operands, operands, strict=True)):
        return node
    if isinstance(node, Not):
        return negated_predicate(operands[0])
    return joined(type(node), operands)  # type: ignore[arg-type]


def joined(kind: Inner, operands: Sequence[Node]) -> Node:
    """A node over its operands, or the only one.

    The limits of the language hold for what people write. A rewrite of a rule just within them
    may have a `not` before every predicate, or a level more, and is built all the same.
    """
    if len(operands) == 1:
        return operands[0]
    try:
        return kind(operands)
    except RuleError:
        levels = 1 + max(operand.levels for operand in operands)
        return _unlimited(kind, operands, levels)


def negated_predicate(predicate: Node) -> Node:
    """`not` before a predicate, whatever the limits say."""
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
