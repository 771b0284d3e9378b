"""What stands beside a comparison or in a call: attributes, variables, and sums of variables.

A sum is kept in postfix order, flat: `?y + 2 * ?z` is (?y, 2, ?z, '*', '+').
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from matchwood.language.errors import RuleError
from matchwood.language.values import Literal

MAX_TERMS = 1_000
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2}


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute where a literal could stand."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """`?name`: what a call binds."""

    name: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise RuleError(f"the name of a variable is letters, digits and _, found {self.name!r}")


Term = int | Decimal | Variable | str  # a str is one of + - * /


@dataclass(frozen=True, slots=True)
class Sum:
    """Numbers and variables joined by + - * /, in postfix order."""

    postfix: tuple[Term, ...]

    def __post_init__(self) -> None:
        if len(self.postfix) > 2 * MAX_TERMS:
            raise RuleError(f"a sum has at most {MAX_TERMS:,} terms")
        if not any(isinstance(term, Variable) for term in self.postfix):
            raise RuleError("a sum stands only where variables are compared")


Side = Attribute | Variable | Sum | Literal


def join(left: Side, op: str, right: Side) -> Sum:
    """`left op right` as a sum; both are numbers, variables or sums."""
    return Sum((*_postfix(left), *_postfix(right), op))


def _postfix(side: Side) -> tuple[Term, ...]:
    if isinstance(side, Sum):
        return side.postfix
    if isinstance(side, Variable) or (
        isinstance(side, int | Decimal) and not isinstance(side, bool)
    ):
        return (side,)
    raise RuleError("a sum is made of numbers and variables")


def tree_of(postfix: tuple[Term, ...]) -> object:
    """A sum as nested (op, left, right); bounded by MAX_TERMS."""
    stack: list[object] = []
    for term in postfix:
        if isinstance(term, str):
            right, left = stack.pop(), stack.pop()
            stack.append((term, left, right))
        else:
            stack.append(term)
    return stack[0]
