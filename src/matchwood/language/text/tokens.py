"""The tokens of rule text, and the error for one that was not expected.

Every quantifier that could backtrack is possessive, so reading a token takes linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from matchwood.language.errors import RuleError
from matchwood.language.names import NAME, reserved

# Regular expressions. Blanks and comments:
SPACE = r"(?:\s|--[^\n]*+)*+"
# Names with dots between them, such as `user.age`:
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
    """A token, and where it starts and ends in the text."""

    kind: str  # the group of TOKEN that matched
    text: str
    start: int
    end: int


class Tokens:
    """The text of a rule, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> Token:
        """The next token, which stays."""
        match = TOKEN.match(self.text, self.position)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        return Token(kind, match[kind], match.start(kind), match.end(kind))

    def take(self) -> Token:
        """Consume the next token."""
        match = TOKEN.match(self.text, self.position)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        token = Token(kind, match[kind], match.start(kind), match.end(kind))
        self.position = token.end
        return token

    def next_is(self, *words: str) -> bool:
        """Consume the next token if it is one of these keywords or symbols."""
        token = self.peek()
        if token.kind in ("name", "symbol") and token.text.lower() in words:
            self.position = token.end
            return True
        return False

    def expect(self, *words: str) -> Token:
        """Consume the next token; a RuleError if it is none of these keywords or symbols."""
        token = self.take()
        if token.kind not in ("name", "symbol") or token.text.lower() not in words:
            self.fail(" or ".join(f"'{word}'" for word in words), token)
        return token

    def fail(self, expected: str, token: Token) -> NoReturn:
        """Raise a RuleError: something else was expected where a token is."""
        found = self.describe(token)
        raise RuleError(
            f"expected {expected}, found {found}",
            text=self.text,
            position=token.start,
            found=found,
            expected=expected,
        )

    def refuse(self, reason: str, position: int) -> NoReturn:
        """Raise a RuleError at a position of the text."""
        raise RuleError(reason, text=self.text, position=position)

    def place(self, position: int) -> str:
        """A position in words, such as "at column 5"."""
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return f"at column {column}" if line == 1 else f"at line {line}, column {column}"

    def describe(self, token: Token) -> str:
        """A token in words; a RuleError if a quote explains the mistake better."""
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
                kind = "string" if token.text == "'" else "name"
                self.refuse(
                    f"this {kind} is not closed: expected {token.text} at its end", token.start
                )
            return f"the character {token.text!r}"
        shown = token.text if len(token.text) <= 40 else token.text[:39] + "…"
        if token.kind == "name" and reserved(token.text.lower()):
            return f"the keyword '{shown}'"
        return f"'{shown}'" if token.kind == "symbol" else f"{token.kind} {shown}"


def unquote(text: str) -> str:
    """The content of a quoted string or name, in which the quote itself is written twice."""
    return text[1:-1].replace(text[0] * 2, text[0])


def find_attribute(text: str, name: str) -> int | None:
    """Where the text of a rule first names an attribute.

    >>> find_attribute("'age' = name and age > 5", "age")
    17
    """
    tokens = Tokens(text)
    while (token := tokens.take()).kind != "end":
        if token.kind == "name" and "".join(token.text.split()) == name:
            return token.start
        if token.kind == "quoted" and unquote(token.text) == name:
            return token.start
    return None


def find_variable(text: str, name: str) -> int | None:
    """Where the text of a rule first names the variable `?name`.

    >>> find_variable("mob(image, ?people) and ?people > 50", "people")
    11
    """
    tokens = Tokens(text)
    while (token := tokens.take()).kind != "end":
        if token.kind == "variable" and token.text == f"?{name}":
            return token.start
    return None
