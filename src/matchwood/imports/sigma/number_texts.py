"""The texts of numbers, as which Sigma compares them, and which patterns may match one.

The text of a number is plain decimal notation: `-1`, `0.25`, `443`, never `1.0`, `007` or `1e3`. A
rule cannot ask for the numbers whose text a pattern matches, so the importer has to know whether
there are any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import Enum
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as expressions  # type: ignore[attr-defined]
from typing import Any

NUMBER_TEXT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")

# Every character that the text of a number may have.
CHARACTERS = frozenset("-.0123456789")


class Wildcard(Enum):
    """What stands for text in a pattern."""

    ONE = "?"
    MANY = "*"


class Numbers(Enum):
    """How many numbers have a text that a pattern matches."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


def text_of_number(number: int | float) -> str:
    """The text of a number.

    >>> text_of_number(443), text_of_number(1e-07), text_of_number(2.50)
    ('443', '0.0000001', '2.5')
    """
    if isinstance(number, int):
        return str(number)
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_of_text(text: str) -> Decimal | None:
    """The number that has this text; None if there is none.

    >>> number_of_text("4625"), number_of_text("007"), number_of_text("1.0")
    (Decimal('4625'), None, None)
    """
    return Decimal(text) if text != "-0" and NUMBER_TEXT.fullmatch(text) else None


def numbers_matched(pattern: Sequence[str | Wildcard]) -> Numbers:
    """How many numbers have a text that a pattern of characters and wildcards covers.

    >>> numbers_matched(["1", "0", ".", Wildcard.MANY]), numbers_matched(["x", Wildcard.MANY])
    (<Numbers.SOME: 'some'>, <Numbers.NONE: 'none'>)
    """
    ones = sum(part is Wildcard.ONE for part in pattern)
    if ones < 2 and len(pattern) > ones and all(isinstance(part, Wildcard) for part in pattern):
        return Numbers.ALL
    # Which states of _next can be reached by texts that the pattern so far covers.
    states = {"start"}
    for part in pattern:
        if part is Wildcard.MANY:
            states = _closure(states)
        else:
            characters = CHARACTERS if part is Wildcard.ONE else str(part)
            states = _step(states, characters)
    return Numbers.SOME if states & {"zero", "digits", "fraction"} else Numbers.NONE


def _step(states: Iterable[str], characters: Iterable[str]) -> set[str]:
    reached = {_next(state, character) for state in states for character in characters}
    return {state for state in reached if state is not None}


def _closure(states: set[str]) -> set[str]:
    """The states that any text whatever leads to."""
    while True:
        more = states | _step(states, CHARACTERS)
        if more == states:
            return states
        states = more


def _next(state: str, character: str) -> str | None:
    """The state after one more character of a number's text; None if no text goes on like that."""
    match state, character:
        case "start", "-":
            return "minus"
        case "start", "0":
            return "zero"
        case "minus", "0":
            return "minus zero"
        case (("start" | "minus" | "digits"), digit) if digit.isdecimal() and digit in CHARACTERS:
            return "digits"
        case (("zero" | "minus zero" | "digits"), "."):
            return "point"
        case (("point" | "fraction" | "point zero"), "0"):
            return "point zero"  # after which no text ends
        case (("point" | "fraction" | "point zero"), digit) if digit in CHARACTERS - {"-", "."}:
            return "fraction"
    return None


def expression_may_match(expression: str) -> bool:
    """Whether a regular expression may be found in the text of a number.

    The answer is only wrong on the safe side: it is no if every text in which the expression is
    found has a character that no number has.

    >>> expression_may_match("^[0-9]+$"), expression_may_match("a+[0-9]")
    (True, False)
    """
    if "[[:" in expression:  # a class of RE2, and another one to Python
        return True
    try:
        return not _has_foreign(expressions.parse(expression))
    except re.error:  # what RE2 has and Python has not
        return True


def _has_foreign(tokens: Iterable[tuple[Any, Any]]) -> bool:
    """Whether whatever the tokens match has a character that no number has."""
    return any(_is_foreign(op, argument) for op, argument in tokens)


def _is_foreign(op: Any, argument: Any) -> bool:
    if op is ops.LITERAL:
        return chr(argument) not in CHARACTERS
    if op is ops.IN:
        return all(_is_foreign_member(*member) for member in argument)
    if op is ops.BRANCH:
        return all(_has_foreign(branch) for branch in argument[1])
    if op is ops.SUBPATTERN:
        return _has_foreign(argument[-1])
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        least, _, repeated = argument
        return least > 0 and _has_foreign(repeated)
    return False


def _is_foreign_member(op: Any, argument: Any) -> bool:
    """Whether a member of a class of characters has none that a number has."""
    if op is ops.LITERAL:
        return chr(argument) not in CHARACTERS
    if op is ops.RANGE:
        low, high = argument
        return not any(low <= ord(character) <= high for character in CHARACTERS)
    return bool(op is ops.CATEGORY and argument is ops.CATEGORY_SPACE)
