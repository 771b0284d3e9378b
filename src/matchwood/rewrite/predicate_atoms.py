"""Atoms: what predicates are made of when their meanings are compared.

`a in (1, 2)` is true if one of the atoms `a = 1` and `a = 2` is, and `a not in (1, 2)` if both are
false. Every other predicate is one atom, or the negation of one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from matchwood.language.text.printing import attribute_text, literal_text, predicate_text
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
from matchwood.language.tree.arithmetic import Variable
from matchwood.language.values import Literal
from matchwood.rewrite.negation import NEGATED_OP, opposite
from matchwood.rewrite.parity import is_negative


class PredicateAtoms(NamedTuple):
    """One of `texts` is true; with `negated`, all of them are false."""

    texts: tuple[str, ...]
    negated: bool
    binds: bool  # it has a variable, so one binding may make it true and another false


@lru_cache(maxsize=1 << 16)
def atoms_of(predicate: Node) -> PredicateAtoms:
    """The atoms of a node without operands."""
    match predicate:
        case Comparison(attribute=name, op="=" | "!=" as op, value=value):
            return PredicateAtoms((_equality(name, value),), op == "!=", False)
        case Comparison():
            return PredicateAtoms((predicate_text(predicate),), False, False)
        case In(attribute=name, values=values, negated=negated) if predicate.family is not None:
            texts = tuple(_equality(name, value) for value in dict.fromkeys(values))
            return PredicateAtoms(texts, negated, False)
        case Between(attribute=name, low=low, high=high, negated=negated) if low == high:
            return PredicateAtoms((_equality(name, low),), negated, False)
        case AttributeComparison():
            return _relation(predicate)
    negated = is_negative(predicate)
    positive = opposite(predicate) if negated else predicate
    return PredicateAtoms((predicate_text(positive),), negated, binds_variable(positive))


def _equality(name: str, value: Literal) -> str:
    return f"{_name(name)} = {literal_text(value)}"


_name = lru_cache(maxsize=1 << 12)(attribute_text)


def _relation(predicate: AttributeComparison) -> PredicateAtoms:
    left, op, right = predicate.left, predicate.op, predicate.right
    if left > right:
        left, op, right = right, FLIPPED[op], left
    negated = is_negative(predicate)
    if negated:
        op = NEGATED_OP[op]
    return PredicateAtoms((f"{attribute_text(left)} {op} {attribute_text(right)}",), negated, False)


def binds_variable(predicate: Node) -> bool:
    """Whether a variable stands in a predicate."""
    if isinstance(predicate, Call):
        return any(isinstance(argument, Variable) for argument in predicate.arguments)
    return isinstance(predicate, VariableComparison)
