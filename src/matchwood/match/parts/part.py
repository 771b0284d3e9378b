"""A part: a segment, the details of its rules, and which of them are alive."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.index.build.segment import Segment
from matchwood.match.batch.batch_matcher import BatchMatcher
from matchwood.match.batch.sweep.whole_program import WholeProgram
from matchwood.match.event.event_matcher import ALL, SegmentMatcher
from matchwood.match.json.json_matcher import JsonMatcher
from matchwood.match.parts.context import Context
from matchwood.match.parts.operator_rules import Keep, OperatorRules
from matchwood.match.parts.rule_columns import RuleColumns, RuleDetails

# How many selections by tags a part remembers.
_SELECTIONS = 64


class SegmentMatchers:
    """What asks a segment, made when it is first asked, and shared by the copies of a part."""

    def __init__(self, segment: Segment, context: Context, program: WholeProgram) -> None:
        self._segment = segment
        self.program = program
        self._context = context
        self._lock = threading.RLock()  # Python's cached_property has one lock for all instances
        self._matcher: SegmentMatcher | None = None
        self._batch: BatchMatcher | None = None
        self._json: JsonMatcher | None = None
        self._json_is_made = False
        self.known_operator_rules: OperatorRules | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.RLock()

    @property
    def matcher(self) -> SegmentMatcher:
        made = self._matcher
        if made is None:
            with self._lock:
                made = self._matcher
                if made is None:
                    made = self._matcher = SegmentMatcher(self._segment, *self._context)
        return made

    @property
    def batch(self) -> BatchMatcher:
        made = self._batch
        if made is None:
            with self._lock:
                made = self._batch
                if made is None:
                    made = self._batch = BatchMatcher(self.matcher, self.program)
        return made

    @property
    def json(self) -> JsonMatcher | None:
        if not self._json_is_made:
            with self._lock:
                if not self._json_is_made:
                    self._json = JsonMatcher.of(self.matcher)
                    self._json_is_made = True
        return self._json

    @property
    def bytes(self) -> int:
        """Bytes that strategies hold beside the segment."""
        single, batch = self._matcher, self._batch
        return (0 if single is None else single.bytes) + (0 if batch is None else batch.bytes)

    def operator_rules(self, details: RuleColumns) -> OperatorRules:
        """What finds the rules that call operators."""
        if self.known_operator_rules is None:
            with self._lock:
                if self.known_operator_rules is None:
                    rules = details.rules_at(self._segment.costly)
                    self.known_operator_rules = OperatorRules(
                        self._segment, rules, lambda i: details[i].id, self._context
                    )
        return self.known_operator_rules


class Part:
    """A segment, the details of its rules, and which of them are alive.

    `number` tells the parts of a store apart; a part and its copies have the same one.
    """

    def __init__(
        self,
        segment: Segment,
        details: RuleColumns,
        context: Context,
        number: int = 0,
        alive: Keep = ALL,
        shared: SegmentMatchers | None = None,
        program: WholeProgram | None = None,
    ) -> None:
        self.segment = segment
        self.details = details
        self.context = context
        self.number = number
        self.alive = alive
        self.live = int(alive.sum()) if len(alive) else len(details)
        if shared is None:
            shared = SegmentMatchers(segment, context, program or WholeProgram(segment))
        self._matchers = shared
        self._selected: dict[frozenset[str], Keep] = {}
        self.calls_operators = len(segment.costly) > 0

    @property
    def operator_rules(self) -> OperatorRules:
        """The rules that call operators, made when first needed."""
        return self._matchers.operator_rules(self.details)

    @property
    def known_operator_rules(self) -> OperatorRules | None:
        """`operator_rules`, or None if nothing has needed them yet."""
        return self._matchers.known_operator_rules

    def prepare(self) -> Part:
        """Where rules call operators, do now what the first event would have to wait for."""
        if self.calls_operators:
            _ = self.operator_rules
        return self

    @property
    def matcher(self) -> SegmentMatcher:
        """What matches one event."""
        return self._matchers.matcher

    @property
    def batch(self) -> BatchMatcher:
        """What matches many events."""
        return self._matchers.batch

    @property
    def json(self) -> JsonMatcher | None:
        """What matches JSON texts; None if the rules need the events themselves."""
        return None if self.calls_operators else self._matchers.json

    @property
    def program(self) -> WholeProgram:
        """The program of a sweep of all rules."""
        return self._matchers.program

    @property
    def bytes(self) -> int:
        """Bytes of the segment, and of what a strategy holds beside it."""
        return self.segment.bytes + self._matchers.bytes

    def _copy(self, number: int, alive: Keep) -> Part:
        return Part(self.segment, self.details, self.context, number, alive, self._matchers)

    def asking(self, context: Context) -> Part:
        """A copy that uses other operators, or another schema."""
        arguments = (self.segment, self.details, context, self.number, self.alive)
        return Part(*arguments, program=self.program)

    def numbered(self, number: int) -> Part:
        """A copy with another number."""
        return self._copy(number, self.alive)

    def without(self, ordinals: Iterable[int]) -> Part:
        """A copy from which these rules are removed; readers of this part are not disturbed."""
        alive = self.alive.copy() if len(self.alive) else np.ones(len(self.details), np.uint8)
        alive[list(ordinals)] = 0
        return self._copy(self.number, alive)

    @property
    def dead(self) -> NDArray[np.int64]:
        """The ordinals of the rules that were removed."""
        return np.flatnonzero(self.alive == 0)

    def live_ordinals(self) -> NDArray[np.int64]:
        """The ordinals of the rules that are still there."""
        return np.flatnonzero(self.alive) if len(self.alive) else np.arange(len(self.details))

    def gone(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these rules was removed."""
        return self.alive[ordinals] == 0 if len(self.alive) else np.zeros(len(ordinals), np.bool_)

    def rules(self, ordinals: NDArray[np.int64]) -> list[Any]:
        """These rules, as they were given."""
        return self.details.rules_at(ordinals)

    def live_details(self) -> Iterator[RuleDetails]:
        """The rules that are still there, with their ids, tags and priorities."""
        for ordinal, details in enumerate(self.details):
            if not len(self.alive) or self.alive[ordinal]:
                yield details

    def keep(self, wanted: frozenset[str] | None) -> Keep:
        """Which rules to report: those that are alive and have one of the wanted tags."""
        if wanted is None:
            return self.alive
        keep = self._selected.get(wanted)
        if keep is None:
            keep = np.zeros(len(self.details), np.uint8)
            chosen = [ordinal for ordinal, tags in self.details.tags.items() if tags & wanted]
            keep[chosen] = 1
            if len(self.alive):
                keep &= self.alive
            if len(self._selected) >= _SELECTIONS:
                self._selected.clear()
            self._selected[wanted] = keep
        return keep
