"""Wildcards and regular expressions of Lucene, which cover the whole value.

Lucene's expressions have operators that RE2 lacks (`~`, `&`, `<1-9>`), and take `^` and `$` for
ordinary characters. What both have is written for RE2, and everything else is refused.
"""

from __future__ import annotations

import re

_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")

# Operators of Lucene that RE2 lacks, where no flag switches them off.
_OPERATORS = {"~": "a complement", "&": "an intersection", "@": "any string", "<": "an interval"}
_OPERATORS |= {"#": "the empty language"}


class LucenePatternError(ValueError):
    """A pattern that cannot be said exactly."""


def like_pattern(wildcard: str) -> str:
    """The `like` pattern of a wildcard: `*` is any text, `?` a character, `\\` escapes.

    >>> like_pattern("50%*_?")
    '50\\\\%%\\\\__'
    """
    return "".join(
        {"*": "%", "?": "_"}.get(character, "") if special else _escaped(character)
        for character, special in _pieces(wildcard)
    )


def wildcard_expression(wildcard: str) -> str:
    """The expression of a wildcard that ignores the case of ASCII, as Lucene does."""
    body = "".join(
        {"*": ".*", "?": "."}.get(character, "") if special else either_case(character)
        for character, special in _pieces(wildcard)
    )
    return f"(?s)^{body}$"


def has_wildcards(wildcard: str) -> bool:
    return any(special for _, special in _pieces(wildcard))


def unescaped(wildcard: str) -> str:
    """The text of a wildcard that has none."""
    return "".join(character for character, _ in _pieces(wildcard))


def _pieces(wildcard: str) -> list[tuple[str, bool]]:
    """Characters, each with whether it stands for others."""
    found, characters = [], iter(wildcard)
    for character in characters:
        if character == "\\":
            found.append((next(characters, "\\"), False))
        else:
            found.append((character, character in "*?"))
    return found


def _escaped(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def escaped_like(text: str) -> str:
    """A text as a part of a `like` pattern."""
    return "".join(map(_escaped, text))


def either_case(text: str) -> str:
    """An expression for a text that ignores the case of ASCII letters."""
    return "".join(
        f"[{character.lower()}{character.upper()}]"
        if character.isascii() and character.isalpha()
        else _literal(character)
        for character in text
    )


def _literal(character: str) -> str:
    if ord(character) < 32 or ord(character) == 127:
        return f"\\x{{{ord(character):x}}}"
    plain = character.isalnum() or not character.isascii() or character in " _/'\"<>=!@#%,:;~`"
    return character if plain else f"\\{character}"


def regular_expression(pattern: str, ignore_case: bool = False, operators: bool = True) -> str:
    """The expression of RE2 for one of Lucene; `operators` says whether `~` and others are some.

    >>> regular_expression("ab+?|^.")
    '(?s)^(?:a(?:b+)?|\\\\^.)$'
    """
    return f"(?s)^(?:{_LucenePattern(pattern, ignore_case, operators).read()})$"


class _LucenePattern:
    """Reads an expression of Lucene from left to right."""

    def __init__(self, text: str, ignore_case: bool, operators: bool) -> None:
        self.text = text
        self.at = 0
        self.ignore_case = ignore_case
        self.operators = operators
        self.depth = 0

    def read(self) -> str:
        found = self.union()
        if self.at < len(self.text):
            raise LucenePatternError("a group ends that has no start")
        return found

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def next(self) -> str:
        if self.at == len(self.text):
            raise LucenePatternError("the expression ends in the middle")
        self.at += 1
        return self.text[self.at - 1]

    def union(self) -> str:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self.sequence())
        return "|".join(parts)

    def sequence(self) -> str:
        parts: list[str] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated())
        if not parts and self.text:
            raise LucenePatternError("an alternative is empty")
        return "".join(parts)

    def repeated(self) -> str:
        found = self.atom()
        first = True
        while True:
            character = self.peek()
            if character and character in "*+?":
                self.at += 1
                quantifier = character
            elif character == "{":
                match = _REPEAT.match(self.text, self.at)
                if match is None:
                    raise LucenePatternError("a repetition is {n}, {n,} or {n,m}")
                self.at, quantifier = match.end(), match[0]
            else:
                return found
            found = f"{found}{quantifier}" if first else f"(?:{found}){quantifier}"
            first = False

    def atom(self) -> str:
        character = self.next()
        if character == "(":
            return self.group()
        if character == "[":
            return self.characters()
        if character == ".":
            return "."
        if character == "\\":
            return self.escape()
        if character == '"' and self.operators:
            return self.quoted()
        if character in _OPERATORS and self.operators:
            raise LucenePatternError(f"{character}, {_OPERATORS[character]}, is not in RE2")
        if character in "*+?{":
            raise LucenePatternError(f"{character} repeats nothing")
        return self.single(character)

    def group(self) -> str:
        self.depth += 1
        if self.depth > 50:
            raise LucenePatternError("groups nest over 50 deep")
        if self.peek() == ")":
            self.at += 1
            self.depth -= 1
            return "(?:)"
        inner = self.union()
        if self.next() != ")":
            raise LucenePatternError("a group has no end")
        self.depth -= 1
        return f"(?:{inner})"

    def quoted(self) -> str:
        end = self.text.find('"', self.at)
        if end < 0:
            raise LucenePatternError("a quoted text has no end")
        text, self.at = self.text[self.at : end], end + 1
        return f"(?:{''.join(map(self.single, text))})"

    def escape(self) -> str:
        character = self.next()
        if character in "dDwW":
            return f"\\{character}"
        if character.isascii() and character.isalnum():
            raise LucenePatternError(f"\\{character} is not the same in all versions of Lucene")
        return self.single(character)

    def single(self, character: str) -> str:
        return either_case(character) if self.ignore_case else _literal(character)

    def characters(self) -> str:
        negated = self.peek() == "^"
        self.at += negated
        pieces: list[str] = []
        while (character := self.next()) != "]" or not pieces:
            pieces.append(self.member(character))
        return f"[{'^' if negated else ''}{''.join(pieces)}]"

    def member(self, character: str) -> str:
        if character in "[]":
            raise LucenePatternError("brackets inside brackets")
        first = self.plain(character)
        if self.peek() != "-":
            letters = self.ignore_case and first.isascii() and first.isalpha()
            return first.lower() + first.upper() if letters else _literal(first)
        self.at += 1
        last = self.plain(self.next())
        if last == "]" or last < first:
            raise LucenePatternError("a range of characters has two ends, the lower one first")
        if self.ignore_case:
            raise LucenePatternError("a range of characters without case")
        return f"{_literal(first)}-{_literal(last)}"

    def plain(self, character: str) -> str:
        if character != "\\":
            return character
        escaped = self.next()
        if escaped.isascii() and escaped.isalnum():
            raise LucenePatternError(f"\\{escaped} in brackets")
        return escaped
