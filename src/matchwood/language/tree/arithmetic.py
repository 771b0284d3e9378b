"""Operands of comparisons and calls: attributes, variables, and sums of them.

A sum is a flat sequence in postfix order: `?y + 2 * ?z` is (?y, 2, ?z, '*', '+').
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from matchwood.language.errors import RuleError
from matchwood.language.names import is_name
from matchwood.language.tree.subjects import Everything, Lowered
from matchwood.language.values import Literal

# Terms of a sum. Nested as JSON, this many are still within the depth that JSON readers take.
MAX_TERMS = 200

# How tightly an arithmetic operator binds its operands.
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2}


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute as an operand, in the place of a literal."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """`?name`: a variable that a call binds."""

    name: str

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise RuleError(f"the name of a variable is letters, digits and _, found {self.name!r}")


# A part of a sum; a str is one of + - * /.
Term = int | Decimal | Variable | Attribute | str


@dataclass(frozen=True, slots=True)
class Sum:
    """Numbers, attributes and variables joined by + - * /, in postfix order."""

    postfix: tuple[Term, ...]

    def __post_init__(self) -> None:
        if len(self.postfix) > 2 * MAX_TERMS:
            raise RuleError(f"a sum has at most {MAX_TERMS:,} terms")


def attributes_of(side: object) -> tuple[str, ...]:
    """The attributes that stand on a side of a comparison."""
    if isinstance(side, Sum):
        return tuple(term.name for term in side.postfix if isinstance(term, Attribute))
    return (side.name,) if isinstance(side, Attribute) else ()


def has_variable(side: object) -> bool:
    """Whether a side of a comparison is a variable, or a sum with one in it."""
    if isinstance(side, Sum):
        return any(isinstance(term, Variable) for term in side.postfix)
    return isinstance(side, Variable)


# What stands on one side of a comparison.
Side = Attribute | Variable | Sum | Literal


def join(left: Side, op: str, right: Side) -> Sum:
    """`left op right` as a sum; both are numbers, attributes, variables or sums."""
    return Sum((*_postfix(left), *_postfix(right), op))


def _postfix(side: Side) -> tuple[Term, ...]:
    if isinstance(side, Sum):
        return side.postfix
    if isinstance(side, Attribute):
        return (summand(side),)
    if isinstance(side, Variable) or (
        isinstance(side, int | Decimal) and not isinstance(side, bool)
    ):
        return (side,)
    raise RuleError("a sum is made of numbers, attributes and variables")


def summand(term: Attribute | Variable) -> Attribute | Variable:
    """An attribute or a variable as a term of a sum; a RuleError for `*` and `lower`."""
    if isinstance(term, Attribute) and isinstance(term.name, Everything | Lowered):
        raise RuleError(f"a sum is made of numbers, attributes and variables, found {term.name}")
    return term
