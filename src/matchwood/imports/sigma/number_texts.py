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


# What classes such as \\d have of them.
CATEGORIES = {
    ops.CATEGORY_DIGIT: CHARACTERS - {"-", "."},
    ops.CATEGORY_NOT_DIGIT: frozenset("-."),
    ops.CATEGORY_WORD: CHARACTERS - {"-", "."},
    ops.CATEGORY_NOT_WORD: frozenset("-."),
    ops.CATEGORY_SPACE: frozenset(),
    ops.CATEGORY_NOT_SPACE: CHARACTERS,
}

# The states of `_next` in which a number's text is complete.
COMPLETE = {"zero", "digits", "fraction"}


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
    return Numbers.SOME if states & COMPLETE else Numbers.NONE


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
    r"""Whether a regular expression may be found in the text of a number.

    Where it is not sure, the answer is yes.

    >>> expression_may_match("^[0-9]+$"), expression_may_match("a+[0-9]")
    (True, False)
    >>> expression_may_match(r"^\d+\.\d+\.\d+$"), expression_may_match(r"\.\d")
    (False, True)
    """
    if "[[:" in expression:  # a class of RE2, and another one to Python
        return True
    try:
        tokens = expressions.parse(expression)
    except re.error:  # what RE2 has and Python has not
        return True
    # It may be found after any beginning of a number's text, and every beginning can be ended.
    return bool(_after(tokens, _closure({"start"})))


def _after(tokens: Iterable[tuple[Any, Any]], states: set[str]) -> set[str]:
    """The states that texts which the tokens match lead to; "end" after the last character."""
    for op, argument in tokens:
        if not states:
            break
        states = _after_one(op, argument, states)
    return states


def _after_one(op: Any, argument: Any, states: set[str]) -> set[str]:
    if op is ops.LITERAL:
        return _step(states, {chr(argument)})
    if op is ops.NOT_LITERAL:
        return _step(states, CHARACTERS - {chr(argument)})
    if op is ops.ANY:
        return _step(states, CHARACTERS)
    if op is ops.IN:
        return _step(states, _characters_in(argument))
    if op is ops.BRANCH:
        return set().union(*(_after(branch, states) for branch in argument[1]))
    if op is ops.SUBPATTERN:
        return _after(argument[-1], states)
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        least, most, repeated = argument
        return _after_repeat(least, most, repeated, states)
    if op is ops.AT and argument is ops.AT_BEGINNING:
        return states & {"start"}
    if op is ops.AT and argument is ops.AT_END:
        return {"end"} if states & COMPLETE else states & {"end"}
    # A boundary of a word, or what RE2 refuses: anything may follow.
    return states if op is ops.AT else _closure(states)


def _after_repeat(least: Any, most: Any, repeated: Any, states: set[str]) -> set[str]:
    for _ in range(least):
        before, states = states, _after(repeated, states)
        if states == before:  # and so it stays
            break
    reached = states
    for _ in range(most - least):
        states = _after(repeated, states)
        if states <= reached:
            break
        reached = reached | states
    return reached


def _characters_in(members: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    """The characters of numbers that a class of characters has."""
    found: set[str] = set()
    negated = False
    for op, argument in members:
        if op is ops.NEGATE:
            negated = True
        elif op is ops.LITERAL:
            found.add(chr(argument))
        elif op is ops.RANGE:
            found |= {one for one in CHARACTERS if argument[0] <= ord(one) <= argument[1]}
        elif op is ops.CATEGORY:
            found |= CATEGORIES.get(argument, CHARACTERS)
    return CHARACTERS - found if negated else CHARACTERS & found
