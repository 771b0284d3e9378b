"""Our rules in the syntax of the PyPI package rule-engine, where it can say the same.

rule-engine has two truth values. A predicate on an attribute that an event may lack is translated
with a guard that makes it false of such an event, outside of its `not` if it has one; a
guarded `and` or `or` cannot be negated. A list is compared as a whole, so that only `contains` of
a list is translated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from matchwood.language.strings import like_pieces
from matchwood.language.tree import (
    And,
    Between,
    Call,
    Comparison,
    Constant,
    In,
    Like,
    Node,
    Not,
    Or,
    Xnor,
    Xor,
    fold,
)
from matchwood.language.wildcards import ANY

# Comparisons that rule-engine writes in another way.
COMPARISONS = {"=": "=="}

# Calls of an attribute and a literal.
CALLS = {
    "contains": "{1} in {0}",
    "startswith": "{0}.starts_with({1})",
    "endswith": "{0}.ends_with({1})",
}


class Untranslatable(ValueError):
    """A rule that the other syntax cannot express."""


class Seen(NamedTuple):
    """What is known of the attributes of events."""

    always: Collection[str]  # present, and not null, in every event
    lists: Collection[str]  # a list in some event

    @classmethod
    def of(cls, events: Sequence[Mapping[str, object]]) -> Seen:
        present = ({name for name, value in event.items() if value is not None} for event in events)
        lists = {name for event in events for name, v in event.items() if isinstance(v, list)}
        return cls(set.intersection(*present) if events else set(), lists)


class Text(NamedTuple):
    """A translated part; what is guarded is false where it should be undefined."""

    text: str
    guarded: bool = False


def translate(tree: Node, seen: Seen) -> str:
    """The text of a rule for rule-engine.

    >>> from matchwood.language import parse
    >>> seen = Seen(always={"tags"}, lists={"tags"})
    >>> translate(parse("age between 13 and 19 and not contains(tags, 'x')"), seen)
    '(age != null and (age >= 13 and age <= 19)) and (not ("x" in tags))'
    """

    def part(node: Node, operands: Sequence[Text]) -> Text:
        if isinstance(node, And | Or):
            return _joined(f" {node.word} ", operands)
        if isinstance(node, Not):
            below = node.operands[0]
            if not below.operands and not isinstance(below, Constant):
                return _predicate(below, seen, negated=True)
            return Text(f"not ({_exact(operands[0])})")
        if isinstance(node, Xor | Xnor) and len(operands) == 2:
            sign = "!=" if isinstance(node, Xor) else "=="
            return Text(f" {sign} ".join(f"({_exact(operand)})" for operand in operands))
        if isinstance(node, Constant):
            return Text(_literal(node.value))
        return _predicate(node, seen)

    return fold(tree, part).text


def _joined(word: str, operands: Iterable[Text]) -> Text:
    parts = list(operands)
    return Text(
        word.join(f"({joined.text})" for joined in parts), any(joined.guarded for joined in parts)
    )


def _exact(translated: Text) -> str:
    if translated.guarded:
        raise Untranslatable("an attribute that may be missing, below a 'not' or an 'xor'")
    return translated.text


def _predicate(node: Node, seen: Seen, negated: bool = False) -> Text:
    if isinstance(node, Call):
        if node.name not in CALLS or len(node.attributes) != 1:
            raise Untranslatable(f"a call of {node.name!r}")
        (attribute,) = node.attributes
        text = CALLS[node.name].format(attribute, _literal(node.arguments[1]))
    elif isinstance(node, Comparison | Between | In | Like):
        attribute = node.attribute
        if attribute in seen.lists:
            raise Untranslatable("a comparison with any value of a list")
        text = _test(node)
        if node.negated and not isinstance(node, Comparison):
            text = f"not ({text})"
    else:
        raise Untranslatable(f"a {type(node).__name__}")
    if negated:
        text = f"not ({text})"
    if attribute not in seen.always:
        return Text(f"{attribute} != null and ({text})", guarded=True)
    return Text(text)


def _test(node: Comparison | Between | In | Like) -> str:
    """The test of a value, without its negation, except that of `!=`."""
    name = node.attribute
    if isinstance(node, Comparison):
        return f"{name} {COMPARISONS.get(node.op, node.op)} {_literal(node.value)}"
    if isinstance(node, Between):
        return f"{name} >= {_literal(node.low)} and {name} <= {_literal(node.high)}"
    if isinstance(node, In):
        return f"{name} in [{', '.join(map(_literal, node.values))}]"
    if node.kind not in ("like", "ilike"):
        raise Untranslatable(f"{node.kind} {node.pattern!r}")
    pieces = like_pieces(node.pattern)
    if node.kind == "like" and len(pieces) == 2 and not any(ANY in piece for piece in pieces):
        before, after = pieces
        if not before:
            return f"{name}.ends_with({_literal(after)})"
        if not after:
            return f"{name}.starts_with({_literal(before)})"
    expression = ".*".join(re.escape(piece).replace(ANY, ".") for piece in pieces)
    flags = "s" if node.kind == "like" else "is"
    return f"{name} =~ {_literal(f'(?{flags}){expression}$')}"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | Decimal):
        return str(value)
    raise Untranslatable(f"a literal of type {type(value).__name__}")
