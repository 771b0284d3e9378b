"""Our rules as Sigma rules, written as JSON, which is YAML too.

Each predicate is a selection with a name, and the condition combines the names. Sigma has two truth
values, so a negated predicate also asks that its field exists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from matchwood.lab.bench.peers.syntaxes.text_patterns import Pieces, member
from matchwood.lab.bench.peers.two_valued import Kind, Test, attribute_of, split
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.tree import (
    And,
    Between,
    Comparison,
    In,
    Like,
    LikeMany,
    Node,
    Or,
    TruthTest,
    fold,
)
from matchwood.language.wildcards import ANY

# Sigma's modifiers of fields for our operators.
MODIFIERS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def sigma_rule(rule_id: int, tree: Node, kinds: Mapping[str, Kind]) -> str:
    """A two-valued rule, whose title is its id.

    >>> from matchwood.language import parse
    >>> rule = json.loads(sigma_rule(7, parse("a > 1 and s not ilike '%x'"), {"s": "string"}))
    >>> rule["detection"]["condition"]
    's0 and (s2 and not s1)'
    >>> rule["detection"]["s2"], rule["detection"]["s1"]
    ({'s|exists': True}, {'s': '*x'})
    """
    detection: dict[str, Any] = {}

    def named(selection: dict[str, Any]) -> str:
        name = f"s{len(detection)}"
        detection[name] = selection
        return name

    def part(node: Node, operands: Sequence[str]) -> str:
        if isinstance(node, And | Or):
            return f" {node.word} ".join(
                f"({operand})" if " " in operand else operand for operand in operands
            )
        test, negated = split(node)
        name = attribute_of(test)
        selected = operands[0] if operands else named(_selection(test, kinds.get(name)))
        return f"{named({f'{name}|exists': True})} and not {selected}" if negated else selected

    condition = fold(tree, part)
    rule = {
        "title": str(rule_id),
        "logsource": {"category": "any"},
        "detection": detection | {"condition": condition},
    }
    return json.dumps(rule, ensure_ascii=False)


def sigma_lists(rule_id: int, tree: Node) -> str:
    """A conjunction of equalities, patterns and lists of these, and of what is not true of such.

    Each is one selection, with its list as Sigma has it.

    >>> from matchwood.language import parse
    >>> rule = parse(r"a = 'x' and p ilike any ('%y', 'z%') and (q ilike '%v%') is not true")
    >>> json.loads(sigma_lists(7, rule))["detection"]["condition"]
    's0 and s1 and not s2'
    >>> json.loads(sigma_lists(7, rule))["detection"]["s1"]
    {'p': ['*y', 'z*']}
    """
    detection: dict[str, Any] = {}
    condition = []
    for number, part in enumerate(tree.operands if isinstance(tree, And) else (tree,)):
        inner, no = part, ""
        if isinstance(part, TruthTest) and part.truth == "true" and part.negated:
            inner, no = part.operands[0], "not "
        detection[f"s{number}"] = _listed(inner)
        condition.append(f"{no}s{number}")
    document = {
        "title": str(rule_id),
        "logsource": {"category": "any"},
        "detection": detection | {"condition": " and ".join(condition)},
    }
    return json.dumps(document, ensure_ascii=False)


def _listed(test: Node) -> dict[str, Any]:
    if isinstance(test, LikeMany) and (test.kind, test.which) == ("ilike", "any"):
        texts = [next(iter(_selection(each, "string").values())) for each in test.each()]
        return {test.attribute: texts}
    if isinstance(test, Comparison | Like):
        return _selection(test, "string")
    raise Untranslatable(f"a {type(test).__name__}")


def _selection(test: Test, kind: Kind | None) -> dict[str, Any]:
    name = attribute_of(test)
    listed = member(test, kind)
    if listed is not None:
        return {f"{name}|cased": _escaped(listed)}
    pieces = Pieces.of(test, kind)
    if pieces is not None:
        text = "*".join(_escaped(piece) for piece in pieces.pieces)
        return {name if pieces.ignore_case else f"{name}|cased": text}
    match test:
        case Comparison(op="=", value=value):
            return _equal(name, [value])
        case Comparison(op=op, value=value):
            return {f"{name}|{MODIFIERS[op]}": _number(value)}
        case Between(low=low, high=high):
            return {f"{name}|gte": _number(low), f"{name}|lte": _number(high)}
        case In(values=values):
            return _equal(name, values)
    raise Untranslatable(f"a {type(test).__name__}")


def _equal(name: str, values: Sequence[object]) -> dict[str, Any]:
    if all(isinstance(value, str) for value in values):
        return {f"{name}|cased": [_escaped(str(value)) for value in values]}
    return {name: [value if isinstance(value, bool) else _number(value) for value in values]}


def _number(value: object) -> int | float:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return int(value) if value == int(value) else float(value)
    raise Untranslatable(f"the literal {value!r}")


def _escaped(text: str) -> str:
    """Text in which a backslash and Sigma's wildcards stand for themselves, and ANY is one."""
    for special in ("\\", "*", "?"):
        text = text.replace(special, f"\\{special}")
    return text.replace(ANY, "?")
