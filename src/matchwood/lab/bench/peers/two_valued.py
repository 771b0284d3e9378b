"""A rule as `and`, `or` and predicates, so that engines with two truth values say when it is true.

`not` moves down to the predicates, and `xor` and `xnor` are written out. What is left is true if
enough of its predicates, plain or negated, are true; whether the others are false or undefined no
longer matters. So an engine need only be told, for each predicate, that the attribute is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.tree import (
    And,
    Between,
    Call,
    Comparison,
    In,
    IsNull,
    Like,
    Node,
    Not,
    Or,
    Xnor,
    Xor,
    fold,
    walk,
)
from matchwood.rewrite.local_rewrites import node_over
from matchwood.rewrite.negation import opposite

# The nodes of a rule below 'and' and 'or', each perhaps with a `not` before it.
Test: TypeAlias = Comparison | Between | In | Like | IsNull | Call

# What values an attribute has. An integer where others are fractions is a fraction.
Kind: TypeAlias = Literal["boolean", "integer", "fraction", "string", "strings"]

# When a rule is true, and when it is false.
Sides: TypeAlias = tuple[Node, Node]


def two_valued(tree: Node) -> Node:
    """The rule without `xor` and `xnor`, and with `not` before predicates only.

    >>> from matchwood.language import parse
    >>> two_valued(parse("a = 1 xor not (b < 2 and c in (3, 4))"))
    parse('a = 1 and b < 2 and c in (3, 4) or a != 1 and (not b < 2 or c not in (3, 4))')
    """
    return fold(tree, _sides)[0]


def _sides(node: Node, operands: Sequence[Sides]) -> Sides:
    if isinstance(node, Not):
        return operands[0][1], operands[0][0]
    if isinstance(node, And):
        return _all(*(true for true, _ in operands)), _any(*(false for _, false in operands))
    if isinstance(node, Or):
        return _any(*(true for true, _ in operands)), _all(*(false for _, false in operands))
    if isinstance(node, Xor | Xnor):
        true, false = operands[0]
        for other_true, other_false in operands[1:]:
            differ = _any(_all(true, other_false), _all(false, other_true))
            agree = _any(_all(true, other_true), _all(false, other_false))
            true, false = (differ, agree) if isinstance(node, Xor) else (agree, differ)
        return true, false
    if not isinstance(node, Test):
        raise Untranslatable(f"a {type(node).__name__}")
    return node, opposite(node)


def _all(*operands: Node) -> Node:
    return node_over(And, _flat(And, operands))


def _any(*operands: Node) -> Node:
    return node_over(Or, _flat(Or, operands))


def _flat(kind: type[Node], operands: Iterable[Node]) -> list[Node]:
    flat: list[Node] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, kind) else [operand]
    return flat


def split(leaf: Node) -> tuple[Test, bool]:
    """The test of a leaf of a two-valued rule, in its positive form, and whether it is negated."""
    negated = isinstance(leaf, Not)
    test = leaf.operands[0] if negated else leaf
    assert isinstance(test, Test)
    if (isinstance(test, Comparison) and test.op == "!=") or getattr(test, "negated", False):
        return split_positive(test), not negated
    return test, negated


def split_positive(test: Test) -> Test:
    positive = opposite(test)
    assert isinstance(positive, Test)
    return positive


def attribute_of(test: Test) -> str:
    """The attribute of a test; a call of more or fewer than one is not translated."""
    if isinstance(test, Call):
        if len(test.attributes) != 1:
            raise Untranslatable(f"a call of {test.name!r} with several attributes")
        return test.attributes[0]
    return test.attribute


def kinds_of(events: Iterable[Mapping[str, object]], trees: Iterable[Node]) -> dict[str, Kind]:
    """The kind of each attribute, from its values, or else from what rules compare it with.

    >>> from matchwood.language import parse
    >>> kinds_of([{"a": 1, "b": ["x"]}, {"a": 0.5}], [parse("c = 'y' and a = 1")])
    {'a': 'fraction', 'b': 'strings', 'c': 'string'}
    """
    kinds: dict[str, Kind] = {}
    for event in events:
        for name, value in event.items():
            _add(kinds, name, value)
    seen = set(kinds)
    for tree in trees:
        for node in walk(tree):
            if isinstance(node, Comparison | Between | In | Like) and node.attribute not in seen:
                _add(kinds, node.attribute, _example(node))
            elif isinstance(node, Call):
                for name in set(node.attributes) - seen:
                    kinds.setdefault(name, "string")
    return kinds


def _add(kinds: dict[str, Kind], name: str, value: object) -> None:
    kind = _kind(name, value)
    known = kinds.setdefault(name, kind)
    if known != kind:
        if {known, kind} != {"integer", "fraction"}:
            raise Untranslatable(f"{name} is a {known} and a {kind}")
        kinds[name] = "fraction"


def _kind(name: str, value: object) -> Kind:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float() | Decimal():
            return "fraction"
        case str():
            return "string"
        case list():
            return "strings"
    raise Untranslatable(f"{name} has a value of type {type(value).__name__}")


def _example(node: Comparison | Between | In | Like) -> object:
    match node:
        case Comparison(value=value):
            return value
        case Between(low=low):
            return low
        case In(values=values):
            return values[0]
    return ""
