"""Nodes in general, and nodes with operands: immutable, equal if they say the same.

No code recurses over a tree: `fold` walks it with a stack of its own, so the depth of a rule is
bounded by the limits of the language, not by Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple, NoReturn, TypeVar, cast

from matchwood.language.errors import RuleError
from matchwood.language.tree.subjects import named

# Nodes of one rule.
MAX_NODES = 200_000

# What a test of truth may ask for.
TRUTHS = ("true", "false", "unknown")

# Levels of parentheses and `not`s in the canonical text of a rule.
MAX_LEVELS = 200

T = TypeVar("T")
_set = object.__setattr__


class Node:
    """A rule, or a part of one; `str` gives its text.

    Combine nodes with `&`, `|`, `^` and `~`.

    >>> from matchwood import parse
    >>> print(parse("age >= 18") & ~parse("blocked"))
    age >= 18 and not blocked
    """

    __slots__ = ("_hash",)
    _hash: int
    operands: tuple[Node, ...] = ()
    size = 1  # number of nodes
    levels = 0  # levels of parentheses and `not`s in the canonical text
    binding: ClassVar[int] = (
        5  # how tightly the text of the node binds: from 1, or, to 5, predicate
    )

    @property
    def tested_bare(self) -> bool:
        """Whether `is true` may follow the text of the node without parentheses around it."""
        return False

    @property
    def subjects(self) -> tuple[str, ...]:
        """The attributes that a leaf names, and what stands in their place (see `subjects`)."""
        return ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the event that a leaf reads, as far as they have names."""
        return tuple(name for subject in self.subjects for name in named(subject))

    def _key(self) -> tuple[object, ...]:
        """What the node says, apart from its operands."""
        raise AssertionError(type(self))

    def over(self, operands: Sequence[Node]) -> Node:
        """The same node over other operands, as many as it has."""
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
            "a rule has no truth of its own: combine rules with &, | and ~ (not with and, or, "
            "not, or 1 < a < 3), and call evaluate(rule, event) for the truth"
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

    def is_true(self) -> Node:
        return TruthTest(self, "true")

    def is_not_true(self) -> Node:
        return TruthTest(self, "true", True)

    def is_false(self) -> Node:
        return TruthTest(self, "false")

    def is_not_false(self) -> Node:
        return TruthTest(self, "false", True)

    def is_unknown(self) -> Node:
        return TruthTest(self, "unknown")

    def is_not_unknown(self) -> Node:
        return TruthTest(self, "unknown", True)

    def __str__(self) -> str:
        return _text_form.write(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return _text_form.read, (str(self),)

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self


class TextForm(NamedTuple):
    """How a tree is written as text, and read from it again: for `str` and for pickles."""

    write: Callable[[Node], str]
    read: Callable[[str], Node]


_text_form: TextForm


def use_text_form(form: TextForm) -> None:
    """Tell nodes how they are written and read.

    `matchwood.language` does so when it is imported: the tree is below the text, and does not
    import it.
    """
    global _text_form
    _text_form = form


def fold(tree: Node, function: Callable[[Node, Sequence[T]], T]) -> T:
    """The result of `function(node, results of its operands)`, computed from the leaves up.

    >>> from matchwood import parse
    >>> fold(parse("a and (b or c)"), lambda node, sizes: 1 + sum(sizes))
    5
    """
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
    """Every node of a tree, the root first."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(node.operands))


def node_of(value: object) -> Node:
    """A node for what may be combined with rules.

    A node stays as it is, True and False become constants, and `attr("vip")` becomes `vip`.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, bool):
        return Constant(value)
    if hasattr(value, "as_rule"):
        return cast(Node, value.as_rule())
    raise TypeError(f"a rule is combined with rules, found {type(value).__name__}")


def attributes_in(tree: Node) -> set[str]:
    """The attributes that a rule mentions."""
    return {name for node in walk(tree) for name in node.attributes}


class Constant(Node):
    """`true` or `false`."""

    __slots__ = ("value",)
    value: bool

    def __init__(self, value: bool) -> None:
        _set(self, "value", bool(value))

    def _key(self) -> tuple[object, ...]:
        return (self.value,)


class _Operator(Node):
    """A node with two operands or more, within the limits of the language."""

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
        check_limits(size, levels)
        _set(self, "operands", operands)
        _set(self, "size", size)
        _set(self, "levels", levels)

    def _key(self) -> tuple[object, ...]:
        return ()

    def over(self, operands: Sequence[Node]) -> Node:
        return type(self)(operands)


class Or(_Operator):
    """True if an operand is."""

    __slots__ = ()
    binding = 1
    word = "or"


class Xor(_Operator):
    """True if an odd number of operands is."""

    __slots__ = ()
    binding = 2
    word = "xor"


class Xnor(_Operator):
    """`not (a xor b)`, and from left to right for more operands."""

    __slots__ = ()
    binding = 2
    word = "xnor"


class And(_Operator):
    """True if all operands are."""

    __slots__ = ()
    binding = 3
    word = "and"


class Not(Node):
    """True if its operand is false."""

    __slots__ = ("levels", "operands", "size")
    binding = 4

    def __init__(self, operand: Node) -> None:
        levels = operand.levels + 1 + (operand.binding < 4)
        check_limits(operand.size + 1, levels)
        _set(self, "operands", (operand,))
        _set(self, "size", operand.size + 1)
        _set(self, "levels", levels)

    def _key(self) -> tuple[object, ...]:
        return ()

    def over(self, operands: Sequence[Node]) -> Node:
        return Not(operands[0])


class TruthTest(Node):
    """`(…) is true`, `is not unknown`, …: true or false, and never undefined.

    `truth` is one of `TRUTHS`, and `negated` says that it is `is not`.
    """

    __slots__ = ("levels", "negated", "operands", "size", "truth")
    truth: str
    negated: bool

    def __init__(self, operand: Node, truth: str, negated: bool = False) -> None:
        if truth not in TRUTHS:
            raise RuleError(f"a test of truth asks for true, false or unknown, found {truth!r}")
        levels = operand.levels + (not operand.tested_bare)
        check_limits(operand.size + 1, levels)
        _set(self, "operands", (operand,))
        _set(self, "truth", truth)
        _set(self, "negated", negated)
        _set(self, "size", operand.size + 1)
        _set(self, "levels", levels)

    def _key(self) -> tuple[object, ...]:
        return (self.truth, self.negated)

    def over(self, operands: Sequence[Node]) -> Node:
        return TruthTest(operands[0], self.truth, self.negated)

    @property
    def asks(self) -> str:
        """What stands after `is`: "true", "not unknown", …"""
        return f"not {self.truth}" if self.negated else self.truth


def parity_chain(operands: Sequence[Node], xnors: int) -> Node:
    """The node of a chain of `xor` and `xnor`, of which `xnors` are `xnor`.

    An `xnor` is a negated `xor`, so only the parity of their number matters in a chain of both.
    A long chain therefore stays shallow, whatever the order of its words.
    """
    if xnors == len(operands) - 1 or (xnors % 2 and len(operands) % 2 == 0):
        return Xnor(operands)
    return Xnor((Xor(operands[:-1]), operands[-1])) if xnors % 2 else Xor(operands)


def in_parity_chain(node: Node, operands: tuple[Node, ...]) -> bool:
    """Whether `parity_chain` made the node: `a xor b xnor c` needs no parentheses."""
    return (
        type(node) is Xnor
        and len(operands) == 2
        and type(operands[0]) is Xor
        and len(operands[0].operands) % 2 == 0
    )


def check_limits(size: int, levels: int) -> None:
    """Raise a RuleError for more nodes or levels than a rule may have."""
    if size > MAX_NODES:
        raise RuleError(f"a rule has at most {MAX_NODES:,} nodes")
    if levels > MAX_LEVELS:
        raise RuleError(f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's")


def _chain(kind: type[_Operator], left: Node, right: object) -> Node:
    """The node for `left & right` and the like: `a & b & c` is one node of three operands.

    A right operand of the same kind stays a node of its own.
    """
    first = left.operands if type(left) is kind else (left,)
    return kind((*first, node_of(right)))
