"""Functions of Spark that are conditions, or choices between values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from matchwood.imports.connectives import FALSE, TRUE, all_of, negated, tested
from matchwood.imports.imported import Inexpressible
from matchwood.imports.sql.spark_predicates import SparkPredicates
from matchwood.imports.sql.spark_syntax import SparkExpression
from matchwood.imports.sql.spark_values import (
    Operand,
    Scope,
    SparkColumn,
    SparkLiteral,
    SparkOperands,
)
from matchwood.language.tree import IT, Call, Comparison, Elements, In, Node
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.values import Family


class ConditionRewriting(Protocol):
    """What functions need of the rewriting of the condition in which they stand."""

    operands: SparkOperands
    predicates: SparkPredicates

    def refuse(self, place: int, reason: str) -> Inexpressible: ...

    def node(self, e: SparkExpression, sign: int, scope: Scope) -> Node: ...

    def null_test(self, e: SparkExpression, scope: Scope) -> Node: ...

    def over(self, e: SparkExpression, scope: Scope, test: Callable[[Operand], Node]) -> Node: ...


Function = Callable[[ConditionRewriting, SparkExpression, int, Scope], Node]


def _arguments(
    rewriting: ConditionRewriting, e: SparkExpression, count: int
) -> Sequence[SparkExpression]:
    if len(e.operands) != count:
        raise rewriting.refuse(e.place, f"{e.value} takes {count} arguments here")
    return e.operands


# Strings


def _part(rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope) -> Node:
    """startswith, endswith and contains of strings."""
    subject, part = _arguments(rewriting, e, 2)

    def test(first: Operand, second: Operand) -> Node:
        for side in (first, second):
            if isinstance(side, SparkLiteral) and side.value is None:
                return rewriting.predicates.unknown(sign, side.place)
        if _is_string(first) and _is_string(second):
            return TRUE if _PARTS[e.value](first.value, second.value) else FALSE  # type: ignore[union-attr]
        if not isinstance(first, SparkColumn):
            raise rewriting.refuse(e.place, f"{e.value} of what is no column")
        rewriting.operands.expect(first, Family.STRING)
        if isinstance(second, SparkLiteral) and isinstance(second.value, str):
            return Call(e.value, (Attribute(first.subject), second.value))
        if isinstance(second, SparkColumn) and e.value == "contains":
            rewriting.operands.expect(second, Family.STRING)
            return Call(e.value, (Attribute(first.subject), Attribute(second.subject)))
        raise rewriting.refuse(second.place, f"the second argument of {e.value} is no literal")

    return rewriting.over(
        subject,
        scope,
        lambda first: rewriting.over(part, scope, lambda second: test(first, second)),
    )


def _is_string(operand: Operand) -> bool:
    return isinstance(operand, SparkLiteral) and isinstance(operand.value, str)


_PARTS: dict[str, Callable[[Any, Any], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}


def _pattern(rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope) -> Node:
    """like(a, 'x%') and its likes, which are operators too."""
    kind = e.value if e.value in ("like", "ilike") else "rlike"
    if kind == "rlike" or len(e.operands) != 3:
        _arguments(rewriting, e, 2)
    return rewriting.node(SparkExpression("like", e.place, e.operands, (kind, "")), sign, scope)


# Nulls


def _isnull(rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope) -> Node:
    return rewriting.null_test(_arguments(rewriting, e, 1)[0], scope)


def _isnotnull(rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope) -> Node:
    return negated(_isnull(rewriting, e, sign, scope))


def _equal_null(rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope) -> Node:
    sides = tuple(_arguments(rewriting, e, 2))
    return rewriting.node(SparkExpression("compare", e.place, sides, "<=>"), sign, scope)


# Lists


def _list(
    rewriting: ConditionRewriting, e: SparkExpression, scope: Scope, undefined_alike: bool
) -> SparkColumn:
    """A column that holds a list; `undefined_alike` if null elements of its path do not matter."""
    column = rewriting.operands.operand(e, scope)
    if not isinstance(column, SparkColumn):
        raise rewriting.refuse(e.place, "expected a column that holds a list")
    kind = column.type
    if kind is not None and kind.name != "array":
        raise rewriting.refuse(
            e.place, f"{column.known_as} has the type {kind.name}, and is no list"
        )
    through_lists = column.in_lists or (column.in_lists is None and not undefined_alike)
    if through_lists and not undefined_alike:
        raise rewriting.refuse(
            e.place, f"{column.known_as} may lead through lists with nulls: give the columns"
        )
    return column


def _element(column: SparkColumn) -> Scope:
    element = column.type.element if column.type is not None else None
    return Scope(element, "", f"{column.known_as}[]")


def _array_contains(
    rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope
) -> Node:
    subject, value = _arguments(rewriting, e, 2)
    column = _list(rewriting, subject, scope, sign > 0)
    wanted = rewriting.operands.operand(value, scope)
    if not isinstance(wanted, SparkLiteral):
        raise rewriting.refuse(value.place, "array_contains of what is no literal")
    if wanted.value is None:
        return rewriting.predicates.unknown(sign, wanted.place)
    literal = rewriting.operands.literal_beside(_it(column), wanted)
    return Elements("any", column.subject, Comparison(_it(column).subject, "=", literal))


def _arrays_overlap(
    rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope
) -> Node:
    subject, values = _arguments(rewriting, e, 2)
    if values.kind != "call" or values.value != "array" or not values.operands:
        raise rewriting.refuse(values.place, "arrays_overlap of what is no array(…) of literals")
    column, literals = _list(rewriting, subject, scope, sign > 0), []
    for each in values.operands:
        wanted = rewriting.operands.operand(each, scope)
        if not isinstance(wanted, SparkLiteral) or wanted.value is None:
            raise rewriting.refuse(each.place, "arrays_overlap of what is no literal")
        literals.append(rewriting.operands.literal_beside(_it(column), wanted))
    return Elements("any", column.subject, In(_it(column).subject, literals))


def _it(column: SparkColumn) -> SparkColumn:
    scope = _element(column)
    return SparkColumn(IT, column.place, scope.path, scope.columns)


def _elements(rewriting: ConditionRewriting, e: SparkExpression, sign: int, scope: Scope) -> Node:
    """exists and forall, with a function of the elements."""
    subject, function = _arguments(rewriting, e, 2)
    if function.kind != "lambda":
        raise rewriting.refuse(e.place, f"{e.value} takes a function of elements, as x -> x > 1")
    column = _list(rewriting, subject, scope, sign > 0 and e.value == "exists")
    element = _element(column)
    inner = Scope(element.columns, function.value, element.path)
    rule = rewriting.node(function.operands[0], sign, inner)
    return Elements("any" if e.value == "exists" else "every", column.subject, rule)


FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(("startswith", "endswith", "contains"), _part),
    **dict.fromkeys(("like", "ilike", "rlike", "regexp", "regexp_like"), _pattern),
    "isnull": _isnull,
    "isnotnull": _isnotnull,
    "equal_null": _equal_null,
    "array_contains": _array_contains,
    "arrays_overlap": _arrays_overlap,
    "exists": _elements,
    "forall": _elements,
}


# Choices


@dataclass(frozen=True)
class Choice:
    """A value that an expression stands for where the guard is true; a guard is never undefined."""

    guard: Node
    expression: SparkExpression


# Functions that choose between values, and which of their arguments these are.
CHOICES: dict[str, Callable[[tuple[SparkExpression, ...]], tuple[SparkExpression, ...]]] = {
    **dict.fromkeys(("coalesce", "ifnull", "nvl"), lambda arguments: arguments),
    "if": lambda arguments: arguments[1:],
    "nvl2": lambda arguments: arguments[1:],
    "nullif": lambda arguments: arguments[:1],
}


def choices_of(rewriting: ConditionRewriting, e: SparkExpression, scope: Scope) -> list[Choice]:
    """The values between which `case`, `if`, `coalesce` and the like choose."""
    null = SparkExpression("literal", e.place, (), None)
    if e.kind == "case":
        conditions, results = e.operands[:-1:2], e.operands[1:-1:2]
        return _first_true(rewriting, conditions, (*results, e.operands[-1]), scope)
    if e.value in ("coalesce", "ifnull", "nvl"):
        if not e.operands:
            raise rewriting.refuse(e.place, f"{e.value} takes one argument or more")
        tests = [SparkExpression("isnull", each.place, (each,)) for each in e.operands[:-1]]
        known = [SparkExpression("not", each.place, (each,)) for each in tests]
        return _first_true(rewriting, known, e.operands, scope)
    if e.value == "nullif":
        first, second = _arguments(rewriting, e, 2)
        same = SparkExpression("compare", e.place, (first, second), "=")
        return _first_true(rewriting, (same,), (null, first), scope)
    condition, first, second = _arguments(rewriting, e, 3)
    if e.value == "nvl2":
        test = SparkExpression("isnull", e.place, (condition,))
        return _first_true(rewriting, (test,), (second, first), scope)
    return _first_true(rewriting, (condition,), (first, second), scope)


def _first_true(
    rewriting: ConditionRewriting,
    conditions: Sequence[SparkExpression],
    results: Sequence[SparkExpression],
    scope: Scope,
) -> list[Choice]:
    """The result of the first condition that is true, or the last one if none is."""
    found: list[Choice] = []
    before: Node = TRUE
    for condition, result in zip(conditions, results, strict=False):
        test = tested(rewriting.node(condition, 1, scope), "true")
        found.append(Choice(all_of((before, test)), result))
        before = all_of((before, negated(test)))
    return [*found, Choice(before, results[-1])]
