"""What Spark's casts do: between a column and a literal that it is compared with, and in `cast`."""

from __future__ import annotations

import re
from decimal import Decimal

from matchwood.imports.sql.spark_columns import INTEGERS, ColumnType
from matchwood.imports.sql.spark_literals import SAFE_DIGITS
from matchwood.language.values import Family, Literal, family_of, read_time

# Integers up to these are the same in floats, and in doubles.
FLOAT_INTEGERS, DOUBLE_INTEGERS = 2**24, 2**53

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


class CastError(ValueError):
    """A cast that a rule cannot say."""


def beside(kind: ColumnType | None, value: Literal) -> Literal:
    """The literal that says what Spark makes of `value` when it meets a column of this type."""
    if kind is None:
        return _of_unknown(value)
    family = kind.family
    if family is None:
        raise CastError(f"a column of type {kind.name} is compared with a literal")
    if isinstance(value, str) and family is not Family.STRING:
        return read_as(kind.name, value)
    if family_of(value) is not family:
        raise CastError(
            f"a column of type {kind.name} meets a {family_of(value)}, and Spark casts one of them"
        )
    if family is Family.NUMBER:
        _check_number(kind.name, value)
    return value


def _of_unknown(value: Literal) -> Literal:
    """A literal tells the type of the column, except if it is a string that Spark may cast."""
    if isinstance(value, str) and reads_as_another(value):
        raise CastError(
            f"'{value}' is cast if the column is no string: say which types the columns have"
        )
    if isinstance(value, Decimal) and abs(value) > DOUBLE_INTEGERS:
        raise CastError(f"{value} is rounded in Spark")
    return value


def reads_as_another(text: str) -> bool:
    """Whether Spark can cast a string to a number, a time or a boolean."""
    return bool(
        _NUMBER.fullmatch(text.strip())
        or re.match(r"\s*[+-]?[0-9]{4,6}-[0-9]", text)
        or text.strip().lower() in ("true", "false", "t", "f", "yes", "no", "y", "n")
        or text.strip().lower() in ("nan", "infinity", "-infinity", "inf", "-inf", "+inf")
    )


def _check_number(name: str, value: Literal) -> None:
    assert isinstance(value, int | Decimal)
    largest = {"float": FLOAT_INTEGERS, "double": DOUBLE_INTEGERS}.get(name)
    if isinstance(value, Decimal):
        largest = largest or DOUBLE_INTEGERS
        if len(value.as_tuple().digits) > SAFE_DIGITS:
            raise CastError(f"{value} is rounded in Spark")
    if largest is not None and not -largest <= value <= largest:
        raise CastError(f"{value} is rounded beside a column of type {name}")


def read_as(name: str, text: str) -> Literal:
    """What Spark reads in a string that it casts to a type, if it is spelled in the usual way."""
    if name in INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    if name in ("float", "double", "decimal") and _NUMBER.fullmatch(text):
        number = Decimal(text)
        if name == "double" and len(number.as_tuple().digits) <= SAFE_DIGITS:
            return number
    if name == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if name == "date" and _DATE.fullmatch(text) and (time := read_time(text)):
        return time
    if name in ("timestamp", "timestamp_ntz") and (match := _TIMESTAMP.fullmatch(text)):
        time = read_time(text)
        if time is not None and not (name == "timestamp_ntz" and match["zone"]):
            return time
    raise CastError(f"the string '{text}' is cast to {name}")


def cast_literal(value: Literal, kind: ColumnType) -> Literal:
    """A literal after an explicit cast."""
    name = kind.name
    if isinstance(value, str):
        return value if kind.family is Family.STRING else read_as(name, value)
    if isinstance(value, bool):
        if name == "boolean":
            return value
    elif isinstance(value, int):
        if name in ("int", "bigint") and abs(value) < 2**31:
            return value
        if name == "double" and abs(value) <= DOUBLE_INTEGERS:
            return value
        if name == "string":
            return str(value)
    elif isinstance(value, Decimal):
        if name == "double":
            return value
    elif name == "timestamp" or (name == "date" and len(str(value)) == 10):
        return value
    raise CastError(f"a literal is cast to {name}")


def keeps_values(kind: ColumnType | None, to: ColumnType) -> bool:
    """Whether a cast of a column changes no value, and so can be left out."""
    if kind is None:
        return False
    if kind.name == to.name and kind.family is not None:
        return kind.name != "decimal"  # which has a precision and a scale of its own
    widening = {
        "tinyint": ("smallint", "int", "bigint", "double", "float"),
        "smallint": ("int", "bigint", "double", "float"),
        "int": ("bigint", "double"),
        "float": ("double",),
        "date": ("timestamp",),
        "varchar": ("string",),
    }
    return to.name in widening.get(kind.name, ())
