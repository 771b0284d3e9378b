"""Our rules as expressions of the crate a-tree, which knows three truth values, but no patterns.

Its strings have no escapes, and its lists of strings are asked whether they contain one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from matchwood.lab.bench.peers.syntaxes.text_patterns import member
from matchwood.lab.bench.peers.two_valued import Kind, Test, attribute_of, split
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.tree import And, Between, Comparison, In, Node, Not, Or, fold


def a_tree_text(tree: Node, kinds: Mapping[str, Kind]) -> str:
    """The text of a two-valued rule.

    >>> from matchwood.language import parse
    >>> kinds = {"age": "integer", "price": "fraction", "tags": "strings"}
    >>> a_tree_text(parse("age between 1 and 9 and price < 3 and not contains(tags, 'x')"), kinds)
    '(age >= 1 and age <= 9) and (price < 3.0) and (not (tags one of ["x"]))'
    """

    def part(node: Node, operands: Sequence[str]) -> str:
        if isinstance(node, And | Or):
            return f" {node.word} ".join(f"({operand})" for operand in operands)
        if isinstance(node, Not):
            return f"not ({operands[0]})"
        test, negated = split(node)
        text = _test(test, kinds[attribute_of(test)])
        return f"not ({text})" if negated else text

    return fold(tree, part)


def _test(test: Test, kind: Kind) -> str:
    name = attribute_of(test)
    listed = member(test, kind)
    if listed is not None:
        return f"{name} one of [{_literal(listed, 'string')}]"
    match test:
        case Comparison(op="=", value=True) if kind == "boolean":
            return name
        case Comparison(op="=", value=False) if kind == "boolean":
            return f"not ({name})"
        case Comparison(op="=", value=value):
            return f"{name} = {_literal(value, kind)}"
        case Comparison(op=op, value=value) if kind in ("integer", "fraction"):
            return f"{name} {op} {_literal(value, kind)}"
        case Between(low=low, high=high) if kind in ("integer", "fraction"):
            return f"{name} >= {_literal(low, kind)} and {name} <= {_literal(high, kind)}"
        case In(values=values) if kind in ("integer", "string"):
            return f"{name} in [{', '.join(_literal(value, kind) for value in values)}]"
    raise Untranslatable(f"a {type(test).__name__} of a {kind}")


def _literal(value: object, kind: Kind) -> str:
    if isinstance(value, str) and kind == "string":
        if any(character in value for character in "\"'\\"):
            raise Untranslatable(f"quotes or backslashes in the string {value!r}")
        return f'"{value}"'
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        if kind == "integer" and value == int(value):
            return str(int(value))
        if kind == "fraction":
            text = format(Decimal(value), "f")
            return text if "." in text else f"{text}.0"
    raise Untranslatable(f"the literal {value!r} for a {kind}")
