"""Spark SQL: what this language lacks or reads in another way, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from matchwood.check.dialects.functions import INSTEAD, OWN, SAME
from matchwood.check.dialects.patterns import java_differences
from matchwood.check.dialects.sql_tokens import END, SqlToken, tokens_of
from matchwood.language.errors import RuleError
from matchwood.language.names import KEYWORDS
from matchwood.language.text.parser import MAX_TEXT
from matchwood.language.tree.calls import BUILT_IN
from matchwood.language.values import read_time

_COMPARISONS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"))
_PATTERNS = ("like", "ilike", "rlike")
_QUANTIFIERS = ("any", "some", "all")
_NOT_OPERANDS = KEYWORDS - {"true", "false", "null"} | {"rlike", "regexp", "div", "escape"}


# Hints for one rule; one that needs more has to be rewritten anyway.
MAX_HINTS = 20


class Hint(NamedTuple):
    """A token of a rule that has to be changed, and what to write."""

    token: SqlToken
    reason: str


class TokenContext:
    """A token and the tokens around it."""

    def __init__(self, tokens: list[SqlToken], at: int) -> None:
        self.tokens = tokens
        self.at = at
        self.token = tokens[at]

    def ahead(self, steps: int = 1) -> SqlToken:
        """The token some steps ahead, or back if negative."""
        index = self.at + steps
        return self.tokens[index] if 0 <= index < len(self.tokens) else END

    @property
    def before(self) -> SqlToken:
        return self.ahead(-1)


def spark_hints(text: str) -> list[RuleError]:
    """What Spark reads in another way in a rule, each as an error with its position.

    >>> for hint in spark_hints("!vip && isnull(city)"):
    ...     print(hint.column, hint.reason)
    1 '!' is not supported: write not
    6 '&&' is not supported: write and
    9 isnull(…) is not supported: write a is null
    """
    if len(text) > MAX_TEXT:
        return []
    tokens = tokens_of(text)
    errors = []
    for at in range(len(tokens)):
        context = TokenContext(tokens, at)
        for check in _CHECKS[tokens[at].kind]:
            for hint in check(context):
                errors.append(RuleError(hint.reason, text=text, position=hint.token.start))
        if len(errors) >= MAX_HINTS:
            break
    return errors


# Symbols

_SYMBOLS = {
    "<=>": "'<=>' is not supported: a <=> 5 is (a = 5) is true, a <=> null is a is null, and "
    "a <=> b is (a = b) is true or (a is null and b is null)",
    "&&": "'&&' is not supported: write and",
    "||": "'||' joins strings in Spark and is not supported: for a choice, write or",
    "::": "'::' is not supported: nothing is cast, compare with a literal of the attribute's own "
    "family",
    "!": "'!' is not supported: write not",
    "->": "a function of elements is not supported: write any(a, it > 5) for x -> x > 5",
    "[": "'[' is not supported: nested values are attributes (a.b), and a list satisfies a "
    "predicate if any of its values does",
    ";": "a rule ends without ';'",
    "~": "'~' is not supported: keep the result as an attribute",
}


def _symbol(context: TokenContext) -> Iterator[Hint]:
    text = context.token.text
    if text in _SYMBOLS:
        yield Hint(context.token, _SYMBOLS[text])
    elif text in ("+", "-", "*", "/", "%", "&", "|", "^"):
        yield from _arithmetic(context)


def _arithmetic(context: TokenContext) -> Iterator[Hint]:
    """An operator that sums lack, or one beside a string; other sums are rules as they are."""
    left, right = context.before, context.ahead()
    if not (_ends_operand(left) and right is not END):
        return
    sides = [side for side in (left, right) if side.kind in ("string", "double")]
    if sides or context.token.text in "%&|^":
        yield Hint(
            context.token,
            f"'{context.token.text}' is not supported: work the result out and compare with "
            "it, or keep it as an attribute",
        )


def _ends_operand(token: SqlToken) -> bool:
    if token.kind == "name":
        return token.word not in _NOT_OPERANDS
    return token.kind in ("number", "string", "double", "quoted", "variable") or token.text in ")]"


# Words

_WORDS: dict[str, str] = {
    "case": "case when is not supported: write (condition and x) or "
    "((condition) is not true and y)",
    "select": "a rule asks about one event: a subquery is not supported, list the values with in",
    "where": "a rule is the condition alone: leave where out",
    "limit": "a rule is the condition alone: leave limit out",
    "interval": "interval is not supported: work the date out and compare with it",
    "symmetric": "between takes the lower bound first: with symmetric left out, order them",
    "escape": "escape is not supported: in a pattern \\ stands before %, _ and \\",
    "div": "div is not supported: work the result out and compare with it",
    "regexp": "regexp is not supported: write rlike",
    "timestamp_ntz": "timestamp_ntz is not supported: write timestamp '…', which is UTC without a "
    "zone",
    "timestamp_ltz": "timestamp_ltz is not supported: write timestamp '…', which is UTC without a "
    "zone",
}


def _word(context: TokenContext) -> Iterator[Hint]:
    token, word, after = context.token, context.token.word, context.ahead()
    quantified = word in _QUANTIFIERS and context.before.word in ("like", "ilike")
    if after.text == "(" and word not in KEYWORDS and not quantified:
        yield from _function(context)
    elif word in ("order", "group", "having") and after.word in ("by", "") and after is not END:
        if after.word == "by":
            yield Hint(token, f"a rule is the condition alone: leave {word} by out")
    elif word in _WORDS and not _is_name_here(context):
        yield Hint(token, _WORDS[word])
    elif word == "is":
        yield from _is(context)
    elif word == "null" and context.before.text in _COMPARISONS and context.before.text != "<=>":
        no = "not " if context.before.text in ("!=", "<>") else ""
        yield Hint(
            token,
            f"'{context.before.text} null' is never true in Spark: write is {no}null where that is "
            "meant",
        )
    elif word == "null" and context.before.text in ("(", ","):
        yield Hint(token, "null in a list of values is not supported: write or a is null")
    elif quantified:
        yield from _quantified(context)
    elif word in _PATTERNS and after.kind == "name" and after.word not in _QUANTIFIERS:
        yield Hint(after, f"the pattern of {word} is a string, not an attribute")
    elif word in ("between", "in"):
        yield from _bounds(context)


def _quantified(context: TokenContext) -> Iterator[Hint]:
    """`like any` and `like all` are the same in both languages, their negations are not."""
    word, kind = context.token.word, context.before.word
    if context.ahead(-2).word == "not":
        other = "any" if word == "all" else "all"
        yield Hint(
            context.token,
            f"not {kind} {word} is not supported: what Spark means by it is "
            f"not (a {kind} {other} (…))",
        )
    elif word == "some":
        yield Hint(context.token, f"{kind} some is not supported: write {kind} any")


def _is_name_here(context: TokenContext) -> bool:
    """Whether a word that may also be a name in Spark is used as one."""
    after = context.ahead()
    return context.token.word != "case" and (
        after.text in _COMPARISONS
        or after.text == ")"
        or after is END
        or after.word in ("and", "or", "is", "in", "between", "like", "not", "xor")
    )


def _function(context: TokenContext) -> Iterator[Hint]:
    token, word = context.token, context.token.word
    if word == "exists" and context.ahead(2).word == "select":
        return  # the hint for select says it
    if word in INSTEAD and not (word == "left" and context.before.text == "."):
        yield Hint(token, f"{word}(…) is not supported: {INSTEAD[word]}")
    elif word in SAME and token.text != word:
        yield Hint(token, f"names are case-sensitive: write {word}(…)")
    elif word not in SAME and word not in OWN and token.text not in BUILT_IN:
        yield Hint(token, f"{word}(…) is not a built-in function: register it as an operator")


def _is(context: TokenContext) -> Iterator[Hint]:
    negated = context.ahead().word == "not"
    operand = context.ahead(2 if negated else 1).word
    if operand == "distinct":
        meant = "(a = b) is true or (a is null and b is null)"
        shown = meant if negated else f"not ({meant})"
        yield Hint(
            context.token, f"is {'not ' * negated}distinct from is not supported: write {shown}"
        )


def _bounds(context: TokenContext) -> Iterator[Hint]:
    """Attributes where only literals are possible, and lists of two families."""
    word, first = context.token.word, context.ahead()
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
        for steps in range(2, len(context.tokens)):
            token = context.ahead(steps)
            if token.text in ("(", ")") or token is END:
                break
            if token.kind in ("number", "string", "double"):
                kinds.add("number" if token.kind == "number" else "string")
        if len(kinds) > 1:
            yield Hint(
                first,
                "values of several families in one list: Spark casts them, and here each is "
                "compared with values of its own family",
            )


# Literals


def _string(context: TokenContext) -> Iterator[Hint]:
    token = context.token
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
    before = context.before
    if before.word in ("rlike", "regexp") or (before.text == "," and _in_regexp_call(context)):
        for reason in java_differences(body):
            yield Hint(token, reason)
    elif before.text in _COMPARISONS or before.word in ("between", "in", "and"):
        yield from _compared_string(context, body)


def _escapes(token: SqlToken, body: str) -> Iterator[Hint]:
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


def _in_regexp_call(context: TokenContext) -> bool:
    return any(context.ahead(-steps).word in ("rlike", "regexp", "regexp_like") for steps in (3, 4))


def _compared_string(context: TokenContext, body: str) -> Iterator[Hint]:
    token = context.token
    other = context.ahead(-2)
    if other.kind == "number" and context.before.text in _COMPARISONS:
        yield Hint(token, "a number and a string: Spark casts, nothing is cast here")
    elif body.lower() in ("nan", "infinity", "-infinity"):
        yield Hint(token, "NaN is null here, not the greatest number: write is null")
    elif other.word not in ("date", "timestamp") and read_time(body) is not None:
        literal = "date" if len(body) == 10 else "timestamp"
        yield Hint(token, f"Spark casts this where it meets a time: write {literal} '{body}'")


def _number(context: TokenContext) -> Iterator[Hint]:
    token = context.token
    if token.suffix.lower() in ("l", "s", "y", "d", "f", "bd"):
        yield Hint(token, f"numbers have no suffix, they are exact: write {token.text}")
    after = context.ahead()
    if after.text in _COMPARISONS and context.ahead(2).kind in ("string", "double"):
        return  # the hint is at the string
    if context.before.text in _COMPARISONS and context.ahead(-2).kind in ("string", "double"):
        yield Hint(token, "a string and a number: Spark casts, nothing is cast here")


def _comment(context: TokenContext) -> Iterator[Hint]:
    yield Hint(
        context.token, "/* … */ is not supported: a comment starts with -- and ends with its line"
    )


_CHECKS: dict[str, tuple[Callable[[TokenContext], Iterator[Hint]], ...]] = {
    "symbol": (_symbol,),
    "name": (_word,),
    "string": (_string,),
    "double": (_string,),
    "number": (_number,),
    "comment": (_comment,),
    "quoted": (),
    "variable": (),
}
