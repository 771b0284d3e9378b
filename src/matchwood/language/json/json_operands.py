"""Operands of comparisons and calls in the JSON form: attributes, literals and sums."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from matchwood.language.errors import RuleError
from matchwood.language.json.location import JsonPath
from matchwood.language.text.tokens import NUMBER
from matchwood.language.tree.arithmetic import (
    BINDING,
    MAX_TERMS,
    Attribute,
    Side,
    Sum,
    Variable,
    summand,
)
from matchwood.language.tree.subjects import (
    EVERYTHING,
    IT,
    Derived,
    Everything,
    Lowered,
    lowered,
)
from matchwood.language.values import (
    MAX_DIGITS,
    Literal,
    Time,
    literal,
    negative,
    read_number,
    read_time,
    spell_number,
)

# To JSON


def literal_to_json(value: Literal) -> Any:
    """A literal; an object, such as {"date": "2026-01-31"}, if JSON has no exact form for it."""
    if isinstance(value, Time):
        text = str(value)
        return {"date": text} if len(text) == 10 else {"timestamp": text}
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return {"number": spell_number(value)}
    if isinstance(value, Decimal):
        near = float(value)
        return near if Decimal(repr(near)) == value else {"number": spell_number(value)}
    return value


def side_to_json(side: Side) -> Any:
    """An operand of a comparison or a call."""
    if isinstance(side, Attribute):
        return {"attr": subject_to_json(side.name)}
    if isinstance(side, Variable):
        return {"var": side.name}
    if isinstance(side, Sum):
        return _sum_to_json(side)
    return literal_to_json(side)


def subject_to_json(subject: str) -> Any:
    """What stands under "attr": the name of an attribute, `lower` of one, or `*` or `it`.

    An attribute that is itself called `*` or `it` is an object with its name.
    """
    if isinstance(subject, Lowered):
        return {"lower": subject_to_json(subject.base)}
    if isinstance(subject, Derived):
        return str(subject)
    return {"name": subject} if subject in (EVERYTHING.word, IT.word) else subject


def _sum_to_json(sum_: Sum) -> Any:
    stack: list[Any] = []
    for term in sum_.postfix:
        if isinstance(term, str):
            right, left = stack.pop(), stack.pop()
            stack.append({term: [left, right]})
        else:
            stack.append(side_to_json(term))
    return stack[0]


# From JSON


class Refused(Exception):
    """A part of a JSON form is not accepted: the reason, and the path of the part."""

    def __init__(self, reason: str, path: JsonPath) -> None:
        self.reason = reason
        self.path = path


def string_at(item: dict[Any, Any], key: str, path: JsonPath) -> str:
    """The string under a key of an object at a path."""
    if not isinstance(item[key], str):
        raise Refused(f"expected a string, found {kind_of(item[key])}", (*path, key))
    return str(item[key])


def subject_at(value: object, path: JsonPath, inside: bool) -> str:
    """The subject of a predicate; `inside` elements, `it` is the element."""
    if isinstance(value, dict) and len(value) == 1:
        if "lower" in value:
            depth = 0
            while isinstance(value, dict) and len(value) == 1 and "lower" in value:
                value, path, depth = value["lower"], (*path, "lower"), depth + 1
            base = subject_at(value, path, inside)
            if isinstance(base, Everything):
                raise Refused("'lower' takes an attribute, found '*'", path)
            return lowered(base)
        if "name" in value:
            return string_at(value, "name", path)
    if not isinstance(value, str):
        raise Refused(f"expected a string, or an object with 'lower', found {kind_of(value)}", path)
    if value == EVERYTHING.word:
        return EVERYTHING
    return IT if inside and value == IT.word else value


def literal_at(value: object, path: JsonPath) -> Any:
    """The literal at a path; constructors of nodes check plain ones."""
    if isinstance(value, dict) and len(value) == 1:
        key, text = next(iter(value.items()))
        if key in ("date", "timestamp", "number") and isinstance(text, str):
            return _spelled(key, text, (*path, key))
    if isinstance(value, dict | list | tuple):
        raise Refused(
            "expected a number, a string, true, false, a date or a timestamp, "
            f"found {kind_of(value)}",
            path,
        )
    if value is None:
        raise Refused("null is only possible in 'is null'", path)
    return value


def _spelled(kind: str, text: str, path: JsonPath) -> Literal:
    if kind == "number":
        if not re.fullmatch(rf"-?+{NUMBER}", text):
            raise Refused(f"expected a number, found {text[:40]!r}", path)
        try:
            return number_of(text)
        except RuleError as error:
            raise Refused(error.reason, path) from None
    time = read_time(text)
    if time is None or (kind == "date" and len(text) > 10):
        raise Refused(f"expected a {kind} in ISO 8601, found {text[:40]!r}", path)
    return time


def side_at(value: object, path: JsonPath, inside: bool) -> Any:
    """The operand of a comparison or a call at a path."""
    if isinstance(value, dict) and len(value) == 1:
        key = next(iter(value))
        if key == "attr":
            return Attribute(subject_at(value["attr"], (*path, "attr"), inside))
        if key == "var":
            name = string_at(value, key, path)
            try:
                return Variable(name)
            except RuleError as error:
                raise Refused(error.reason, path) from None
        if key in BINDING:
            return _sum(value, path, inside)
    return literal_at(value, path)


def _sum(value: dict[Any, Any], path: JsonPath, inside: bool) -> Sum:
    """A sum: it is read with operators first and from the right, which reversed is postfix."""
    terms: list[Any] = []
    todo: list[tuple[object, JsonPath]] = [(value, path)]
    while todo:
        item, where = todo.pop()
        key = next(iter(item)) if isinstance(item, dict) and len(item) == 1 else None
        if key not in BINDING:
            term = side_at(item, where, inside)
            if isinstance(term, bool) or not isinstance(
                term, int | float | Decimal | Attribute | Variable
            ):
                raise Refused("a sum is made of numbers, attributes and variables", where)
            terms.append(_summand(term, where))
        else:
            inner = item[key]  # type: ignore[index]
            if not isinstance(inner, list | tuple) or len(inner) != 2:
                raise Refused(f"'{key}' takes a list of two, found {kind_of(inner)}", where)
            terms.append(key)
            todo.extend((side, (*where, key, i)) for i, side in enumerate(inner))
        if len(terms) > 2 * MAX_TERMS:
            raise Refused(f"a sum has at most {MAX_TERMS:,} terms", path)
    return Sum(tuple(reversed(terms)))


def _summand(term: object, path: JsonPath) -> object:
    try:
        return summand(term) if isinstance(term, Attribute | Variable) else literal(term)
    except RuleError as error:
        raise Refused(error.reason, path) from None


def number_of(text: str) -> int | Decimal:
    """The exact number that JSON text spells."""
    return negative(read_number(text[1:])) if text.startswith("-") else read_number(text)


def kind_of(value: object) -> str:
    """A value in words, for errors."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**40):
        return str(value).lower()
    return "null" if value is None else f"a value of type {type(value).__name__}"
