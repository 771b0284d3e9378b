"""Spark SQL: what this language lacks or reads otherwise, with the place and what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from matchwood.check.dialects.functions import INSTEAD, SAME
from matchwood.check.dialects.patterns import java_differences
from matchwood.check.dialects.tokens import END, Token, tokens_of
from matchwood.language.calls import BUILT_IN
from matchwood.language.errors import RuleError
from matchwood.language.text import MAX_TEXT
from matchwood.language.tokens import KEYWORDS
from matchwood.language.values import read_time

_COMPARISONS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"))
_PATTERNS = ("like", "ilike", "rlike")
_QUANTIFIERS = ("any", "some", "all")
_NOT_OPERANDS = KEYWORDS - {"true", "false", "null"} | {"rlike", "regexp", "div", "escape"}


MAX_HINTS = 20  # for one rule: by then it is rewritten anyway


class Hint(NamedTuple):
    """Where a rule has to be looked at, and what to write."""

    token: Token
    reason: str


class Place:
    """A token and what stands around it."""

    def __init__(self, tokens: list[Token], at: int) -> None:
        self.tokens = tokens
        self.at = at
        self.token = tokens[at]

    def ahead(self, steps: int = 1) -> Token:
        place = self.at + steps
        return self.tokens[place] if 0 <= place < len(self.tokens) else END

    @property
    def before(self) -> Token:
        return self.ahead(-1)


def spark_hints(text: str) -> list[RuleError]:
    """What in a rule Spark reads otherwise, each as an error with its place.

    >>> for hint in spark_hints("!vip && lower(city) = 'rome'"):
    ...     print(hint.column, hint.reason)
    1 '!' is not here: write not
    6 '&&' is not here: write and
    9 lower(…) is not here: to compare without case, write a ilike 'text'
    """
    if len(text) > MAX_TEXT:
        return []
    tokens = tokens_of(text)
    errors = []
    for at in range(len(tokens)):
        place = Place(tokens, at)
        for check in _CHECKS[tokens[at].kind]:
            for hint in check(place):
                errors.append(RuleError(hint.reason, text=text, position=hint.token.start))
        if len(errors) >= MAX_HINTS:
            break
    return errors


# Symbols

_SYMBOLS = {
    "<=>": "'<=>' is not here: a <=> 5 is a = 5 (and a is not null, under not), a <=> null is "
    "a is null, and a <=> b is a = b or (a is null and b is null)",
    "&&": "'&&' is not here: write and",
    "||": "'||' joins strings in Spark and is not here: for a choice, write or",
    "::": "'::' is not here: nothing is cast, compare with a literal of the attribute's own family",
    "!": "'!' is not here: write not",
    "->": "a function of elements is not here: a list satisfies a predicate when any value does",
    "[": "'[' is not here: nested values are attributes (a.b), and a predicate of a list asks any "
    "of its values",
    ";": "a rule ends without ';'",
    "~": "'~' is not here: keep the result as an attribute",
}


def _symbol(place: Place) -> Iterator[Hint]:
    text = place.token.text
    if text in _SYMBOLS:
        yield Hint(place.token, _SYMBOLS[text])
    elif text in ("+", "-", "*", "/", "%", "&", "|", "^"):
        yield from _arithmetic(place)


def _arithmetic(place: Place) -> Iterator[Hint]:
    """An operator between two operands, unless these are numbers and variables."""
    left, right = place.before, place.ahead()
    if not (_ends_operand(left) and right is not END):
        return
    sides = [side for side in (left, right) if side.kind in ("name", "quoted", "string", "double")]
    if sides or place.token.text in "%&|^":
        yield Hint(
            place.token,
            f"'{place.token.text}' is not here: work the result out and compare with it, or keep "
            "it as an attribute",
        )


def _ends_operand(token: Token) -> bool:
    if token.kind == "name":
        return token.word not in _NOT_OPERANDS
    return token.kind in ("number", "string", "double", "quoted", "variable") or token.text in ")]"


# Words

_WORDS: dict[str, str] = {
    "case": "case when is not here: write (condition and x) or (not condition and y)",
    "select": "a rule asks about one event: a subquery is not here, list the values with in",
    "where": "a rule is the condition alone: leave where out",
    "limit": "a rule is the condition alone: leave limit out",
    "interval": "interval is not here: work the date out and compare with it",
    "symmetric": "between takes the lower bound first: with symmetric left out, order them",
    "escape": "escape is not here: in a pattern \\ stands before %, _ and \\",
    "div": "div is not here: work the result out and compare with it",
    "regexp": "regexp is not here: write rlike",
    "timestamp_ntz": "timestamp_ntz is not here: write timestamp '…', without a zone it is UTC",
    "timestamp_ltz": "timestamp_ltz is not here: write timestamp '…', without a zone it is UTC",
}


def _word(place: Place) -> Iterator[Hint]:
    token, word, after = place.token, place.token.word, place.ahead()
    quantified = word in _QUANTIFIERS and place.before.word in ("like", "ilike")
    if after.text == "(" and word not in KEYWORDS and not quantified:
        yield from _function(place)
    elif word in ("order", "group", "having") and after.word in ("by", "") and after is not END:
        if after.word == "by":
            yield Hint(token, f"a rule is the condition alone: leave {word} by out")
    elif word in _WORDS and not _is_name_here(place):
        yield Hint(token, _WORDS[word])
    elif word == "is":
        yield from _is(place)
    elif word == "null" and place.before.text in _COMPARISONS and place.before.text != "<=>":
        no = "not " if place.before.text in ("!=", "<>") else ""
        yield Hint(
            token,
            f"'{place.before.text} null' is never true in Spark: write is {no}null where that is "
            "meant",
        )
    elif word == "null" and place.before.text in ("(", ","):
        yield Hint(token, "null in a list of values is not here: write or a is null")
    elif quantified:
        joint = "and" if word == "all" else "or"
        yield Hint(token, f"{place.before.word} {word} is not here: join the patterns by {joint}")
    elif word in _PATTERNS and after.kind == "name" and after.word not in _QUANTIFIERS:
        yield Hint(after, f"the pattern of {word} is a string, not an attribute")
    elif word in ("between", "in"):
        yield from _bounds(place)


def _is_name_here(place: Place) -> bool:
    """Whether a word that Spark also takes as a name is compared or tested as one."""
    after = place.ahead()
    return place.token.word != "case" and (
        after.text in _COMPARISONS
        or after.text == ")"
        or after is END
        or after.word in ("and", "or", "is", "in", "between", "like", "not", "xor")
    )


def _function(place: Place) -> Iterator[Hint]:
    token, word = place.token, place.token.word
    if word == "exists" and place.ahead(2).word == "select":
        return  # the hint for select says it
    if word in INSTEAD and not (word == "left" and place.before.text == "."):
        yield Hint(token, f"{word}(…) is not here: {INSTEAD[word]}")
    elif word in SAME and token.text not in BUILT_IN:
        yield Hint(token, f"names are case-sensitive: write {word}(…)")
    elif token.text not in BUILT_IN:
        yield Hint(token, f"{word}(…) is no function of the language: register it as an operator")


def _is(place: Place) -> Iterator[Hint]:
    negated = place.ahead().word == "not"
    what = place.ahead(2 if negated else 1).word
    if what in ("true", "false"):
        other = "false" if what == "true" else "true"
        meant = f"(a = {other} or a is null)" if negated else f"a = {what}"
        yield Hint(place.token, f"is {'not ' * negated}{what} is not here: write {meant}")
    elif what == "unknown":
        yield Hint(place.token, f"is {'not ' * negated}unknown is not here: write is null")
    elif what == "distinct":
        meant = "a = b or (a is null and b is null)"
        shown = meant if negated else f"not ({meant})"
        yield Hint(place.token, f"is {'not ' * negated}distinct from is not here: write {shown}")


def _bounds(place: Place) -> Iterator[Hint]:
    """Attributes where literals have to stand, and lists of two families."""
    word, first = place.token.word, place.ahead()
    if (
        word == "between"
        and first.kind in ("name", "quoted")
        and first.word
        not in (
            "date",
            "timestamp",
            "symmetric",
            "true",
            "false",
            "timestamp_ntz",
            "interval",
        )
    ):
        yield Hint(first, "the bounds of between are literals: write a >= low and a <= high")
    if word == "in" and first.text == "(":
        kinds = set()
        for steps in range(2, len(place.tokens)):
            token = place.ahead(steps)
            if token.text in ("(", ")") or token is END:
                break
            if token.kind in ("number", "string", "double"):
                kinds.add("number" if token.kind == "number" else "string")
        if len(kinds) > 1:
            yield Hint(
                first, "the values of in are of one family: Spark casts, nothing is cast here"
            )


# Literals


def _string(place: Place) -> Iterator[Hint]:
    token = place.token
    if token.kind == "double":
        inner = token.text[1:-1].replace("'", "''")
        yield Hint(token, f"a string stands in single quotes: write '{inner[:60]}'")
    if token.text[0] in "rR":
        yield Hint(token, "leave the r out: a backslash is an ordinary character in every string")
        body = token.text[2:-1]
    else:
        body = token.text[1:-1]
        if "\\" in body:
            yield from _escapes(token, body)
        if token.kind == "string" and "''" in body:
            yield Hint(token, "'' is one quote here, as in Spark 4; Spark 3 leaves it out")
        body = body.replace("\\\\", "\\")
    before = place.before
    if before.word in ("rlike", "regexp") or (before.text == "," and _in_regexp_call(place)):
        for reason in java_differences(body):
            yield Hint(token, reason)
    elif before.text in _COMPARISONS or before.word in ("between", "in", "and"):
        yield from _compared_string(place, body)


def _escapes(token: Token, body: str) -> Iterator[Hint]:
    if "\\'" in body or '\\"' in body:
        yield Hint(token, "a backslash escapes nothing in a string: write '' for a quote")
    elif re.search(r"\\\\", body):
        yield Hint(token, "a backslash is one character here, not two: write '\\d' for '\\\\d'")
    else:
        yield Hint(
            token,
            "Spark takes the backslash for an escape (unless escapedStringLiterals is set), here "
            "it is an ordinary character",
        )


def _in_regexp_call(place: Place) -> bool:
    return any(place.ahead(-steps).word in ("rlike", "regexp", "regexp_like") for steps in (3, 4))


def _compared_string(place: Place, body: str) -> Iterator[Hint]:
    token = place.token
    other = place.ahead(-2)
    if other.kind == "number" and place.before.text in _COMPARISONS:
        yield Hint(token, "a number and a string: Spark casts, nothing is cast here")
    elif body.lower() in ("nan", "infinity", "-infinity"):
        yield Hint(token, "NaN is null here, not the greatest number: write is null")
    elif other.word not in ("date", "timestamp") and read_time(body) is not None:
        literal = "date" if len(body) == 10 else "timestamp"
        yield Hint(token, f"Spark casts this where it meets a time: write {literal} '{body}'")


def _number(place: Place) -> Iterator[Hint]:
    token = place.token
    if token.suffix.lower() in ("l", "s", "y", "d", "f", "bd"):
        yield Hint(token, f"numbers have no suffix, they are exact: write {token.text}")
    after = place.ahead()
    if after.text in _COMPARISONS and place.ahead(2).kind in ("string", "double"):
        return  # said at the string
    if place.before.text in _COMPARISONS and place.ahead(-2).kind in ("string", "double"):
        yield Hint(token, "a string and a number: Spark casts, nothing is cast here")


def _comment(place: Place) -> Iterator[Hint]:
    yield Hint(place.token, "/* … */ is not here: a comment starts with -- and ends with its line")


_CHECKS: dict[str, tuple[Callable[[Place], Iterator[Hint]], ...]] = {
    "symbol": (_symbol,),
    "name": (_word,),
    "string": (_string,),
    "double": (_string,),
    "number": (_number,),
    "comment": (_comment,),
    "quoted": (),
    "variable": (),
}
