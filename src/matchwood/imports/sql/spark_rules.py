"""A condition of Spark as a rule that is true of the same events.

Only where a condition is true matters, so a part that is never known, such as `a = null`, is false
where no `not` is around it, and true under one. `sign` says which: 1 without, -1 with, and 0 where
the difference is asked for, as in `(…) is unknown`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matchwood.imports.connectives import FALSE, TRUE, all_of, any_of, negated, tested
from matchwood.imports.imported import Inexpressible
from matchwood.imports.sql.spark_columns import ColumnType, read_columns
from matchwood.imports.sql.spark_functions import CHOICES, FUNCTIONS, Choice, choices_of
from matchwood.imports.sql.spark_predicates import SparkPredicates
from matchwood.imports.sql.spark_syntax import SparkExpression, parse_condition
from matchwood.imports.sql.spark_values import (
    Knowledge,
    Operand,
    Scope,
    SparkColumn,
    SparkLiteral,
    SparkOperands,
)
from matchwood.language import RuleError
from matchwood.language.tree import Comparison, In, Node, Xnor, Xor
from matchwood.language.values import Family

# Kinds of expressions that are conditions.
CONDITIONS = ("and", "or", "not", "compare", "between", "in", "like", "is", "isnull")

# Choices between values, as of `case`, that one comparison may stand for.
MAX_CHOICES = 16


class SparkConditions:
    """The conditions of tables, which tell of the same columns."""

    def __init__(self, columns: str | Path | None = None) -> None:
        self.columns: ColumnType | None = None if columns is None else read_columns(columns)
        self.knowledge = Knowledge()

    def rewritten(self, text: str) -> str:
        """The text of the rule; an Inexpressible if a part of the condition cannot be said.

        >>> conditions = SparkConditions("vip boolean, city string")
        >>> conditions.rewritten('!vip AND coalesce(city, "") != "Rome"')
        "not vip and (city != 'Rome' or city is null)"
        """
        knowledge = self.knowledge.copy()
        try:
            rewriting = Rewriting(text, knowledge)
            rule = str(rewriting.node(parse_condition(text), 1, Scope(self.columns)))
        except RuleError as error:
            raise Inexpressible(str(error).splitlines()[0]) from None
        except RecursionError:  # a chain of hundreds of operators
            raise Inexpressible("the condition nests too deep") from None
        self.knowledge = knowledge  # a condition that is not imported tells nothing
        return rule


class Rewriting:
    """The rewriting of one condition."""

    def __init__(self, text: str, knowledge: Knowledge) -> None:
        self.operands = SparkOperands(text, knowledge)
        self.predicates = SparkPredicates(self.operands)

    def refuse(self, place: int, reason: str) -> Inexpressible:
        return self.operands.refuse(place, reason)

    def node(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        """The rule that says a condition."""
        if e.kind in _KINDS:
            return _KINDS[e.kind](self, e, sign, scope)
        if e.kind == "call" and e.value in FUNCTIONS:
            return FUNCTIONS[e.value](self, e, sign, scope)
        if _is_choice(e):
            parts = [
                all_of((choice.guard, self.node(choice.expression, sign, scope)))
                for choice in self.choices(e, scope)
            ]
            return any_of(parts)
        if e.kind == "cast" and e.value == "boolean" and self.is_condition(e.operands[0]):
            return self.node(e.operands[0], sign, scope)
        operand = self.operands.operand(e, scope)
        if isinstance(operand, SparkColumn):
            self.operands.expect(operand, Family.BOOLEAN)
            return Comparison(operand.subject, "=", True)
        if isinstance(operand, SparkLiteral) and operand.value is None:
            return self.predicates.unknown(sign, e.place)
        if isinstance(operand, SparkLiteral) and isinstance(operand.value, bool):
            return TRUE if operand.value else FALSE
        raise self.refuse(e.place, "a value stands where a condition is expected")

    def is_condition(self, e: SparkExpression) -> bool:
        """Whether an expression is a condition, rather than a value that is compared."""
        if e.kind in CONDITIONS:
            return True
        if e.kind == "case":
            results = (*e.operands[1:-1:2], e.operands[-1])
            return any(map(self.is_condition, results))
        if e.kind == "call" and e.value in CHOICES:
            return any(map(self.is_condition, CHOICES[e.value](e.operands)))
        return e.kind == "call" and e.value in FUNCTIONS

    # Choices between values

    def choices(self, e: SparkExpression, scope: Scope) -> list[Choice]:
        """What an expression may stand for, and when: of the guards, one is always true."""
        if not _is_choice(e):
            return [Choice(TRUE, e)]
        found = []
        for choice in choices_of(self, e, scope):
            for inner in self.choices(choice.expression, scope):
                found.append(Choice(all_of((choice.guard, inner.guard)), inner.expression))
        if len(found) > MAX_CHOICES:
            raise self.refuse(e.place, f"a choice between over {MAX_CHOICES} values")
        return found

    def over(self, e: SparkExpression, scope: Scope, test: Callable[[Operand], Node]) -> Node:
        """The test of whichever value an expression stands for."""
        found = [
            (choice.guard, test(self.operands.operand(choice.expression, scope)))
            for choice in self.choices(e, scope)
        ]
        if all(node == TRUE for _, node in found):
            return TRUE
        if len(found) == 2 and TRUE in (found[0][1], found[1][1]):
            # (g and x) or not g is x or not g
            found = [(TRUE if node != TRUE else guard, node) for guard, node in found]
        return any_of(all_of((guard, node)) for guard, node in found)

    def null_test(self, e: SparkExpression, scope: Scope) -> Node:
        if self.is_condition(e):
            return tested(self.node(e, 0, scope), "unknown")
        return self.over(e, scope, self.predicates.is_null)

    # Kinds of conditions

    def conjunction(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        return all_of([self.node(each, sign, scope) for each in e.operands])

    def disjunction(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        return any_of([self.node(each, sign, scope) for each in e.operands])

    def negation(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        return negated(self.node(e.operands[0], -sign, scope))

    def truth_test(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        asked = {"true": 1, "false": -1, "unknown": 0}[e.value]
        return tested(self.node(e.operands[0], asked, scope), e.value)

    def isnull(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        return self.null_test(e.operands[0], scope)

    def comparison(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        left, right = e.operands
        if self.is_condition(left) or self.is_condition(right):
            return self.equivalence(e, sign, scope)
        return self.over(
            left,
            scope,
            lambda first: self.over(
                right, scope, lambda second: self.predicates.compare(e.value, first, second, sign)
            ),
        )

    def equivalence(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        """Two conditions that are compared, or one with true, false or null."""
        left, right = e.operands
        if left.kind == "literal":
            left, right = right, left
        if right.kind == "literal" and isinstance(right.value, bool | None):
            return self.compared_with(e, left, right.value, sign, scope)
        if e.value not in ("=", "!=", "<=>"):
            raise self.refuse(e.place, f"conditions are compared with {e.value}")
        sides = [self.node(side, 0, scope) for side in (left, right)]
        if e.value == "!=":
            return Xor(sides)
        same = Xnor(sides)
        if e.value == "=":
            return same
        return any_of((tested(same, "true"), all_of(tested(side, "unknown") for side in sides)))

    def compared_with(
        self, e: SparkExpression, side: SparkExpression, value: bool | None, sign: int, scope: Scope
    ) -> Node:
        if e.value == "<=>":
            truth = {True: "true", False: "false", None: "unknown"}[value]
            return self.truth_test(SparkExpression("is", e.place, (side,), truth), sign, scope)
        if value is None:
            return self.predicates.unknown(sign, e.place)
        if e.value not in ("=", "!="):
            raise self.refuse(e.place, f"a condition is compared with {e.value}")
        if value == (e.value == "="):
            return self.node(side, sign, scope)
        return negated(self.node(side, -sign, scope))

    def between(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        subject, low, high = e.operands
        if not any(map(_is_choice, e.operands)) and not any(map(self.is_condition, e.operands)):
            operands = [self.operands.operand(each, scope) for each in e.operands]
            found = self.predicates.between(*operands)
            if found is not None:
                return found
        return all_of(
            self.comparison(SparkExpression("compare", e.place, (subject, bound), op), sign, scope)
            for op, bound in ((">=", low), ("<=", high))
        )

    def membership(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        subject, *values = e.operands
        if not values or self.is_condition(subject):
            raise self.refuse(e.place, "in takes a value and a list of values")
        simple = [each for each in values if each.kind == "literal" and each.value is not None]
        return self.over(
            subject, scope, lambda operand: self.member(operand, values, simple, sign, scope)
        )

    def member(
        self,
        operand: Operand,
        values: list[SparkExpression],
        simple: list[SparkExpression],
        sign: int,
        scope: Scope,
    ) -> Node:
        found: list[Node] = []
        if isinstance(operand, SparkColumn) and simple:
            literals = [
                self.operands.literal_beside(operand, SparkLiteral(each.value, each.place))
                for each in simple
            ]
            if len(literals) == 1:
                found.append(Comparison(operand.subject, "=", literals[0]))
            else:
                found.append(In(operand.subject, literals))
            values = [each for each in values if each not in simple]
        found.extend(
            self.over(each, scope, lambda value: self.predicates.compare("=", operand, value, sign))
            for each in values
        )
        return any_of(found)

    def pattern(self, e: SparkExpression, sign: int, scope: Scope) -> Node:
        subject, *patterns = e.operands
        kind, quantifier = e.value
        escape = self.operands.operand(patterns.pop(), scope) if _has_escape(e) else None
        texts = [self.operands.operand(each, scope) for each in patterns]
        return self.over(
            subject,
            scope,
            lambda operand: self.predicates.like(operand, kind, quantifier, texts, escape, sign),
        )


def _is_choice(e: SparkExpression) -> bool:
    return e.kind == "case" or (e.kind == "call" and e.value in CHOICES)


def _has_escape(e: SparkExpression) -> bool:
    return e.value[1] == "" and len(e.operands) == 3


_KINDS: dict[str, Callable[[Rewriting, SparkExpression, int, Scope], Node]] = {
    "and": Rewriting.conjunction,
    "or": Rewriting.disjunction,
    "not": Rewriting.negation,
    "is": Rewriting.truth_test,
    "isnull": Rewriting.isnull,
    "compare": Rewriting.comparison,
    "between": Rewriting.between,
    "in": Rewriting.membership,
    "like": Rewriting.pattern,
}
