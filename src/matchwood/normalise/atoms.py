"""Atoms: what a predicate is made of, where meanings are compared.

`a in (1, 2)` holds when either of the atoms `a = 1` and `a = 2` does, `a not in (1, 2)` when both
are false; every other predicate is one atom, or the negation of one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from matchwood.language.arithmetic import Variable
from matchwood.language.printing import attribute_text, literal_text, predicate_text
from matchwood.language.tree import (
    FLIPPED,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    In,
    Node,
    VariableComparison,
)
from matchwood.language.values import Literal
from matchwood.normalise.negation import NEGATED_OP, opposite
from matchwood.normalise.parity import is_negative


class Atoms(NamedTuple):
    """One of `texts` is true; with `negated`, all of them are false."""

    texts: tuple[str, ...]
    negated: bool
    binds: bool  # a variable is in it: one binding may make it true and another false


@lru_cache(maxsize=1 << 16)
def atoms_of(predicate: Node) -> Atoms:
    """The atoms of a node without operands."""
    match predicate:
        case Comparison(attribute=name, op="=" | "!=" as op, value=value):
            return Atoms((_equality(name, value),), op == "!=", False)
        case Comparison():
            return Atoms((predicate_text(predicate),), False, False)
        case In(attribute=name, values=values, negated=negated):
            texts = tuple(_equality(name, value) for value in dict.fromkeys(values))
            return Atoms(texts, negated, False)
        case Between(attribute=name, low=low, high=high, negated=negated) if low == high:
            return Atoms((_equality(name, low),), negated, False)
        case AttributeComparison():
            return _relation(predicate)
    negated = is_negative(predicate)
    positive = opposite(predicate) if negated else predicate
    return Atoms((predicate_text(positive),), negated, has_variable(positive))


def _equality(name: str, value: Literal) -> str:
    return f"{_name(name)} = {literal_text(value)}"


_name = lru_cache(maxsize=1 << 12)(attribute_text)


def _relation(predicate: AttributeComparison) -> Atoms:
    left, op, right = predicate.left, predicate.op, predicate.right
    if left > right:
        left, op, right = right, FLIPPED[op], left
    negated = is_negative(predicate)
    if negated:
        op = NEGATED_OP[op]
    return Atoms((f"{attribute_text(left)} {op} {attribute_text(right)}",), negated, False)


def has_variable(predicate: Node) -> bool:
    if isinstance(predicate, Call):
        return any(isinstance(argument, Variable) for argument in predicate.arguments)
    return isinstance(predicate, VariableComparison)
