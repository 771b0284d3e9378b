"""The tree of a rule: immutable nodes that compare by what they say.

    Constant   true, false
    And, Or, Xor, Xnor   two operands or more; Xor and Xnor fold from left to right
    Not        one operand
    Comparison, Between, In, Like, IsNull   a predicate over one attribute
    AttributeComparison   two attributes
    Call       a built-in or registered operator
    VariableComparison    what calls bind, constrained

Every check of a node's parts is in its constructor, so that text, JSON and Python build the same
trees and are refused alike. Nothing here or elsewhere recurses over a tree: `fold` walks it with
a stack of its own, so depth is bounded by the limits of the language and not by Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar, cast

from matchwood.language.arithmetic import Attribute, Side, Sum, Variable, has_variable
from matchwood.language.calls import check_call
from matchwood.language.errors import RuleError
from matchwood.language.strings import like_pieces, regular_expression
from matchwood.language.values import Family, Literal, family_of, is_text, literal, same_family

MAX_NODES = 200_000
MAX_LEVELS = 200

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

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


class Predicate(Node):
    """A statement about one attribute; `negated` where it is the exact negation of another."""

    __slots__ = ("attribute",)
    attribute: str

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute,)

    def _parts(self) -> tuple[object, ...]:
        raise AssertionError(type(self))

    def _key(self) -> tuple[object, ...]:
        return (self.attribute, *self._parts())


class Comparison(Predicate):
    """`age >= 18`"""

    __slots__ = ("op", "value")
    op: str
    value: Literal

    def __init__(self, attribute: str, op: str, value: object) -> None:
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "op", _comparison(op))
        _set(self, "value", literal(value))

    @property
    def family(self) -> Family:
        return family_of(self.value)

    @property
    def negated(self) -> bool:
        return self.op == "!="

    def _parts(self) -> tuple[object, ...]:
        return (self.op, self.family, self.value)


class Between(Predicate):
    """`age between 13 and 19`"""

    __slots__ = ("high", "low", "negated")
    low: Literal
    high: Literal
    negated: bool

    def __init__(self, attribute: str, low: object, high: object, negated: bool = False) -> None:
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "low", literal(low))
        _set(self, "high", literal(high))
        _set(self, "negated", negated)
        same_family((self.low, self.high), "between")

    @property
    def family(self) -> Family:
        return family_of(self.low)

    def _parts(self) -> tuple[object, ...]:
        return (self.negated, self.family, self.low, self.high)


class In(Predicate):
    """`tier in ('gold', 'platinum')`"""

    __slots__ = ("negated", "values")
    values: tuple[Literal, ...]
    negated: bool

    def __init__(self, attribute: str, values: Sequence[object], negated: bool = False) -> None:
        if len(values) == 0:
            raise RuleError("'in' takes one literal or more, found none")
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "values", tuple(literal(value) for value in values))
        _set(self, "negated", negated)
        same_family(self.values, "in")

    @property
    def family(self) -> Family:
        return family_of(self.values[0])

    def _parts(self) -> tuple[object, ...]:
        return (self.negated, self.family, self.values)


class Like(Predicate):
    """`path like '/static/%'`; `kind` is like, ilike or rlike."""

    __slots__ = ("kind", "negated", "pattern")
    kind: str
    pattern: str
    negated: bool

    def __init__(self, attribute: str, kind: str, pattern: object, negated: bool = False) -> None:
        text = literal(pattern)
        if not isinstance(text, str):
            raise RuleError(f"the pattern of '{kind}' is a string, found a {family_of(text)}")
        if kind == "rlike":
            regular_expression(text)
        else:
            like_pieces(text)
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "kind", kind)
        _set(self, "pattern", text)
        _set(self, "negated", negated)

    @property
    def family(self) -> Family:
        return Family.STRING

    def _parts(self) -> tuple[object, ...]:
        return (self.negated, self.kind, self.pattern)


class IsNull(Predicate):
    """`age is null`"""

    __slots__ = ("negated",)
    negated: bool

    def __init__(self, attribute: str, negated: bool = False) -> None:
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "negated", negated)

    def _parts(self) -> tuple[object, ...]:
        return (self.negated,)


class AttributeComparison(Node):
    """`price < budget`"""

    __slots__ = ("left", "op", "right")
    left: str
    op: str
    right: str

    def __init__(self, left: str, op: str, right: str) -> None:
        _set(self, "left", attribute_name(left))
        _set(self, "op", _comparison(op))
        _set(self, "right", attribute_name(right))

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.left, self.right)

    def _key(self) -> tuple[object, ...]:
        return (self.left, self.op, self.right)


Argument = Attribute | Variable | Literal


class Call(Node):
    """`within(location, 'Bronx')`"""

    __slots__ = ("arguments", "name")
    name: str
    arguments: tuple[Argument, ...]

    def __init__(self, name: str, arguments: Sequence[Any]) -> None:
        kept = tuple(a if isinstance(a, Attribute | Variable) else literal(a) for a in arguments)
        check_call(name, kept)
        _set(self, "name", name)
        _set(self, "arguments", kept)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.arguments if isinstance(a, Attribute))

    def _key(self) -> tuple[object, ...]:
        return (self.name, tuple((type(a), a) for a in self.arguments))


class VariableComparison(Node):
    """`?y > 2 * ?z`: at least one side is a variable, or a sum with one in it."""

    __slots__ = ("left", "op", "right")
    left: Side
    op: str
    right: Side

    def __init__(self, left: Any, op: str, right: Any) -> None:
        sides = [
            s if isinstance(s, Attribute | Variable | Sum) else literal(s) for s in (left, right)
        ]
        if not any(map(has_variable, sides)):
            raise RuleError("a sum stands only where variables are compared")
        if not isinstance(sides[0], Attribute | Variable | Sum):
            sides.reverse()
            op = FLIPPED[_comparison(op)]
        _set(self, "left", sides[0])
        _set(self, "op", _comparison(op))
        _set(self, "right", sides[1])

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(s.name for s in (self.left, self.right) if isinstance(s, Attribute))

    def _key(self) -> tuple[object, ...]:
        return (type(self.left), self.left, self.op, type(self.right), self.right)


def attribute_name(name: object) -> str:
    if not isinstance(name, str):
        raise RuleError(f"an attribute is a string, found {type(name).__name__}")
    if not is_text(name):
        raise RuleError("an attribute is not valid Unicode: it holds half of a surrogate pair")
    return name


def _comparison(op: str) -> str:
    op = {"==": "=", "<>": "!="}.get(op, op)
    if op not in COMPARISONS:
        raise RuleError(f"a comparison is one of {' '.join(COMPARISONS)}, found {op!r}")
    return op
