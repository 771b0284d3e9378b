"""`in`: whether a value is in a list, or a text in a string."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from matchwood.imports.connectives import FALSE, all_of, any_of
from matchwood.imports.differences import EMPTY_STRINGS, LARGE_NUMBERS, NULLS, ROUNDED_SUMS
from matchwood.imports.event_patterns.spellings import verbatim
from matchwood.imports.imported import Inexpressible
from matchwood.imports.json_logic.comparisons import NEEDS_TYPES, strictly_equal
from matchwood.imports.json_logic.values import (
    AttributeValue,
    FixedValue,
    LogicReading,
    Value,
    is_list,
)
from matchwood.language.builder import Attr, it
from matchwood.language.tree import Constant, Node, compared


def is_one_of(needle: Value, literals: Sequence[Any], reading: LogicReading) -> Node:
    """Where a value is one of some literals, without conversion."""
    for each in literals:
        reading.note_number(each)
    if isinstance(needle, FixedValue):
        return Constant(any(strictly_equal(needle.value, each) for each in literals))
    if isinstance(needle, AttributeValue):
        reading.note_single()
        there = [each for each in literals if each is not None]
        return (
            needle.subject.isin(*there)
            if len(there) > 1
            else any_of(needle.subject.eq(each) for each in there)
        )
    reading.differs.add(ROUNDED_SUMS)
    return any_of(
        compared(needle.side, "=", each)
        for each in literals
        if isinstance(each, int | Decimal) and not isinstance(each, bool)
    )


def is_in(needle: Value, haystack: Value, reading: LogicReading, place: str) -> Node:
    """Where a value is in another one, which is no list of literals."""
    if isinstance(haystack, FixedValue):
        return _in_literal(needle, haystack.value, place)
    if not isinstance(haystack, AttributeValue):
        return FALSE
    subject = haystack.subject
    if isinstance(needle, FixedValue):
        return _literal_in(needle.value, subject, reading, place)
    if not reading.typed:
        raise Inexpressible(NEEDS_TYPES.format("a search in a string"), place)
    if not isinstance(needle, AttributeValue):
        raise Inexpressible("a sum is in no list that the rule language can name", place)
    reading.differs.update({EMPTY_STRINGS, LARGE_NUMBERS})
    return subject.contains(needle.subject)


def _in_literal(needle: Value, text: Any, place: str) -> Node:
    if not isinstance(text, str) or not text:
        return FALSE
    if isinstance(needle, FixedValue):
        return Constant(_as_text(needle.value, place) in text)
    raise Inexpressible("the parts of a string that is no attribute have no name", place)


def _literal_in(value: Any, subject: Attr, reading: LogicReading, place: str) -> Node:
    """An element of a list is equal without conversion; in a string, the value is text."""
    reading.note_number(value)
    text = _as_text(value, place)
    if not text:
        raise Inexpressible("an empty string is in every string but an empty one", place)
    if isinstance(value, str):
        return subject.contains(value)
    within = all_of([subject.like(f"%{verbatim(text)}%"), subject.eq(0).is_unknown()])
    if value is None:  # with types, a list of values
        if reading.typed:
            reading.differs.add(NULLS)
        listed = all_of([subject.any(it.is_null()), is_list(subject)])
        return FALSE if reading.typed else any_of([listed, within])
    listed = subject.contains(value)
    return listed if reading.typed else any_of([listed, within])


def _as_text(value: Any, place: str) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    number = Decimal(value)
    if number == 0 or Decimal("1e-6") <= abs(number) < 10**21:
        return str(int(number)) if number == int(number) else f"{number.normalize():f}"
    raise Inexpressible(f"JavaScript writes {value} with an exponent", place)
