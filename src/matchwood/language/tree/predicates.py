"""The leaves of a tree: predicates over one or two attributes, calls, and constraints on variables.

Constructors check the parts of a predicate, so that rules from text, JSON and Python are the same
trees and are refused for the same reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matchwood.language.errors import RuleError
from matchwood.language.strings import like_pieces, program_size
from matchwood.language.tree.arithmetic import (
    Attribute,
    Side,
    Sum,
    Variable,
    attributes_of,
    has_variable,
)
from matchwood.language.tree.calls import check_call
from matchwood.language.tree.nodes import Node
from matchwood.language.tree.subjects import Derived, Everything, Lowered
from matchwood.language.values import Family, Literal, family_of, is_text, literal, same_family

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
# The comparison that says the same with its sides exchanged.
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

# The words for patterns.
PATTERNS = ("like", "ilike", "rlike")

_set = object.__setattr__


class Predicate(Node):
    """A statement about one attribute; `negated` if it is the exact negation of another."""

    __slots__ = ("attribute",)
    attribute: str

    @property
    def subjects(self) -> tuple[str, ...]:
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
    def tested_bare(self) -> bool:
        return self.is_bare

    @property
    def is_bare(self) -> bool:
        """Whether the attribute alone is the text of it: `vip` is `vip = true`, `*` is no rule."""
        return self.op == "=" and self.value is True and not isinstance(self.attribute, Everything)

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
    """`tier in ('gold', 'platinum')`; the literals may be of several families."""

    __slots__ = ("family", "negated", "values")
    values: tuple[Literal, ...]
    family: Family | None  # None if the literals are of several
    negated: bool

    def __init__(self, attribute: str, values: Sequence[object], negated: bool = False) -> None:
        if len(values) == 0:
            raise RuleError("'in' takes one literal or more, found none")
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "values", tuple(literal(value) for value in values))
        _set(self, "negated", negated)
        first = family_of(self.values[0])
        mixed = any(family_of(value) is not first for value in self.values)
        _set(self, "family", None if mixed else first)

    def by_family(self) -> dict[Family, tuple[Literal, ...]]:
        """The literals of each family, in the order of its first literal."""
        families: dict[Family, list[Literal]] = {}
        for value in self.values:
            families.setdefault(family_of(value), []).append(value)
        return {family: tuple(values) for family, values in families.items()}

    def _parts(self) -> tuple[object, ...]:
        families = self.family or tuple(map(family_of, self.values))
        return (self.negated, families, self.values)


class InList(Predicate):
    """`ip in list 'tor'`: a value is one of those in a list that is kept beside the rules."""

    __slots__ = ("name", "negated")
    name: str
    negated: bool

    def __init__(self, attribute: str, name: object, negated: bool = False) -> None:
        text = literal(name)
        if not isinstance(text, str):
            raise RuleError(f"the name of a list is a string, found a {family_of(text)}")
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "name", text)
        _set(self, "negated", negated)

    def _parts(self) -> tuple[object, ...]:
        return (self.negated, self.name)


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
            program_size(text)
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


class LikeMany(Predicate):
    """`path like any ('%.exe', '%.dll')`; `which` is any or all, `kind` is like, ilike or rlike."""

    __slots__ = ("kind", "patterns", "which")
    kind: str
    which: str
    patterns: tuple[str, ...]

    def __init__(self, attribute: str, kind: str, which: str, patterns: Sequence[object]) -> None:
        if which not in ("any", "all"):
            raise RuleError(f"'{kind}' is followed by any or all, found {which!r}")
        if len(patterns) == 0:
            raise RuleError(f"'{kind} {which}' takes one pattern or more, found none")
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "kind", kind)
        _set(self, "which", which)
        _set(self, "patterns", tuple(like.pattern for like in self.each(patterns)))

    def each(self, patterns: Sequence[object] | None = None) -> list[Like]:
        """The predicates of which it is the `or`, or the `and`."""
        chosen = self.patterns if patterns is None else patterns
        return [Like(self.attribute, self.kind, pattern) for pattern in chosen]

    @property
    def family(self) -> Family:
        return Family.STRING

    def _parts(self) -> tuple[object, ...]:
        return (self.kind, self.which, self.patterns)


class IsNull(Predicate):
    """`age is null`"""

    __slots__ = ("negated",)
    negated: bool

    def __init__(self, attribute: str, negated: bool = False) -> None:
        if isinstance(attribute, Everything):
            raise RuleError("'*' is never null: nulls are not among the values of an event")
        base = attribute.base if isinstance(attribute, Lowered) else attribute
        _set(self, "attribute", attribute_name(base))
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
        if isinstance(left, Everything) or isinstance(right, Everything):
            raise RuleError("'*' is compared with a literal, not with an attribute")
        _set(self, "left", attribute_name(left))
        _set(self, "op", _comparison(op))
        _set(self, "right", attribute_name(right))

    @property
    def subjects(self) -> tuple[str, ...]:
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
    def tested_bare(self) -> bool:
        return True

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.arguments if isinstance(a, Attribute))

    def _key(self) -> tuple[object, ...]:
        return (self.name, tuple((type(a), a) for a in self.arguments))


class VariableComparison(Node):
    """`?y > 2 * ?z + a`: at least one side is a variable, or a sum with one in it."""

    __slots__ = ("left", "op", "right")
    left: Side
    op: str
    right: Side

    def __init__(self, left: Any, op: str, right: Any) -> None:
        sides = [
            s if isinstance(s, Attribute | Variable | Sum) else literal(s) for s in (left, right)
        ]
        if not any(map(has_variable, sides)):
            raise RuleError("a comparison with variables has a variable on one of its sides")
        if not isinstance(sides[0], Attribute | Variable | Sum):
            sides.reverse()
            op = FLIPPED[_comparison(op)]
        _set(self, "left", sides[0])
        _set(self, "op", _comparison(op))
        _set(self, "right", sides[1])

    @property
    def subjects(self) -> tuple[str, ...]:
        return (*attributes_of(self.left), *attributes_of(self.right))

    def _key(self) -> tuple[object, ...]:
        return (type(self.left), self.left, self.op, type(self.right), self.right)


class SumComparison(Node):
    """`amount > 3 * average`: at least one side is a sum, and no variable is in it."""

    __slots__ = ("left", "op", "right")
    left: Side
    op: str
    right: Side

    def __init__(self, left: Any, op: str, right: Any) -> None:
        sides = [s if isinstance(s, Attribute | Sum) else literal(s) for s in (left, right)]
        if not any(isinstance(s, Sum) for s in sides) or any(map(has_variable, sides)):
            raise RuleError("a comparison of sums has a sum, and no variable, on one of its sides")
        if not isinstance(sides[0], Attribute | Sum):
            sides.reverse()
            op = FLIPPED[_comparison(op)]
        for side in sides:
            if isinstance(side, Attribute) and isinstance(side.name, Everything | Lowered):
                raise RuleError(
                    f"a sum is compared with a number or an attribute, found {side.name}"
                )
            if not isinstance(side, Attribute | Sum) and family_of(side) is not Family.NUMBER:
                raise RuleError(f"a sum is compared with a number, found a {family_of(side)}")
        _set(self, "left", sides[0])
        _set(self, "op", _comparison(op))
        _set(self, "right", sides[1])

    @property
    def subjects(self) -> tuple[str, ...]:
        return (*attributes_of(self.left), *attributes_of(self.right))

    def _key(self) -> tuple[object, ...]:
        return (type(self.left), self.left, self.op, type(self.right), self.right)


def attribute_name(name: object) -> str:
    if isinstance(name, Derived):
        return name
    if not isinstance(name, str):
        raise RuleError(f"an attribute is a string, found {type(name).__name__}")
    if not is_text(name):
        raise RuleError("an attribute is not valid Unicode: it holds half of a surrogate pair")
    return name


def compared(left: Any, op: str, right: Any) -> Node:
    """The comparison of two sides, of whatever kinds they are; two literals are not compared."""
    sides = (left, right)
    if any(map(has_variable, sides)):
        return VariableComparison(left, op, right)
    if any(isinstance(side, Sum) for side in sides):
        return SumComparison(left, op, right)
    if isinstance(left, Attribute):
        if isinstance(right, Attribute):
            return AttributeComparison(left.name, op, right.name)
        return Comparison(left.name, op, right)
    return Comparison(right.name, FLIPPED[_comparison(op)], left)


def _comparison(op: str) -> str:
    if op in COMPARISONS:
        return op
    op = {"==": "=", "<>": "!="}.get(op, op)
    if op not in COMPARISONS:
        raise RuleError(f"a comparison is one of {' '.join(COMPARISONS)}, found {op!r}")
    return op
