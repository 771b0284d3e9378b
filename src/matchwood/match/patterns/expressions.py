"""Regular expressions on RE2: what text they all need, and sets of those that need none.

An expression that needs a literal text is a candidate only if a string contains that text; the
others are searched together, in sets. RE2 takes time linear in the string, whatever the expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matchwood.language.strings import (
    SEARCH_MEMORY,
    asked,
    is_left,
    program_size,
    regular_expression,
    search_options,
)

# Expressions per set; one set of all of them would have too many states.
SET_SIZE = 400

# Characters of the expressions of a set.
SET_TEXT = 20_000

# Steps of the programs of the expressions of a set.
SET_STEPS = 100_000

# Bytes of memory of all sets together.
SET_MEMORY = 256 << 20

# Bytes of memory that each set has at least: RE2's default.
LEAST_MEMORY = SEARCH_MEMORY

_SIMPLE_ESCAPES = "dDwWsSbBAz"
_QUANTIFIERS = "*+?{"


def needed_text(expression: str) -> str:
    r"""A text, in ASCII and up to case, that every string the expression finds contains.

    Whatever is not plainly a literal is passed over; '' is always a correct answer.

    >>> needed_text(r"(?i)invoke-\w+\s+https?://")
    'invoke-'
    >>> needed_text("a|b")
    ''
    """
    best = run = ""
    i = 0
    while i < len(expression):
        character = expression[i]
        i += 1
        literal = ""
        if character == "|" or character == ")":
            return ""
        if character == "\\":
            escaped = expression[i : i + 1]
            i += 1
            if escaped.isascii() and not escaped.isalnum():
                literal = escaped
            elif escaped in ("p", "P"):
                i = _after_property(expression, i)
            elif escaped not in _SIMPLE_ESCAPES:
                return ""
        elif character == "[":
            i = _after_class(expression, i)
        elif character == "(":
            i = _after_group(expression, i)
        elif character not in ".^$" and character.isascii():
            literal = character
        if i < 0 or character in _QUANTIFIERS:
            return ""
        if expression[i : i + 1] in tuple(_QUANTIFIERS):
            i = _after_quantifiers(expression, i)
            if i < 0:
                return ""
            best, run = max(best, run, key=len), ""
        elif literal:
            run += literal
        else:
            best, run = max(best, run, key=len), ""
    return max(best, run, key=len)


def _after_property(expression: str, i: int) -> int:
    r"""The index after the name of a class of characters, as in `\pL` and `\p{Greek}`, or -1."""
    if expression[i : i + 1] != "{":
        return i + 1 if i < len(expression) else -1
    return expression.find("}", i) + 1 or -1


def _after_class(expression: str, i: int) -> int:
    """The index after a class that was opened before i, or -1 if that is not plain."""
    if expression[i : i + 1] == "^":
        i += 1
    if expression[i : i + 1] == "]":
        i += 1
    while i < len(expression):
        if expression.startswith("[:", i):
            i = expression.find(":]", i + 2) + 2
            if i < 2:
                return -1
        elif expression[i] == "\\":
            if expression[i + 1 : i + 2] in ("Q", "E", ""):
                return -1
            i += 2
        elif expression[i] == "]":
            return i + 1
        else:
            i += 1
    return -1


def _after_group(expression: str, i: int) -> int:
    """The index after a group that was opened before i, or -1 if that is not plain."""
    depth = 1
    while i < len(expression):
        character = expression[i]
        i += 1
        if character == "\\":
            if expression[i : i + 1] in ("Q", "E", ""):
                return -1
            i += 1
        elif character == "[":
            i = _after_class(expression, i)
            if i < 0:
                return -1
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return i
    return -1


def _after_quantifiers(expression: str, i: int) -> int:
    """The index after `*`, `+?`, `{2,3}` and the like, or -1 for a `{` that is no quantifier."""
    while expression[i : i + 1] in tuple(_QUANTIFIERS):
        if expression[i] == "{":
            end = expression.find("}", i)
            if end < 0 or not expression[i + 1 : end].replace(",", "", 1).isdecimal():
                return -1
            i = end
        i += 1
    return i


class Expression:
    """One expression, compiled when it is first used.

    >>> Expression("^a+$").finds("aaa")
    True
    """

    __slots__ = ("_compiled", "_pattern")

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._compiled: Any = None

    def finds(self, text: str) -> bool:
        """Whether the expression is found in a text."""
        if self._compiled is None or is_left(self._compiled):
            self._compiled = regular_expression(self._pattern)
        return asked(self._compiled, self._compiled.search, text) is not None


class ExpressionSet:
    """Many expressions, searched in one pass per set.

    >>> ExpressionSet(["^a", "b$", "c"]).found("ab")
    [0, 1]
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        chunks: list[list[str]] = [[]]
        size = steps = 0
        for pattern in patterns:
            if len(chunks[-1]) >= SET_SIZE or size > SET_TEXT or steps > SET_STEPS:
                chunks.append([])
                size = steps = 0
            chunks[-1].append(pattern)
            size += len(pattern)
            steps += _steps(pattern)
        memory = max(LEAST_MEMORY, SET_MEMORY // len(chunks))
        self._chunks = [_Chunk(chunk, memory) for chunk in chunks]

    def found(self, text: str) -> list[int]:
        """The indices of the patterns that are found in the text."""
        encoded = text.encode()
        indices: list[int] = []
        first = 0
        for chunk in self._chunks:
            indices += [first + index for index in chunk.found(encoded, text)]
            first += len(chunk.alone)
        return indices


def _steps(pattern: str) -> int:
    """About how long the program of an expression is; without repetitions, as long as its text."""
    return program_size(pattern) if "{" in pattern or "\\" in pattern else len(pattern)


class _Chunk:
    """Some expressions in one RE2 set."""

    def __init__(self, patterns: Sequence[str], memory: int) -> None:
        self._patterns = patterns
        self._memory = memory
        self._together = _set_of(patterns, memory)
        self.alone = list(map(Expression, patterns))

    def found(self, encoded: bytes, text: str) -> list[int]:
        indices = None
        if is_left(self._together):
            self._together = _set_of(self._patterns, self._memory)
        if self._together is not None:
            indices = asked(self._together, self._together.Match, encoded)
        if indices is None:
            return [i for i, expression in enumerate(self.alone) if expression.finds(text)]
        return [index for index in indices if index < len(self.alone)]


def _set_of(patterns: Sequence[str], memory: int) -> Any:
    """A set of the patterns and of one more that is found everywhere; None if they are too large.

    A set that runs out of memory finds nothing, and only the missing match of that one shows it.
    """
    import re2

    together = re2.Set.SearchSet(search_options(memory))
    try:
        for pattern in (*patterns, ""):
            together.Add(pattern)
        together.Compile()
    except re2.error:
        return None
    return together
