"""The rules that events are matched with, such that an answer is always that of one version.

Small changes are made in place, in several steps, while other threads match. Whoever matches
therefore looks at the state before and after: if it is another one, or was being changed, what was
found may be that of no version, and is found again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.store.snapshot import Snapshot
from matchwood.matcher import Bindings, Matcher
from matchwood.operators.call_execution import own_time
from matchwood.service.problems import RequestProblem, event_problem
from matchwood.service.rules.timed_matching import MEASURED_BYTES, Suspension, TimedMatching
from matchwood.service.settings import Limits

T = TypeVar("T")
# Up to so many events are matched one by one rather than as a batch.
FEW_EVENTS = 3
# Attempts to match while the rules keep changing, before changes have to wait.
ATTEMPTS = 3
# The most bytes of texts of rules that are remembered; beyond that, all are forgotten.
MOST_WRITTEN_BYTES = 32 << 20
# Bytes that a text takes beyond its own, with its place in the dict of texts.
WRITTEN_OVERHEAD = 150
# For each event, the ids of the rules that are true of it, with the bindings of their variables.
Matches = list[dict[str, Bindings | None]]


class RulesState(NamedTuple):
    """The rules of one version; each change makes a new object."""

    version: int
    matcher: Matcher
    changing: bool = False  # the matcher has some of the changes to the next version


class WrittenRules:
    """What was written of rules in answers of one state."""

    def __init__(self, state: RulesState) -> None:
        self.state = state
        self.texts: dict[str, bytes] = {}
        self.bytes = 0  # about


class MustSuspend(Exception):
    """Rules have to be suspended by a thread that makes changes wait."""

    def __init__(self, suspensions: list[Suspension]) -> None:
        super().__init__(suspensions)
        self.suspensions = suspensions


class LiveRules:
    """The current rules, and matching with them."""

    def __init__(self, limits: Limits, made_with: Mapping[str, Any]) -> None:
        self._limits = limits
        self._changing = threading.RLock()
        self.state = RulesState(0, Matcher(**made_with))
        self.timed = TimedMatching(limits, made_with)
        self.timed.suspend = self._suspend_unless_held
        self.suspend: Callable[[list[Suspension]], None] = lambda suspensions: None
        self._written = WrittenRules(self.state)
        self._held_by = 0  # the thread that has made changes wait, to match without them

    # Changes

    @contextmanager
    def change(self, version: int | None = None) -> Iterator[Matcher]:
        """Change the matcher in place. The version is that of afterwards; None leaves it.

        The schema of afterwards is that of the matcher.
        """
        with self._changing:
            before = self.state
            self.state = before._replace(changing=True)
            try:
                yield before.matcher
            except BaseException:
                self.state = before._replace()
                raise
            after = before.version if version is None else version
            self.state = RulesState(after, before.matcher)

    def replace(self, version: int, matcher: Matcher, without: Iterable[str] = ()) -> None:
        """Use another matcher from now on, `without` some of its rules."""
        with self._changing:
            matcher.remove(list(without))
            self.state = RulesState(version, matcher)

    def frozen(self) -> tuple[int, Snapshot]:
        """The current version and its rules, all of them built, for as long as one wants."""
        with self._changing:
            store = self.state.matcher.store
            with store.lock:
                store.flush()
                return self.state.version, store.snapshot

    # Matching

    def answer(self, work: Callable[[RulesState], T]) -> T:
        """What a function finds in the rules of one version."""
        for _ in range(ATTEMPTS):
            state = self.state
            if state.changing:
                with self._changing:  # until it is changed
                    state = self.state
            found = work(state)
            if self.state is state:
                return found
        while True:
            try:
                return self._answer_alone(work)
            except MustSuspend as costly:  # which is a change, so changes may not wait for it
                self.suspend(costly.suspensions)

    def _answer_alone(self, work: Callable[[RulesState], T]) -> T:
        with self._changing:
            self._held_by = threading.get_ident()
            try:
                return work(self.state)
            finally:
                self._held_by = 0

    def _suspend_unless_held(self, suspensions: list[Suspension]) -> None:
        if self._held_by == threading.get_ident():
            raise MustSuspend(suspensions)
        self.suspend(suspensions)

    def match(
        self,
        state: RulesState,
        events: Sequence[Mapping[str, Any]],
        bodies: Sequence[str],
        tags: frozenset[str] | None,
        limit: int | None,
    ) -> Matches:
        """For each event the rules that are true of it. `bodies` are the same events as JSON."""
        matcher = state.matcher
        matches: Matches = []
        try:
            if matcher.calls_operators:  # only they bind variables
                for event, body in zip(events, bodies, strict=True):
                    bound = self.timed.bindings(matcher, event, body, tags, limit)
                    matches.append({rule_id: found or None for rule_id, found in bound.items()})
            elif len(events) <= FEW_EVENTS or self._may_take_long(state, max(map(len, bodies))):
                for event, body in zip(events, bodies, strict=True):
                    matches.append(dict.fromkeys(self.timed.ids(matcher, event, body, tags, limit)))
            else:
                matches = [{} for _ in events]
                begun = own_time()
                table = matcher.match_json_batch(bodies, tags=tags, limit=limit)
                seconds = own_time() - begun
                pairs = zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True)
                for event, rule_id in pairs:
                    matches[event][rule_id] = None
                self.timed.look_into_batch(matcher.store.snapshot, events, bodies, seconds)
        except EventError as error:
            raise _problem_of(error, events) from None
        total = sum(map(len, matches))
        if total > self._limits.batch_matches:
            detail = f"{total:,} matches, the limit is {self._limits.batch_matches:,}: use `limit`"
            raise RequestProblem("answer-too-large", detail, limit=self._limits.batch_matches)
        return matches

    def written(
        self, state: RulesState, rule_id: str, write: Callable[[RuleDetails], bytes]
    ) -> bytes | None:
        """What `write` makes of a rule, remembered; None if the rule was removed meanwhile."""
        known = self._written
        if known.state is not state or known.bytes >= MOST_WRITTEN_BYTES:
            known = self._written = WrittenRules(state)
        text = known.texts.get(rule_id)
        if text is None and (details := details_or_none(state.matcher, rule_id)) is not None:
            text = known.texts[rule_id] = write(details)
            known.bytes += len(text) + WRITTEN_OVERHEAD
        return text

    def _may_take_long(self, state: RulesState, size: int) -> bool:
        snapshot = state.matcher.store.snapshot
        return size >= MEASURED_BYTES and self.timed.may_take_long(snapshot, size)


def _problem_of(error: EventError, events: Sequence[Mapping[str, Any]]) -> RequestProblem:
    """The problem of the first event that cannot be matched."""
    for index, event in enumerate(events):
        try:
            Event(event)
        except EventError as own:
            return event_problem(own, index)
    return event_problem(error)


def details_or_none(matcher: Matcher, rule_id: str) -> RuleDetails | None:
    """The details of a rule; None if it was removed after it had matched."""
    try:
        return matcher.store.details(rule_id)
    except KeyError:
        return None
