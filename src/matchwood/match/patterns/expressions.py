"""Regular expressions on RE2: which of many are found in a string.

`re2.Filter` knows what texts each expression needs, looks for those of all expressions in one pass,
and names the few expressions that may be found. Expressions that need no text are searched
together, in sets. RE2 takes time linear in the string, whatever the expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from matchwood.language.strings import (
    SEARCH_MEMORY,
    asked,
    is_left,
    program_size,
    regular_expression,
    search_options,
)

# Characters of the expressions of a filter. RE2 refuses about 130,000 characters of needed texts,
# and an expression may need more text than it has characters; then its filter is divided.
FILTER_TEXT = 120_000

# A text that is appended to every string, and that one more expression of every filter needs. A
# filter that runs out of memory finds no text, and only this one's absence shows it.
CANARY = "\0\1\2\3\4"

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
    """Many expressions, searched together.

    >>> expressions = ExpressionSet(["^ab", "b$", "bc+", "."])
    >>> expressions.found("abb")
    [0, 1, 3]
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.tried = 0  # expressions that were searched alone so far; threads may lose a few counts
        self._filters: list[_Filter] = []
        unaided: list[int] = []
        todo = list(_parts(patterns))
        while todo:
            indices = todo.pop()
            expressions = _Filter(indices, [patterns[index] for index in indices])
            if not expressions.is_too_large():
                unneeding = expressions.without_needed_text()
                unaided += unneeding
                indices = sorted({*indices} - {*unneeding})
                if unneeding:
                    expressions = _Filter(indices, [patterns[index] for index in indices])
                if indices:
                    self._filters.append(expressions)
            elif len(indices) > 1:
                middle = len(indices) // 2
                todo += [indices[:middle], indices[middle:]]
            else:
                unaided += indices
        unaided.sort()
        self._unaided = unaided
        self._sets = _sets([patterns[index] for index in unaided])

    def found(self, text: str) -> list[int]:
        """The indices of the patterns that are found in the text, in ascending order."""
        encoded = text.encode()
        indices: list[int] = []
        for expressions in self._filters:
            candidates = expressions.candidates(encoded)
            self.tried += len(candidates)
            indices += expressions.found_among(candidates, encoded)
        first = 0
        for together in self._sets:
            indices += [self._unaided[first + index] for index in together.found(encoded, text)]
            first += len(together.alone)
        indices.sort()
        return indices


def _parts(patterns: Sequence[str]) -> Iterator[list[int]]:
    """The indices of all patterns, in parts of about as many characters as a filter takes."""
    part: list[int] = []
    size = 0
    for index, pattern in enumerate(patterns):
        part.append(index)
        size += len(pattern)
        if size > FILTER_TEXT:
            yield part
            part, size = [], 0
    if part:
        yield part


class _Filter:
    """Some expressions in one RE2 filter, which knows the texts that each of them needs."""

    def __init__(self, indices: Sequence[int], patterns: Sequence[str]) -> None:
        self._indices = indices
        self._patterns = patterns
        self._filter = _filter_of(patterns)

    def is_too_large(self) -> bool:
        """Whether RE2 refuses so much text."""
        return self._filter is None

    def without_needed_text(self) -> list[int]:
        """The indices of the expressions that need no text: an empty text has none."""
        return [self._indices[number] for number in self._filter.Match(b"", True) or ()]

    def candidates(self, encoded: bytes) -> Sequence[int]:
        """The numbers of the expressions whose needed texts are there."""
        if is_left(self._filter):
            self._filter = _filter_of(self._patterns)
        match = partial(self._filter.Match, potential=True)
        candidates = asked(self._filter, match, encoded + CANARY.encode())
        if not candidates or candidates[-1] != len(self._patterns):
            return range(len(self._patterns))
        return list(candidates[:-1])

    def found_among(self, candidates: Sequence[int], encoded: bytes) -> list[int]:
        """The indices of those candidates that are found in a text."""
        return [
            self._indices[number]
            for number in candidates
            if asked(self._filter, self._filter.re(number).search, encoded) is not None
        ]


def _filter_of(patterns: Sequence[str]) -> Any:
    """A filter of the patterns and of one more, which needs the canary; None if it is too large."""
    import re2

    together = re2.Filter()
    options = search_options()
    for pattern in (*patterns, CANARY):
        together.Add(pattern, options)
    try:
        together.Compile()
    except re2.error:
        return None
    return together


def _sets(patterns: Sequence[str]) -> list[_Set]:
    """The patterns in sets that are not too large."""
    if not patterns:
        return []
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
    return [_Set(chunk, memory) for chunk in chunks]


def _steps(pattern: str) -> int:
    """About how long the program of an expression is; without repetitions, as long as its text."""
    return program_size(pattern) if "{" in pattern or "\\" in pattern else len(pattern)


class _Set:
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
