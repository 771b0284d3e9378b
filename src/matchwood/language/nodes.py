"""Nodes in general, and those with operands: immutable, compared by what they say.

Nothing here or elsewhere recurses over a tree: `fold` walks it with a stack of its own, so depth
is bounded by the limits of the language and not by Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NoReturn, TypeVar, cast

from matchwood.language.errors import RuleError

MAX_NODES = 200_000
MAX_LEVELS = 200

T = TypeVar("T")
_set = object.__setattr__


class Node:
    """A rule, or a part of one. Combine with `&`, `|`, `^` and `~`; `str` gives its text."""

    __slots__ = ("_hash",)
    _hash: int
    operands: tuple[Node, ...] = ()
    size = 1  # nodes
    levels = 0  # of parentheses and `not`s in the canonical text
    binding: ClassVar[int] = 5  # how tightly the node's text holds together: or 1 … predicate 5

    def _key(self) -> tuple[object, ...]:
        """What the node says, its operands aside."""
        raise AssertionError(type(self))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = fold(self, lambda node, parts: hash((type(node), node._key(), tuple(parts))))
            _set(self, "_hash", value)
            return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        todo: list[tuple[Node, Node]] = [(self, other)]
        while todo:
            a, b = todo.pop()
            if a is b:
                continue
            if type(a) is not type(b) or len(a.operands) != len(b.operands) or a._key() != b._key():
                return False
            todo.extend(zip(a.operands, b.operands, strict=True))
        return True

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a rule has no truth of its own: combine rules with &, | and ~ (not and, or, not, "
            "nor 1 < a < 3), and ask evaluate(rule, event) for the truth"
        )

    def __and__(self, other: object) -> Node:
        return _chain(And, self, other)

    def __rand__(self, other: object) -> Node:
        return _chain(And, node_of(other), self)

    def __or__(self, other: object) -> Node:
        return _chain(Or, self, other)

    def __ror__(self, other: object) -> Node:
        return _chain(Or, node_of(other), self)

    def __xor__(self, other: object) -> Node:
        return _chain(Xor, self, other)

    def __rxor__(self, other: object) -> Node:
        return _chain(Xor, node_of(other), self)

    def __invert__(self) -> Node:
        return Not(self)

    def __str__(self) -> str:
        from matchwood.language.printing import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        from matchwood.language.text import parse_canonical

        return parse_canonical, (str(self),)

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self


def fold(tree: Node, function: Callable[[Node, Sequence[T]], T]) -> T:
    """`function(node, results of its operands)` for every node, operands first."""
    if not tree.operands:
        return function(tree, ())
    results: list[T] = []
    todo: list[tuple[Node, bool]] = [(tree, False)]
    while todo:
        node, ready = todo.pop()
        if not node.operands:
            results.append(function(node, ()))
        elif ready:
            first = len(results) - len(node.operands)
            results[first:] = [function(node, results[first:])]
        else:
            todo.append((node, True))
            todo.extend((operand, False) for operand in reversed(node.operands))
    return results[0]


def walk(tree: Node) -> Iterator[Node]:
    """Every node, the tree itself first."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(node.operands))


def node_of(value: object) -> Node:
    """A node as it is, True or False as a constant, `attr("vip")` as `vip = true`."""
    if isinstance(value, Node):
        return value
    if isinstance(value, bool):
        return Constant(value)
    if hasattr(value, "as_rule"):
        return cast(Node, value.as_rule())
    raise TypeError(f"a rule is combined with rules, found {type(value).__name__}")


def attributes_in(tree: Node) -> set[str]:
    """The attributes that a rule mentions."""
    return {name for node in walk(tree) for name in getattr(node, "attributes", ())}


class Constant(Node):
    __slots__ = ("value",)
    value: bool

    def __init__(self, value: bool) -> None:
        _set(self, "value", bool(value))

    def _key(self) -> tuple[object, ...]:
        return (self.value,)


class _Operator(Node):
    """A node with operands: keeps its size and levels, within the limits."""

    __slots__ = ("levels", "operands", "size")
    word: ClassVar[str]

    def __init__(self, operands: Sequence[Node]) -> None:
        operands = tuple(operands)
        if len(operands) < 2:
            raise RuleError(f"'{self.word}' takes two operands or more, found {len(operands)}")
        size = 1
        levels = 0
        for operand in operands:
            size += operand.size
            below = operand.levels
            if operand.binding <= self.binding:
                below += 1
            if below > levels:
                levels = below
        if levels and in_parity_chain(self, operands):
            levels = max(operands[0].levels, operands[1].levels)
        _check_limits(size, levels)
        _set(self, "operands", operands)
        _set(self, "size", size)
        _set(self, "levels", levels)

    def _key(self) -> tuple[object, ...]:
        return ()


class Or(_Operator):
    __slots__ = ()
    binding = 1
    word = "or"


class Xor(_Operator):
    __slots__ = ()
    binding = 2
    word = "xor"


class Xnor(_Operator):
    __slots__ = ()
    binding = 2
    word = "xnor"


class And(_Operator):
    __slots__ = ()
    binding = 3
    word = "and"


class Not(Node):
    __slots__ = ("levels", "operands", "size")
    binding = 4

    def __init__(self, operand: Node) -> None:
        levels = operand.levels + 1 + (operand.binding < 4)
        _check_limits(operand.size + 1, levels)
        _set(self, "operands", (operand,))
        _set(self, "size", operand.size + 1)
        _set(self, "levels", levels)

    def _key(self) -> tuple[object, ...]:
        return ()


def parity_chain(operands: Sequence[Node], xnors: int) -> Node:
    """The node of operands with `xor`s between them, of which `xnors` are `xnor`s.

    An `xnor` is an `xor` negated, so in a chain of both only the parity of their number counts.
    A long chain thus stays shallow, whatever the order of its words.
    """
    if xnors == len(operands) - 1 or (xnors % 2 and len(operands) % 2 == 0):
        return Xnor(operands)
    return Xnor((Xor(operands[:-1]), operands[-1])) if xnors % 2 else Xor(operands)


def in_parity_chain(node: Node, operands: tuple[Node, ...]) -> bool:
    """Whether the first operand needs no parentheses: `a xor b xnor c`, as `parity_chain` makes."""
    return (
        type(node) is Xnor
        and len(operands) == 2
        and type(operands[0]) is Xor
        and len(operands[0].operands) % 2 == 0
    )


def _check_limits(size: int, levels: int) -> None:
    if size > MAX_NODES:
        raise RuleError(f"a rule has at most {MAX_NODES:,} nodes")
    if levels > MAX_LEVELS:
        raise RuleError(f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's")


def _chain(kind: type[_Operator], left: Node, right: object) -> Node:
    """`a & b & c` is one node of three; a right operand of the same kind nests."""
    first = left.operands if type(left) is kind else (left,)
    return kind((*first, node_of(right)))
