"""The tokens of rule text, and what is said of the one that does not fit.

Every quantifier that could backtrack is possessive, so reading a token takes linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from matchwood.language.errors import RuleError

_KEYWORDS = "and or xor xnor not is null true false between in like ilike rlike"
KEYWORDS = frozenset(_KEYWORDS.split())

SPACE = r"(?:\s|--[^\n]*+)*+"
NAME = r"[^\W\d]\w*+"
PATH = rf"{NAME}(?:\s*+\.\s*+{NAME})*+"
NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
STRING = r"'(?:[^']|'')*+'"
COMPARE = r"(?:<=|>=|<>|!=|==|=|<|>)"

TOKEN = re.compile(
    rf"{SPACE}(?:(?P<name>{PATH})|(?P<number>{NUMBER})|(?P<string>{STRING})"
    rf"|(?P<quoted>`(?:[^`]|``)*+`)|(?P<variable>\?{NAME})"
    rf"|(?P<symbol>{COMPARE}|[(),+\-*/])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)


class Token(NamedTuple):
    kind: str  # the group of TOKEN that matched
    text: str
    start: int
    end: int


class Tokens:
    """Rule text and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> Token:
        match = TOKEN.match(self.text, self.position)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        return Token(kind, match[kind], match.start(kind), match.end(kind))

    def take(self) -> Token:
        match = TOKEN.match(self.text, self.position)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        token = Token(kind, match[kind], match.start(kind), match.end(kind))
        self.position = token.end
        return token

    def next_is(self, *words: str) -> bool:
        """Take the next token if it is one of these keywords or symbols."""
        token = self.peek()
        if token.kind in ("name", "symbol") and token.text.lower() in words:
            self.position = token.end
            return True
        return False

    def expect(self, *words: str) -> Token:
        token = self.take()
        if token.kind not in ("name", "symbol") or token.text.lower() not in words:
            self.fail(" or ".join(f"'{word}'" for word in words), token)
        return token

    def fail(self, expected: str, token: Token) -> NoReturn:
        found = self.describe(token)
        raise RuleError(
            f"expected {expected}, found {found}",
            text=self.text,
            position=token.start,
            found=found,
            expected=expected,
        )

    def refuse(self, reason: str, position: int) -> NoReturn:
        raise RuleError(reason, text=self.text, position=position)

    def place(self, position: int) -> str:
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return f"at column {column}" if line == 1 else f"at line {line}, column {column}"

    def describe(self, token: Token) -> str:
        if token.kind == "end":
            return "the end of the rule"
        if token.kind == "other":
            if token.text == '"':
                self.refuse(
                    "double quotes are not used: write a string in single quotes ('text') "
                    "and a name in backquotes (`name`)",
                    token.start,
                )
            if token.text in "'`":
                what = "string" if token.text == "'" else "name"
                self.refuse(
                    f"this {what} is not closed: expected {token.text} at its end", token.start
                )
            return f"the character {token.text!r}"
        shown = token.text if len(token.text) <= 40 else token.text[:39] + "…"
        if token.kind == "name" and reserved(token.text.lower()):
            return f"the keyword '{shown}'"
        return f"'{shown}'" if token.kind == "symbol" else f"{token.kind} {shown}"


def is_name(text: str) -> bool:
    """Whether text reads as one name."""
    return re.fullmatch(NAME, text) is not None


def reserved(word: str) -> bool:
    """Whether a name, in lower case, is a keyword or starts with one: after a dot all are names."""
    return word in KEYWORDS or ("." in word and word.partition(".")[0].rstrip() in KEYWORDS)


def unquote(text: str) -> str:
    """What a string or a name in quotes says; its quote is written twice within it."""
    return text[1:-1].replace(text[0] * 2, text[0])
