"""The value tests that are true of a string, or of a list, of any attribute of a segment."""

from __future__ import annotations

from collections.abc import Mapping
from sys import getsizeof
from typing import Any

from matchwood.kernels.array_types import Int32Array
from matchwood.language.remembered import Remembered
from matchwood.match.patterns.pattern_index import PatternIndex

# Bytes of the lists of strings whose hits are remembered, and of these hits.
LISTS_BUDGET = 16 << 20

# Strings of the longest list that is remembered.
_LONGEST = 16


class StringHits:
    """The patterns of a segment by attribute, and the hits of recent lists; threads share it."""

    def __init__(self, patterns: Mapping[str, PatternIndex]) -> None:
        self._patterns = patterns
        self._lists: Remembered[tuple[str, tuple[str, ...]], Int32Array] = Remembered(LISTS_BUDGET)

    def hits(self, attribute: str, value: Any) -> Int32Array:
        """The tests of an attribute that are true of a string, or of a list."""
        if isinstance(value, str):
            return self._patterns[attribute].hits(value)
        if value and type(value[0]) is not str:
            return self._patterns[attribute].list_hits(value)
        return self._strings_hits(attribute, value)

    def _strings_hits(self, attribute: str, texts: tuple[str, ...]) -> Int32Array:
        """The tests that are true of a list of strings; recent lists are remembered."""
        known = self._lists.get((attribute, texts))
        if known is None:
            known = self._patterns[attribute].strings_hits(texts)
            if len(texts) <= _LONGEST:
                size = getsizeof(texts) + sum(map(getsizeof, texts)) + getsizeof(known)
                self._lists.remember((attribute, texts), known, size)
        return known
