"""Rules in Python: `(attr("age") >= 18) & attr("tier").isin("gold", "platinum")`."""

from __future__ import annotations

from typing import Any

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
from matchwood.language.tree.arithmetic import Attribute, Side, Sum, Variable, join
from matchwood.language.values import literal


def attr(name: str) -> Attr:
    """An attribute, to build predicates with.

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


class Attr(_Comparable):
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
        """The attribute as a predicate of its own: `vip = true`."""
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
    """A variable, or a sum of variables and numbers.

    >>> print(var("boats") > 2 * var("guards") + 1)
    ?boats > 2 * ?guards + 1
    """

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
    return value.side if isinstance(value, Var) else literal(value)
