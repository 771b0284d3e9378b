"""Operands of conditions: columns, literals, sums of integers, and where columns are looked up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from matchwood.check.dialects.functions import INSTEAD
from matchwood.imports.imported import Inexpressible
from matchwood.imports.sql.spark_casts import CastError, beside, cast_literal, keeps_values
from matchwood.imports.sql.spark_columns import INTEGERS, ColumnType, read_type
from matchwood.imports.sql.spark_literals import SAFE_DIGITS, refusal
from matchwood.imports.sql.spark_syntax import SparkExpression
from matchwood.language.tree import IT, Lowered
from matchwood.language.tree.arithmetic import Attribute, Sum, join
from matchwood.language.values import Family, Literal, family_of

# Lower-case letters to which Java and simple mappings of code points come in different ways.
ODD_LETTERS = "σςΣİ\u0307"

CASTING = {"date": "date", "to_date": "date", "timestamp": "timestamp", "to_timestamp": "timestamp"}
CASTING |= {name: name for name in ("int", "bigint", "double", "float", "string", "boolean")}


@dataclass(frozen=True)
class SparkColumn:
    """A column, an element, or one of them in lower case."""

    subject: str
    place: int
    known_as: str  # the path of the column, by which the family of its values is remembered
    type: ColumnType | None
    in_lists: bool | None = False  # whether its path leads through lists; None if that is unknown


@dataclass(frozen=True)
class SparkLiteral:
    """A literal; None is null."""

    value: Literal | None
    place: int


@dataclass(frozen=True)
class Total:
    """A sum over columns of integers."""

    sum: Sum
    place: int


Operand = SparkColumn | SparkLiteral | Total


@dataclass(frozen=True)
class Scope:
    """Where names are looked up: among the columns of the event, or in an element of a list."""

    columns: ColumnType | None
    variable: str | None = None  # the name of the element
    path: str = ""  # of the list


@dataclass
class Knowledge:
    """What conditions have told of columns whose types nobody gave."""

    families: dict[str, Family] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Knowledge:
        return Knowledge(dict(self.families), dict(self.spellings))


class SparkOperands:
    """Reads operands of one condition."""

    def __init__(self, text: str, knowledge: Knowledge) -> None:
        self.text = text
        self.knowledge = knowledge

    def refuse(self, place: int, reason: str) -> Inexpressible:
        return refusal(self.text, place, reason)

    def casting(self, place: int, cast: Callable[[], Literal]) -> Literal:
        try:
            return cast()
        except CastError as error:
            raise self.refuse(place, str(error)) from None

    # Columns

    def column(self, expression: SparkExpression, scope: Scope) -> SparkColumn:
        parts = expression.value
        if scope.variable is not None:
            if parts[0].lower() != scope.variable.lower():
                raise self.refuse(
                    expression.place,
                    f"{'.'.join(parts)} is no part of the element {scope.variable}, and rules "
                    "about elements know nothing else",
                )
            start = SparkColumn(IT, expression.place, scope.path, scope.columns)
            return self.fields(start, parts[1:])
        start = SparkColumn("", expression.place, "", scope.columns)
        return self.fields(start, parts)

    def fields(self, column: SparkColumn, parts: tuple[str, ...]) -> SparkColumn:
        """The field of a struct, of all structs of a list, or the value of a key of a map."""
        for index, part in enumerate(parts):
            column = self.field(column, part, first=index == 0 and not column.subject)
        return column

    def field(self, column: SparkColumn, name: str, first: bool = False) -> SparkColumn:
        kind, in_lists = column.type, column.in_lists
        if kind is not None and kind.name == "array" and kind.element is not None:
            kind, in_lists = kind.element, True
        if kind is None:
            inner = None
            in_lists = in_lists or (None if not first else False)
            name = self.spelled(column, name)
        elif kind.name == "map":
            inner = kind.element
        elif name.lower() in kind.fields:
            name, inner = kind.fields[name.lower()]
        else:
            raise self.refuse(column.place, f"there is no column {name} among the columns given")
        if in_lists and inner is not None:
            inner = ColumnType("array", element=inner)
        whole = column.subject in ("", IT)
        subject = name if whole else f"{column.subject}.{name}"
        known_as = f"{column.known_as}.{name}" if column.known_as else name
        return SparkColumn(subject, column.place, known_as, inner, in_lists)

    def spelled(self, column: SparkColumn, name: str) -> str:
        """Spark ignores the case of names, so two spellings are one column."""
        path = f"{column.known_as}.{name}"
        first = self.knowledge.spellings.setdefault(path.lower(), name)
        if first != name:
            raise self.refuse(
                column.place,
                f"{name} and {first} are one column in Spark: say how it is spelled in events, "
                "by giving the columns",
            )
        return name

    def expect(self, column: SparkColumn, family: Family) -> None:
        """Values of the column are of this family; an Inexpressible if they are of another."""
        if column.in_lists:
            raise self.refuse(column.place, f"{column.known_as} is a list")
        if column.type is not None:
            found = column.type.family
            if found is not family:
                raise self.refuse(
                    column.place,
                    f"{column.known_as} has the type {column.type.name}, where a {family} is "
                    "expected",
                )
            return
        before = self.knowledge.families.setdefault(column.known_as, family)
        if before is not family:
            raise self.refuse(
                column.place,
                f"{column.known_as} is a {family} here and a {before} elsewhere, so that Spark "
                "casts it: say which type it has, by giving the columns",
            )

    def literal_beside(self, column: SparkColumn, value: SparkLiteral) -> Literal:
        """The literal as Spark casts it for a comparison with the column."""
        assert value.value is not None
        wanted = value.value
        if isinstance(column.subject, Lowered) and isinstance(wanted, str):
            self.check_letters(wanted, value.place)
        kind = column.type
        if kind is None and isinstance(wanted, str) and self.is_string(column):
            kind = ColumnType("string")
        found = self.casting(value.place, lambda: beside(kind, wanted))
        self.expect(column, family_of(found))
        return found

    def is_string(self, column: SparkColumn) -> bool:
        """Whether a column without a type is one of strings, as other conditions tell."""
        known = self.knowledge.families.get(column.known_as)
        return isinstance(column.subject, Lowered) or known is Family.STRING

    def check_letters(self, text: str, place: int) -> None:
        for letter in ODD_LETTERS:
            if letter in text:
                raise self.refuse(
                    place, f"the case of {letter!r} depends on its neighbours in Spark"
                )

    # Values

    def operand(self, e: SparkExpression, scope: Scope) -> Operand:
        """A column, a literal or a sum; choices between several have been resolved before."""
        if e.kind == "literal":
            return SparkLiteral(e.value, e.place)
        if e.kind == "column":
            return self.column(e, scope)
        if e.kind == "cast":
            return self.cast(e, e.operands[0], e.value, scope)
        if e.kind == "sum":
            return self.sum(e, scope)
        if e.kind == "item":
            return self.item(e, scope)
        if e.kind == "field":
            of = self.operand(e.operands[0], scope)
            assert isinstance(of, SparkColumn)
            return self.fields(of, e.value)
        if e.kind == "call":
            return self.call(e, scope)
        raise self.refuse(e.place, "a condition stands where a value is expected")

    def call(self, e: SparkExpression, scope: Scope) -> Operand:
        if e.value in ("lower", "lcase") and len(e.operands) == 1:
            return self.lower(e, scope)
        if e.value in CASTING and len(e.operands) == 1:
            return self.cast(e, e.operands[0], CASTING[e.value], scope)
        if e.value == "element_at" and len(e.operands) == 2:
            return self.item(e, scope)
        hint = INSTEAD.get(e.value, "rules have no such function")
        raise self.refuse(e.place, f"{e.value}(…) cannot be said here: {hint}")

    def lower(self, e: SparkExpression, scope: Scope) -> Operand:
        inner = self.operand(e.operands[0], scope)
        if isinstance(inner, SparkColumn):
            self.expect(inner, Family.STRING)
            if isinstance(inner.subject, Lowered):
                return inner
            return replace(inner, subject=Lowered(inner.subject))
        if isinstance(inner, SparkLiteral) and isinstance(inner.value, str):
            self.check_letters(inner.value, inner.place)
            return SparkLiteral(inner.value.lower(), e.place)
        raise self.refuse(e.place, "lower(…) of what is no string")

    def cast(self, e: SparkExpression, inner: SparkExpression, to: str, scope: Scope) -> Operand:
        operand = self.operand(inner, scope)
        try:
            kind = read_type(to)
        except ValueError:
            raise self.refuse(e.place, f"{to} is no type") from None
        if isinstance(operand, SparkLiteral):
            if operand.value is None:
                return operand
            value = operand.value
            return SparkLiteral(self.casting(e.place, lambda: cast_literal(value, kind)), e.place)
        if isinstance(operand, SparkColumn) and not isinstance(operand.subject, Lowered):
            if keeps_values(operand.type, kind):
                return operand
            known = "which changes values" if operand.type else "whose type is not given"
            raise self.refuse(e.place, f"a cast to {to} of {operand.known_as}, {known}")
        raise self.refuse(e.place, f"a cast to {to}")

    def item(self, e: SparkExpression, scope: Scope) -> Operand:
        of, index = (self.operand(each, scope) for each in e.operands)
        is_map = isinstance(of, SparkColumn) and (of.type is None or of.type.name == "map")
        if is_map and isinstance(index, SparkLiteral) and isinstance(index.value, str):
            assert isinstance(of, SparkColumn)
            return self.field(of, index.value)
        raise self.refuse(e.place, "an item of a list by its index cannot be said")

    def sum(self, e: SparkExpression, scope: Scope) -> Operand:
        left, right = (self.operand(each, scope) for each in e.operands)
        for side in (left, right):
            if isinstance(side, SparkLiteral) and side.value is None:
                return side
        if e.value not in ("+", "-", "*"):
            raise self.refuse(e.place, f"'{e.value}' cannot be said: it rounds, or is about bits")
        if isinstance(left, SparkLiteral) and isinstance(right, SparkLiteral):
            return SparkLiteral(self.folded(e, left.value, right.value), e.place)
        return Total(join(self.summand(left), e.value, self.summand(right)), e.place)

    def folded(self, e: SparkExpression, left: Literal | None, right: Literal | None) -> Literal:
        if not (_is_number(left) and _is_number(right)):
            raise self.refuse(e.place, "a sum of what are no numbers")
        assert isinstance(left, int | Decimal)
        assert isinstance(right, int | Decimal)
        value = left + right if e.value == "+" else left - right if e.value == "-" else left * right
        whole = isinstance(left, int) and isinstance(right, int)
        small = max(left, -left, right, -right) < 2**31
        if whole and max(value, -value) >= (2**31 if small else 2**63):
            raise self.refuse(e.place, f"{value} overflows in Spark")
        if not whole and len(Decimal(value).as_tuple().digits) > SAFE_DIGITS:
            raise self.refuse(
                e.place, f"a fraction of over {SAFE_DIGITS} digits is rounded in Spark"
            )
        return value

    def summand(self, side: Operand) -> Sum | Attribute | int:
        if isinstance(side, Total):
            return side.sum
        if (
            isinstance(side, SparkLiteral)
            and isinstance(side.value, int)
            and _is_number(side.value)
        ):
            return side.value
        if isinstance(side, SparkColumn) and side.type is not None and side.type.name in INTEGERS:
            self.expect(side, Family.NUMBER)
            return Attribute(side.subject)
        raise self.refuse(
            side.place,
            "only sums of integers can be said, as Spark rounds others: give the columns, if these "
            "are integers",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
