"""Patterns that are looked for in all values of an event: `* ilike '%mimikatz%'`.

Each string of an event is looked up once for all of them, however many rules ask.
"""

from __future__ import annotations

from typing import NamedTuple

from matchwood.index.build.segment import Segment
from matchwood.language.bindings import Truth
from matchwood.language.events import Event
from matchwood.language.subjects import strings_in
from matchwood.language.tree import Like, Node
from matchwood.language.tree.subjects import Everything
from matchwood.match.patterns.pattern_index import PatternIndex


class FoundEverywhere(NamedTuple):
    """The patterns that are true of some value of an event, and whether it has any value."""

    numbers: frozenset[int]
    has_values: bool

    def truth(self, number: int) -> Truth:
        """Whether a pattern is true of the list of all values; undefined if there are none."""
        if number in self.numbers:
            return True
        return False if self.has_values else None


class PatternsEverywhere:
    """The atoms of a segment that are patterns over `*`, by their numbers. Threads share it."""

    def __init__(self, tests: list[tuple[int, Node]]) -> None:
        self._index = PatternIndex(tests)
        self.numbers = frozenset(number for number, _ in tests)

    @classmethod
    def of(cls, segment: Segment) -> PatternsEverywhere | None:
        """None if the segment has none."""
        tests = [
            (number, segment.opaque[number])
            for number in segment.lazy
            if _is_everywhere(segment.opaque[number])
        ]
        return cls(tests) if tests else None

    def found(self, event: Event) -> FoundEverywhere:
        """What is true of an event."""
        strings, has_values = strings_in(event)
        numbers: set[int] = set()
        hits = self._index.hits
        for text in strings:
            true = hits(text)
            if len(true):
                numbers.update(true.tolist())
        return FoundEverywhere(frozenset(numbers), has_values)


def _is_everywhere(node: Node) -> bool:
    return isinstance(node, Like) and not node.negated and isinstance(node.attribute, Everything)
