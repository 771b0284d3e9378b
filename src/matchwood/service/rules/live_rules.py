"""The rules that events are matched with, such that an answer is always that of one version.

Small changes are made in place, in several steps, while other threads match. Whoever matches
therefore looks at the state before and after: if it is another one, or was being changed, what was
found may be that of no version, and is found again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.match.batch.pairs import Pairs
from matchwood.match.search.json_texts import blocks_of
from matchwood.match.store.snapshot import Snapshot
from matchwood.matcher import Bindings, Matcher
from matchwood.operators.call_execution import own_time
from matchwood.service.problems import RequestProblem, event_problem
from matchwood.service.rules.quick_matching import (
    MOST_ANSWER_BYTES,
    MOST_MATCHES,
    QUICK_BYTES,
    QuickMatching,
)
from matchwood.service.rules.timed_matching import MEASURED_BYTES, Suspension, TimedMatching
from matchwood.service.rules.written_rules import WriteRule, WrittenRules
from matchwood.service.settings import Limits

T = TypeVar("T")
# Up to so many events are matched one by one rather than as a batch.
FEW_EVENTS = 3
# Attempts to match while the rules keep changing, before changes have to wait.
ATTEMPTS = 3
# For each event, the ids of the rules that are true of it, with the bindings of their variables.
Matches = list[dict[str, Bindings | None]]


class RulesState(NamedTuple):
    """The rules of one version; each change makes a new object."""

    version: int
    matcher: Matcher
    changing: bool = False  # the matcher has some of the changes to the next version


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
        self.quick = QuickMatching()
        self._written: tuple[RulesState, WrittenRules] | None = None  # of the latest state asked
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
            self._written = None  # it would keep the matcher of before

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
            for event, body in zip(events, bodies, strict=True):
                if matcher.calls_operators:  # only they bind variables
                    bound = self.timed.bindings(matcher, event, body, tags, limit)
                    matches.append({rule_id: found or None for rule_id, found in bound.items()})
                else:
                    matches.append(dict.fromkeys(self.timed.ids(matcher, event, body, tags, limit)))
        except EventError as error:
            raise _problem_of(error, events) from None
        self._check_count(sum(map(len, matches)))
        return matches

    def matched_texts(
        self,
        state: RulesState,
        events: Sequence[Mapping[str, Any]],
        bodies: Sequence[str],
        tags: frozenset[str] | None,
        limit: int | None,
        write: WriteRule,
    ) -> Iterator[list[bytes]]:
        """For each event what `write` makes of the rules that are true of it.

        For rules that call no operators. `bodies` are the same events as JSON.
        """
        if len(events) > FEW_EVENTS and not self._may_take_long(state, max(map(len, bodies))):
            yield from self._matched_together(state, events, bodies, tags, limit, write)
            return
        snapshot = state.matcher.store.snapshot
        found = self.match(state, events, bodies, tags, limit)
        written = self._written_of(state, write)
        yield from map(written.texts, found)
        if bodies and len(bodies[-1]) < QUICK_BYTES:
            self.quick.prepare(snapshot)

    def match_quickly(
        self, event: Mapping[str, Any], body: str, limit: int | None, write: WriteRule
    ) -> tuple[int, list[bytes]] | None:
        """The version of the rules, and what `write` makes of those that are true of an event.

        None if another thread has to find out, because it might take a while.
        """
        state, quick = self.state, self.quick
        snapshot = state.matcher.store.snapshot
        if state.changing or not quick.allows(snapshot, len(body)):
            return None
        begun = own_time()
        try:
            ids = state.matcher.match_json(body.encode(), limit=limit)
        except EventError as error:
            raise _problem_of(error, [event]) from None
        texts = None
        if len(ids) <= MOST_MATCHES:
            texts = self._written_of(state, write).known_texts(ids)
        quick.took(own_time() - begun)
        if texts is None or sum(map(len, texts)) > MOST_ANSWER_BYTES:
            quick.in_vain()
            return None
        return (state.version, texts) if self.state is state else None

    def _matched_together(
        self,
        state: RulesState,
        events: Sequence[Mapping[str, Any]],
        bodies: Sequence[str],
        tags: frozenset[str] | None,
        limit: int | None,
        write: WriteRule,
    ) -> Iterator[list[bytes]]:
        store = state.matcher.store
        snapshot = store.settled(len(events))
        begun = own_time()
        admit = None if store.enforced is None else store.admit
        search = snapshot.json_search(tags, limit, admit)
        pairs: list[Pairs] = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        count = 0
        for piece in search.slices(blocks_of(bodies)):
            for error in piece.bad.values():
                raise _problem_of(error, events) from None
            for numbers, rules in piece.pairs:
                pairs.append((numbers + piece.block.first, rules))
                count += len(rules)
                self._check_count(count)
        numbers, rules = map(np.concatenate, zip(*pairs, strict=True))
        self.timed.look_into_batch(snapshot, events, bodies, own_time() - begun)
        store.hurry()
        order = np.argsort(numbers, kind="stable")  # the rules of an event stay in their order
        ends = np.searchsorted(numbers[order], np.arange(1, len(events) + 1)).tolist()
        indices = rules[order].tolist()
        known = self._written_of(state, write).texts_at(snapshot, search.ids().values, indices)
        texts = [known[index] for index in indices if index in known]
        if len(texts) < len(indices):  # rules were removed: all of it is found again
            texts, ends = [], [0] * len(events)
        for low, high in pairwise((0, *ends)):
            yield texts[low:high]

    def _written_of(self, state: RulesState, write: WriteRule) -> WrittenRules:
        known = self._written
        if known is not None and known[0] is state:
            return known[1]
        written = WrittenRules(state.matcher, write, self._limits.answer_bytes)
        if self.state is state:  # an old one would keep the matcher of before
            self._written = state, written
        return written

    def _check_count(self, matches: int) -> None:
        most = self._limits.batch_matches
        if matches > most:
            detail = f"{matches:,} matches, the limit is {most:,}: use `limit`"
            raise RequestProblem("answer-too-large", detail, limit=most)

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
