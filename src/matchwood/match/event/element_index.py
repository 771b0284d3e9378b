"""`any(path, …)` and `every(path, …)`: the rules inside, as an index of their own for each path.

Each element of a list is asked once for all rules about the elements of that list. Beside each rule
its negation is indexed, which is true of an element exactly where the rule is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from sys import getsizeof
from typing import Any, NamedTuple, Protocol

import numpy as np

from matchwood.index.build.segment import Segment, build_trees
from matchwood.kernels.array_types import Int32Array, Int64Array, UInt8Array
from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.language.remembered import Remembered
from matchwood.language.seen import LISTS
from matchwood.language.tree import IT, Elements, Node, Not
from matchwood.language.tree.subjects import lowered
from matchwood.language.values import NULL, listed
from matchwood.match.event.literal_kernels import FALSE_SEEN, TRUE_SEEN, UNDEFINED_SEEN

# Bytes of the elements of one path that are single values, and of their rules, that are remembered.
ELEMENTS_BUDGET = 16 << 20

# Characters of the longest string whose rules are remembered.
_SHORT = 64

# Types of elements that are equal only to what rules see alike, once the type is compared as well.
_PLAIN = frozenset((str, int, bool))


class ElementMatcher(Protocol):
    """A segment that is ready to be matched against elements."""

    def match(self, event: Any) -> tuple[Int32Array, Event | None]:
        """The ordinals of the rules that are true."""


# Makes a segment of rules about the elements of a path ready to be matched.
MatcherOf = Callable[[Segment, str], ElementMatcher]


class ElementStates(NamedTuple):
    """The states of `any` and of `every` over each rule of a path, for one event or for many."""

    any: UInt8Array
    every: UInt8Array

    def of_kind(self, kind: str) -> UInt8Array:
        """The states of one of the two."""
        return self.any if kind == "any" else self.every


# What is known of one event: its answers by path.
KnownElements = dict[str, ElementStates]


class ElementIndexes:
    """The rules about elements in a segment, by path. Threads share it."""

    def __init__(self, nodes: Iterable[Elements], matcher_of: MatcherOf) -> None:
        self._rules: dict[str, dict[Node, int]] = {}
        for node in nodes:
            of_path = self._rules.setdefault(node.attribute, {})
            of_path.setdefault(node.rule, len(of_path))
        self._matcher_of = matcher_of
        self._paths: dict[str, _PathIndex] = {}

    def answers(self, path: str, seen: Event) -> ElementStates:
        """What is true of the elements of an event."""
        return self._of(path).answers(seen)

    def answers_of_many(self, path: str, events: Iterable[Event]) -> ElementStates:
        """What is true of the elements of many events: a row of states for each rule."""
        several = [self.answers(path, seen) for seen in events]
        of_any, of_every = zip(*several, strict=True)
        return ElementStates(np.stack(of_any, 1), np.stack(of_every, 1))

    def state(self, node: Elements, answers: ElementStates) -> Any:
        """The state of a node of these, or the row of its states."""
        return answers.of_kind(node.kind)[self._rules[node.attribute][node.rule]]

    def _of(self, path: str) -> _PathIndex:
        index = self._paths.get(path)
        if index is None:  # two threads may build it, which does no harm
            index = self._paths[path] = _PathIndex(path, self._rules[path], self._matcher_of)
        return index


class _PathIndex:
    """The rules about the elements of one list."""

    def __init__(self, path: str, rules: Iterable[Node], matcher_of: MatcherOf) -> None:
        both = [form for rule in rules for form in (rule, Not(rule))]
        built = build_trees(both)
        self._path = path
        self._count = len(both)
        undefined = np.full(len(both) // 2, UNDEFINED_SEEN, np.uint8)
        self._undefined = ElementStates(undefined, undefined)
        self._positions = built.order
        self._matcher = matcher_of(built.segment, path)
        # Whether an object alone, without being known as an element, is all that rules read.
        asked = {slot.attribute for slot in built.segment.slots}
        self._reads_objects = not built.segment.lazy and asked.isdisjoint((IT, lowered(IT)))
        # What is evaluated on demand may change, as lists with names do.
        self._remembers = not built.segment.lazy
        self._known: Remembered[tuple[type, object], Int64Array] = Remembered(ELEMENTS_BUDGET)

    def answers(self, seen: Event) -> ElementStates:
        """What is true of the elements; an EventError if one of them cannot be read."""
        value = listed(seen.given(self._path))
        if not isinstance(value, (Mapping, *LISTS)) and seen[self._path] == NULL:
            return self._undefined
        items = value if isinstance(value, LISTS) else (value,)
        counts = np.zeros(self._count, np.int64)
        try:
            for item in items:
                counts[self._true_of(item, seen)] += 1
        except EventError as error:
            raise EventError(error.reason, self._path) from error
        true, false, every = counts[0::2], counts[1::2], len(items)
        of_any = np.where(false == every, FALSE_SEEN, UNDEFINED_SEEN)
        of_every = np.where(true == every, TRUE_SEEN, UNDEFINED_SEEN)
        return ElementStates(
            np.where(true > 0, TRUE_SEEN, of_any).astype(np.uint8),
            np.where(false > 0, FALSE_SEEN, of_every).astype(np.uint8),
        )

    def _true_of(self, item: object, seen: Event) -> Int64Array:
        """The numbers of the rules that are true of an element."""
        kind = type(item)
        if not self._remembers or kind not in _PLAIN or (kind is str and len(item) > _SHORT):  # type: ignore[arg-type]
            return self._match(item, seen)
        known = self._known.get((kind, item))
        if known is None:
            known = self._match(item, seen)
            size = getsizeof((kind, item)) + getsizeof(item) + getsizeof(known)
            self._known.remember((kind, item), known, size)
        return known

    def _match(self, item: object, seen: Event) -> Int64Array:
        alone = type(item) is dict and self._reads_objects
        if alone and type(seen).element_event is not Event.element_event:
            alone = False  # it watches what is asked of its elements
        ordinals, _ = self._matcher.match(item if alone else seen.element_event(item))
        return self._positions[ordinals]
