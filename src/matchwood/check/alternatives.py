"""Families that a rule asks for beside another one, which the values do have.

`port = 22 or port = '22'` is written for numbers and for strings, so that only one of the branches
is ever defined, and rightly so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from matchwood.language.tree import And, AtLeast, Node, Not, Or, TruthTest, fold
from matchwood.language.values import Family
from matchwood.schema.rule_check import expected_families

Asked = tuple[str, Family]


class _Seen(NamedTuple):
    """What a part of a rule asks for: what fits, and what does not, as it stands or negated."""

    fitting: frozenset[str]  # attributes that are asked for by a family that they have
    plain: frozenset[Asked]
    negated: frozenset[Asked]


def misfits_without_alternative(tree: Node, fits: Callable[[str, Family], bool]) -> Iterator[Asked]:
    """What a rule asks for and does not fit, unless a sibling branch asks for what fits.

    >>> from matchwood.language import parse
    >>> def number(name: str, family: Family) -> bool:
    ...     return family is Family.NUMBER
    >>> [list(misfits_without_alternative(parse(rule), number)) for rule in ("a = 'x' or a = 1",)]
    [[]]
    >>> [name for name, _ in misfits_without_alternative(parse("a = 'x' and a = 1"), number)]
    ['a']
    """

    def seen(node: Node, operands: Sequence[_Seen]) -> _Seen:
        if not operands:
            asked = frozenset(expected_families(node))
            fitting = frozenset(pair for pair in asked if fits(*pair))
            return _Seen(frozenset(name for name, _ in fitting), asked - fitting, asked - fitting)
        fitting_names = frozenset[str]().union(*(one.fitting for one in operands))
        plain = frozenset[Asked]().union(*(one.plain for one in operands))
        negated = frozenset[Asked]().union(*(one.negated for one in operands))
        match node:
            case Not():
                plain, negated = negated, plain
            case And():
                negated = _unexcused([one.negated for one in operands], operands)
            case Or():
                plain = _unexcused([one.plain for one in operands], operands)
            case AtLeast():
                plain = _unexcused([one.plain for one in operands], operands)
                negated = _unexcused([one.negated for one in operands], operands)
            case TruthTest(truth="true"):  # what is undefined is not true, and that is an answer
                negated = plain
            case TruthTest(truth="false"):
                plain = negated
        return _Seen(fitting_names, plain, negated)

    yield from sorted(fold(tree, seen).plain)


def _unexcused(misfits: Sequence[frozenset[Asked]], operands: Sequence[_Seen]) -> frozenset[Asked]:
    """The misfits of alternatives, without those whose attribute fits in another of them."""
    alternatives: dict[str, int] = {}
    for operand in operands:
        for name in operand.fitting:
            alternatives[name] = alternatives.get(name, 0) + 1
    return frozenset(
        (name, family)
        for operand, asked in zip(operands, misfits, strict=True)
        for name, family in asked
        if alternatives.get(name, 0) - (name in operand.fitting) == 0
    )
