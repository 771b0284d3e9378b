"""Rules in Python: `(attr("age") >= 18) & attr("tier").isin("gold", "platinum")`."""

from __future__ import annotations

from typing import Any

from matchwood.language.arithmetic import Attribute, Side, Sum, Variable, join
from matchwood.language.tree import (
    AttributeComparison,
    Between,
    Call,
    Comparison,
    In,
    IsNull,
    Like,
    Node,
    VariableComparison,
)


def attr(name: str) -> Attr:
    """An attribute to build predicates on.

    >>> rule = (attr("age") >= 18) & attr("tier").isin("gold", "platinum") & ~attr("blocked")
    >>> print(rule)
    age >= 18 and tier in ('gold', 'platinum') and not blocked
    """
    return Attr(name)


def var(name: str) -> Var:
    """A variable that a call binds.

    >>> print(call("mob", attr("image"), var("people")) & (var("people") > 50))
    mob(image, ?people) and ?people > 50
    """
    return Var(Variable(name))


def call(name: str, *arguments: object) -> Call:
    """A call of an operator; arguments are attributes, variables and literals."""
    return Call(name, [_side(argument) for argument in arguments])


def _side(value: object) -> Any:
    """What stands in a tree for a builder object; anything else is a literal."""
    if isinstance(value, Attr):
        return Attribute(value.name)
    return value.side if isinstance(value, Var) else value


class _Comparable:
    """`<`, `==` and the like build a comparison; literals may stand on either side."""

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


class Attr(_Comparable):
    """An attribute: compare it, or combine it as it is (`attr("vip") & …` is `vip = true`)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def _compare(self, op: str, other: object) -> Node:
        if isinstance(other, Attr):
            return AttributeComparison(self.name, op, other.name)
        if isinstance(other, Var):
            return VariableComparison(Attribute(self.name), op, other.side)
        return Comparison(self.name, op, other)

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
        return Comparison(self.name, "=", True)

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


class Var(_Comparable):
    """A variable, or a sum of variables and numbers."""

    __slots__ = ("side",)

    def __init__(self, side: Variable | Sum) -> None:
        self.side = side

    def _compare(self, op: str, other: object) -> Node:
        return VariableComparison(self.side, op, _side(other))

    def __add__(self, other: object) -> Var:
        return Var(join(self.side, "+", _number(other)))

    def __radd__(self, other: object) -> Var:
        return Var(join(_number(other), "+", self.side))

    def __sub__(self, other: object) -> Var:
        return Var(join(self.side, "-", _number(other)))

    def __rsub__(self, other: object) -> Var:
        return Var(join(_number(other), "-", self.side))

    def __mul__(self, other: object) -> Var:
        return Var(join(self.side, "*", _number(other)))

    def __rmul__(self, other: object) -> Var:
        return Var(join(_number(other), "*", self.side))

    def __truediv__(self, other: object) -> Var:
        return Var(join(self.side, "/", _number(other)))

    def __rtruediv__(self, other: object) -> Var:
        return Var(join(_number(other), "/", self.side))

    def __bool__(self) -> bool:
        raise TypeError("a variable has no truth of its own: compare it")

    def __repr__(self) -> str:
        return f"var({self.side!r})"


def _number(value: object) -> Side:
    from matchwood.language.values import literal

    return value.side if isinstance(value, Var) else literal(value)
