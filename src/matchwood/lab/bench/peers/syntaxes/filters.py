"""Our rules as conditions of SQL for DuckDB, and as expressions of Polars.

Both have the three truth values of SQL, and a filter keeps the rows of which it is true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from matchwood.lab.bench.peers.syntaxes.text_patterns import Pieces, member
from matchwood.lab.bench.peers.two_valued import Kind, Test, attribute_of, split
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.tree import And, Between, Call, Comparison, In, Like, Node, Not, Or, fold

# Python's operators for our comparisons.
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def sql_condition(tree: Node, kinds: Mapping[str, Kind]) -> str:
    """A two-valued rule for the WHERE clause of DuckDB.

    >>> from matchwood.language import parse
    >>> sql_condition(parse("s like 'a%' and not contains(tags, 'x')"), {"tags": "strings"})
    '("s" LIKE \\'a%\\' ESCAPE \\'\\\\\\') AND (NOT (list_contains("tags", \\'x\\')))'
    """

    def part(node: Node, operands: Sequence[str]) -> str:
        if isinstance(node, And | Or):
            return f" {node.word.upper()} ".join(f"({operand})" for operand in operands)
        if isinstance(node, Not):
            return f"NOT ({operands[0]})"
        test, negated = split(node)
        text = _sql_test(test, kinds.get(attribute_of(test)))
        return f"NOT ({text})" if negated else text

    return fold(tree, part)


def _sql_test(test: Test, kind: Kind | None) -> str:
    name = '"' + attribute_of(test).replace('"', '""') + '"'
    match test:
        case Comparison(op=op, value=value):
            return f"{name} {op} {_sql_literal(value)}"
        case Between(low=low, high=high):
            return f"{name} BETWEEN {_sql_literal(low)} AND {_sql_literal(high)}"
        case In(values=values):
            return f"{name} IN ({', '.join(map(_sql_literal, values))})"
        case Like(kind=("like" | "ilike") as word, pattern=pattern):
            return rf"{name} {word.upper()} {_sql_literal(pattern)} ESCAPE '\'"
        case Call(name="contains", arguments=(_, str() as text)):
            function = "list_contains" if kind == "strings" else "contains"
            return f"{function}({name}, {_sql_literal(text)})"
        case Call(name="startswith", arguments=(_, str() as text)):
            return f"starts_with({name}, {_sql_literal(text)})"
        case Call(name="endswith", arguments=(_, str() as text)):
            return f"ends_with({name}, {_sql_literal(text)})"
    raise Untranslatable(f"a {type(test).__name__}")


def _sql_literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool | int | Decimal):
        return str(value)
    raise Untranslatable(f"the literal {value!r}")


def polars_expression(tree: Node, kinds: Mapping[str, Kind]) -> Any:
    """A two-valued rule as an expression of Polars."""

    def part(node: Node, operands: Sequence[Any]) -> Any:
        if isinstance(node, And | Or):
            join = operator.and_ if isinstance(node, And) else operator.or_
            joined = operands[0]
            for operand in operands[1:]:
                joined = join(joined, operand)
            return joined
        if isinstance(node, Not):
            return ~operands[0]
        test, negated = split(node)
        expression = _polars_test(test, kinds.get(attribute_of(test)))
        return ~expression if negated else expression

    return fold(tree, part)


def _polars_test(test: Test, kind: Kind | None) -> Any:
    import polars

    column = polars.col(attribute_of(test))
    listed = member(test, kind)
    if listed is not None:
        return column.list.contains(listed)
    pieces = Pieces.of(test, kind)
    if pieces is not None:
        return _polars_text(column, pieces)
    match test:
        case Comparison(op=op, value=value):
            return COMPARE[op](column, _polars_literal(value))
        case Between(low=low, high=high):
            return column.is_between(_polars_literal(low), _polars_literal(high))
        case In(values=values):
            return column.is_in([_polars_literal(value) for value in values])
    raise Untranslatable(f"a {type(test).__name__}")


def _polars_text(column: Any, pieces: Pieces) -> Any:
    match pieces:
        case Pieces((before, ""), False) if before.isascii():
            return column.str.starts_with(before)
        case Pieces(("", after), False) if after.isascii():
            return column.str.ends_with(after)
        case Pieces(("", text, ""), False) if text.isascii():
            return column.str.contains(text, literal=True)
    return column.str.contains(pieces.expression())


def _polars_literal(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
