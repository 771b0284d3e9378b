"""Rules in Python: `(attr("age") >= 18) & attr("tier").isin("gold", "platinum")`."""

from __future__ import annotations

from typing import Any

from matchwood.language.errors import RuleError
from matchwood.language.tree import (
    EVERYTHING,
    IT,
    AtLeast,
    Between,
    Call,
    Comparison,
    Derived,
    Elements,
    Everything,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Node,
    compared,
    node_of,
)
from matchwood.language.tree.arithmetic import Attribute, Side, Sum, Variable, join
from matchwood.language.tree.subjects import lowered
from matchwood.language.values import literal


def attr(name: str) -> Attr:
    """An attribute, to build predicates with; `attr("*")` is all values of an event.

    >>> rule = (attr("age") >= 18) & attr("tier").isin("gold", "platinum") & ~attr("blocked")
    >>> print(rule)
    age >= 18 and tier in ('gold', 'platinum') and not blocked
    """
    return Attr(EVERYTHING if name == EVERYTHING.word and not isinstance(name, Derived) else name)


def at_least(count: int, *rules: object) -> AtLeast:
    """True of an event of which at least so many of the rules are true.

    >>> print(at_least(2, attr("a") > 1, attr("b"), attr("c").is_null()))
    at_least(2, a > 1, b, c is null)
    """
    return AtLeast(count, [node_of(rule) for rule in rules])


def var(name: str) -> Var:
    """A variable that a call binds.

    >>> print(call("mob", attr("image"), var("people")) & (var("people") > 50))
    mob(image, ?people) and ?people > 50
    """
    return Var(Variable(name))


def call(name: str, *arguments: object) -> Call:
    """A call of an operator with attributes, variables and literals as arguments.

    >>> print(call("within_km", attr("place"), 41.9, 12.5, 10))
    within_km(place, 41.9, 12.5, 10)
    """
    return Call(name, [_side(argument) for argument in arguments])


def _side(value: object) -> Any:
    """The operand in a tree for an object of this module; anything else is a literal."""
    if isinstance(value, Attr):
        return Attribute(value.name)
    return value.side if isinstance(value, Var) else value


class _Comparable:
    """Comparison operators build a predicate; a literal may be on either side."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _compare(self, op: str, other: object) -> Node:
        raise AssertionError(type(self))

    def __eq__(self, other: object) -> Node:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Node:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Node:
        return self._compare("<", other)

    def __le__(self, other: object) -> Node:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Node:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Node:
        return self._compare(">=", other)


class _Summable:
    """Arithmetic operators build a sum of attributes, variables and numbers."""

    __slots__ = ()

    def __add__(self, other: object) -> Var:
        return Var(join(_term(self), "+", _term(other)))

    def __radd__(self, other: object) -> Var:
        return Var(join(_term(other), "+", _term(self)))

    def __sub__(self, other: object) -> Var:
        return Var(join(_term(self), "-", _term(other)))

    def __rsub__(self, other: object) -> Var:
        return Var(join(_term(other), "-", _term(self)))

    def __mul__(self, other: object) -> Var:
        return Var(join(_term(self), "*", _term(other)))

    def __rmul__(self, other: object) -> Var:
        return Var(join(_term(other), "*", _term(self)))

    def __truediv__(self, other: object) -> Var:
        return Var(join(_term(self), "/", _term(other)))

    def __rtruediv__(self, other: object) -> Var:
        return Var(join(_term(other), "/", _term(self)))


class Attr(_Comparable, _Summable):
    """An attribute: compare it, or combine it as it is (`attr("vip") & …` is `vip = true`).

    >>> age, city = attr("age"), attr("city")
    >>> print((age < 18) | age.between(65, 70) | age.is_null() | city.not_in("Rome", "Oslo"))
    age < 18 or age between 65 and 70 or age is null or city not in ('Rome', 'Oslo')
    >>> print(city.like("R%") & city.rlike("o$") & city.startswith("R") & ~attr("vip"))
    city like 'R%' and city rlike 'o$' and startswith(city, 'R') and not vip
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def _compare(self, op: str, other: object) -> Node:
        return compared(Attribute(self.name), op, _side(other))

    def eq(self, other: object) -> Node:
        return self._compare("=", other)

    def ne(self, other: object) -> Node:
        return self._compare("!=", other)

    def between(self, low: object, high: object) -> Node:
        return Between(self.name, low, high)

    def not_between(self, low: object, high: object) -> Node:
        return Between(self.name, low, high, True)

    def isin(self, *values: object) -> Node:
        return In(self.name, values)

    def not_in(self, *values: object) -> Node:
        return In(self.name, values, True)

    def like(self, pattern: str) -> Node:
        return Like(self.name, "like", pattern)

    def not_like(self, pattern: str) -> Node:
        return Like(self.name, "like", pattern, True)

    def ilike(self, pattern: str) -> Node:
        return Like(self.name, "ilike", pattern)

    def not_ilike(self, pattern: str) -> Node:
        return Like(self.name, "ilike", pattern, True)

    def rlike(self, pattern: str) -> Node:
        return Like(self.name, "rlike", pattern)

    def not_rlike(self, pattern: str) -> Node:
        return Like(self.name, "rlike", pattern, True)

    def like_any(self, *patterns: str) -> Node:
        return LikeMany(self.name, "like", "any", patterns)

    def like_all(self, *patterns: str) -> Node:
        return LikeMany(self.name, "like", "all", patterns)

    def ilike_any(self, *patterns: str) -> Node:
        return LikeMany(self.name, "ilike", "any", patterns)

    def ilike_all(self, *patterns: str) -> Node:
        return LikeMany(self.name, "ilike", "all", patterns)

    def rlike_any(self, *patterns: str) -> Node:
        return LikeMany(self.name, "rlike", "any", patterns)

    def rlike_all(self, *patterns: str) -> Node:
        return LikeMany(self.name, "rlike", "all", patterns)

    def in_list(self, name: str) -> Node:
        return InList(self.name, name)

    def not_in_list(self, name: str) -> Node:
        return InList(self.name, name, True)

    def any(self, rule: object) -> Node:
        """Whether the rule is true of some element of the list."""
        return Elements("any", self.name, node_of(rule))

    def every(self, rule: object) -> Node:
        """Whether the rule is true of every element of the list."""
        return Elements("every", self.name, node_of(rule))

    def lower(self) -> Attr:
        """The value in lower case."""
        if isinstance(self.name, Everything):
            raise RuleError("'lower' takes an attribute, found '*'")
        return Attr(lowered(self.name))

    def is_null(self) -> Node:
        return IsNull(self.name)

    def is_not_null(self) -> Node:
        return IsNull(self.name, True)

    def startswith(self, prefix: str) -> Node:
        return call("startswith", self, prefix)

    def endswith(self, suffix: str) -> Node:
        return call("endswith", self, suffix)

    def contains(self, part: object) -> Node:
        return call("contains", self, part)

    def isa(self, kind: str) -> Node:
        return call("isa", self, kind)

    def in_network(self, network: str) -> Node:
        return call("in_network", self, network)

    def as_rule(self) -> Node:
        """The attribute as a predicate of its own: `vip = true`."""
        if isinstance(self.name, Everything):
            raise RuleError("expected a predicate of '*', found '*' alone")
        return Comparison(self.name, "=", True)

    def is_true(self) -> Node:
        return self.as_rule().is_true()

    def is_not_true(self) -> Node:
        return self.as_rule().is_not_true()

    def is_false(self) -> Node:
        return self.as_rule().is_false()

    def is_not_false(self) -> Node:
        return self.as_rule().is_not_false()

    def is_unknown(self) -> Node:
        return self.as_rule().is_unknown()

    def is_not_unknown(self) -> Node:
        return self.as_rule().is_not_unknown()

    def __and__(self, other: object) -> Node:
        return self.as_rule() & other

    def __or__(self, other: object) -> Node:
        return self.as_rule() | other

    def __xor__(self, other: object) -> Node:
        return self.as_rule() ^ other

    def __invert__(self) -> Node:
        return ~self.as_rule()

    def __bool__(self) -> bool:
        return bool(self.as_rule())

    def __repr__(self) -> str:
        return f"attr({self.name!r})"


class Var(_Comparable, _Summable):
    """A variable, or a sum of variables, attributes and numbers.

    >>> print(var("boats") > 2 * var("guards") + 1)
    ?boats > 2 * ?guards + 1
    """

    __slots__ = ("side",)

    def __init__(self, side: Variable | Sum) -> None:
        self.side = side

    def _compare(self, op: str, other: object) -> Node:
        return compared(self.side, op, _side(other))

    def __bool__(self) -> bool:
        raise TypeError("a variable has no truth of its own: compare it")

    def __repr__(self) -> str:
        return f"var({self.side!r})"


def _term(value: object) -> Side:
    """A term of a sum for an object of this module, or for a number."""
    return _side(value) if isinstance(value, Attr | Var) else literal(value)


# The element itself, inside `any` and `every`.
it = Attr(IT)
