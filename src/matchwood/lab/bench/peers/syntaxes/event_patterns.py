"""Our rules as patterns of event-ruler: for each field, what its value may be.

A pattern is a conjunction with one entry per field, so that a rule becomes one pattern or several,
any of which may match. Rules that would need more than `PATTERNS`, or two entries for one field,
are not translated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any, TypeAlias

from matchwood.lab.bench.peers.syntaxes.text_patterns import Pieces, member
from matchwood.lab.bench.peers.two_valued import Kind, Test, attribute_of, split
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.tree import And, Between, Comparison, In, IsNull, Node, Not, fold
from matchwood.language.wildcards import ANY

# The most patterns that a rule may become.
PATTERNS = 64

# The operators that say the opposite of single numbers.
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

# What a field may be, one list per pattern: `is null` needs one for null and one for no field.
Entries: TypeAlias = list[list[Any]]


def event_patterns(tree: Node, kinds: Mapping[str, Kind]) -> list[str]:
    """The patterns of a two-valued rule, as JSON.

    >>> from matchwood.language import parse
    >>> event_patterns(parse("(a.b = 1 or c like 'x%') and d != 'y'"), {})[1]
    '{"c": [{"prefix": "x"}], "d": [{"anything-but": ["y"]}]}'
    """

    def part(node: Node, operands: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
        if not operands or isinstance(node, Not):
            test, negated = split(node)
            name = attribute_of(test)
            return [{name: entry} for entry in _entries(test, negated, kinds.get(name))]
        if not isinstance(node, And):
            return _few([pattern for operand in operands for pattern in operand])
        joined: list[dict[str, Any]] = [{}]
        for operand in operands:
            joined = _few([_conjunction(a, b) for a, b in product(joined, operand)])
        return joined

    return [json.dumps(_nested(pattern), ensure_ascii=False) for pattern in fold(tree, part)]


def _few(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(found) > PATTERNS:
        raise Untranslatable(f"more than {PATTERNS} patterns")
    return found


def _conjunction(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    if left.keys() & right.keys():
        raise Untranslatable(f"two tests of {min(left.keys() & right.keys())}")
    return left | right


def _nested(pattern: Mapping[str, Any]) -> dict[str, Any]:
    """The pattern with an object for each name before a dot."""
    nested: dict[str, Any] = {}
    for path, entry in pattern.items():
        *outer, last = path.split(".")
        level = nested
        for name in outer:
            level = level.setdefault(name, {})
        level[last] = entry
    return nested


def _entries(test: Test, negated: bool, kind: Kind | None) -> Entries:
    """The entries for a test, which may be negated."""
    if kind == "strings" and negated:
        raise Untranslatable("that no element of a list is something")
    match test:
        case IsNull() if not negated:
            return [[None], [{"exists": False}]]
        case Comparison(op="=", value=value):
            return [_any_of_ruler([value], negated)]
        case In(values=values):
            return [_any_of_ruler(values, negated)]
        case Comparison(op=op, value=value):
            return [[{"numeric": [OPPOSITE[op] if negated else op, _number(value)]}]]
        case Between(low=low, high=high) if negated:
            return [[{"numeric": ["<", _number(low)]}, {"numeric": [">", _number(high)]}]]
        case Between(low=low, high=high):
            return [[{"numeric": [">=", _number(low), "<=", _number(high)]}]]
    listed = member(test, kind)
    if listed is not None:
        return [[listed]]
    pieces = Pieces.of(test, kind)
    if pieces is None or any(ANY in piece for piece in pieces.pieces):
        raise Untranslatable(f"a {type(test).__name__}")
    entry = _text_of_ruler(pieces)
    return [[{"anything-but": entry} if negated else entry]]


def _any_of_ruler(values: Sequence[object], negated: bool) -> list[Any]:
    if negated:
        return [{"anything-but": [_number_or_text(value) for value in values]}]
    return [
        value if isinstance(value, str | bool) else {"numeric": ["=", _number(value)]}
        for value in values
    ]


def _text_of_ruler(pieces: Pieces) -> dict[str, Any]:
    match pieces.pieces:
        case (text,):
            name = "equals-ignore-case"
            return {name: text} if pieces.ignore_case else {"wildcard": _escaped(text)}
        case ("", text) if text:
            name = "suffix"
        case (text, "") if text:
            name = "prefix"
        case _ if pieces.ignore_case:
            raise Untranslatable("a pattern that ignores case")
        case _:
            return {"wildcard": _wildcard(pieces)}
    return {name: {"equals-ignore-case": text} if pieces.ignore_case else text}


def _wildcard(pieces: Pieces) -> str:
    texts = [_escaped(piece) for i, piece in enumerate(pieces.pieces) if piece or not i]
    if not pieces.pieces[-1]:
        texts.append("")
    return "*".join(texts)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")


def _number_or_text(value: object) -> int | float | str:
    return value if isinstance(value, str) else _number(value)


def _number(value: object) -> int | float:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return int(value) if value == int(value) else float(value)
    raise Untranslatable(f"the literal {value!r}")
