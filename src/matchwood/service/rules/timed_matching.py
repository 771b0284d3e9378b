"""Matching within time limits, per event and per rule.

What can be interrupted, and what cannot:

- A rule that is not built yet, and predicates that are evaluated on demand, run in Python. Between
  two predicates the time is checked, also inside `any` and `every`, and an event that takes too
  long is given up. One predicate is bounded by the largest event. Explanations and near misses
  are found in the same way.
- A compiled kernel cannot be interrupted. Its time is measured, and bounded by the size of the
  largest event and rule; what it costs is known afterwards.

Either way the rules that may be to blame are then timed with this event, each of them alone, and
those that take longer than the limit of a rule are suspended: they are not matched any more until
they are changed. So a costly rule costs the time of one event once, not that of every event.

Rules that are not built are only evaluated for small events: before a large one they are built.

Time is processor time of the thread, so that a busy machine makes nobody guilty. That of operators
does not count: they have timeouts of their own. While a rule is timed alone, its calls are
undefined, so that none is made twice.
"""

from __future__ import annotations

import heapq
import logging
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from matchwood.index.build.segment import Segment
from matchwood.language.aliases import Aliases
from matchwood.language.events import ElementEvent, Event
from matchwood.language.seen import Seen
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.search.event_matches import EventMatches
from matchwood.match.store.rule_store import RuleStore
from matchwood.match.store.snapshot import Snapshot
from matchwood.matcher import Bindings, Matcher
from matchwood.operators.call_execution import own_time
from matchwood.operators.registry import Operators
from matchwood.service.problems import RequestProblem
from matchwood.service.settings import Limits

log = logging.getLogger("matchwood.service")
T = TypeVar("T")
# Bytes of an event as JSON from which on its time is measured. Smaller ones are always quick.
MEASURED_BYTES = 1_024
# Bytes of an event from which on it can be interrupted, which takes time for every attribute, and
# is matched alone, even if it is one of a batch.
LARGE_BYTES = 16 << 10
# Predicates that are evaluated on demand from which on an event of any size can be interrupted;
# those inside `any` and `every` count.
MANY_ON_DEMAND = 500
# Bytes of events times characters of rules that are not built, above which these are built first.
# Evaluating less than that takes some milliseconds.
WORTH_BUILDING = 1 << 22
# The same for many small events while kernels are being compiled, for which a build waits.
WORTH_WAITING = 1 << 25
# Characters of a rule from which on it is built before it is live.
LONG_RULE = 1_000
# Rules whose texts are looked at to find those that took long, in the latest parts first.
MOST_LOOKED_AT = 200_000
# Rules that are timed alone.
MOST_TIMED = 64
# Seconds of processor time that looking for costly rules may take, beside the last one timed.
SEARCH_SECONDS = 5.0
# Values of a list, or characters of a string, from which on an attribute may be costly.
LARGE_VALUE = 64
# Events of a batch with which rules are timed if it took long, largest first.
MOST_SUSPECTED = 3
# Seconds after a search for nothing before events that take long only together are looked into
# again: where every batch takes long, searches would never end.
FRUITLESS_SECONDS = 60.0
# Seconds after which a publisher should try again if an event could not be matched in time.
RETRY_SECONDS = 10


class MatchTimeout(Exception):
    """An event could not be matched in time."""


class TimedEvent(Event):
    """An event that raises MatchTimeout when a predicate asks for an attribute too late."""

    __slots__ = ("_deadline",)

    def __init__(self, event: object, aliases: Aliases | None, seconds: float) -> None:
        super().__init__(event, aliases)
        self._deadline = own_time() + seconds

    def __getitem__(self, attribute: str) -> Seen:
        if own_time() > self._deadline:
            raise MatchTimeout
        return super().__getitem__(attribute)

    def element_event(self, item: object) -> Event:
        return TimedElement(item, self._deadline)


class TimedElement(ElementEvent):
    """An element of a list of a `TimedEvent`."""

    __slots__ = ("_deadline",)

    def __init__(self, element: object, deadline: float) -> None:
        super().__init__(element)
        self._deadline = deadline

    def __getitem__(self, attribute: str) -> Seen:
        if own_time() > self._deadline:
            raise MatchTimeout
        return super().__getitem__(attribute)

    def element_event(self, item: object) -> Event:
        return TimedElement(item, self._deadline)


class Suspension(NamedTuple):
    """A rule that is not matched any more, and why."""

    id: Any
    reason: str


class TimedMatching:
    """Matches the events of one store. `suspend` is told of rules over the limit, and removes them.

    `made_with` are the operators and the schema that a matcher is made with; they may change.
    """

    def __init__(self, limits: Limits, made_with: Mapping[str, Any]) -> None:
        self._limits = limits
        self._made_with = made_with
        self.suspend: Callable[[list[Suspension]], None] = lambda suspensions: None
        self._searching = threading.Lock()
        self._searches = ThreadPoolExecutor(1, "costly")
        self._look_again = 0.0  # the time (monotonic) before which a search would find nothing
        # What each segment evaluates on demand.
        self._on_demand: WeakKeyDictionary[Segment, int] = WeakKeyDictionary()

    def close(self) -> None:
        """End a search that is going on, which may suspend rules: the writer is still needed."""
        self._searches.shutdown(cancel_futures=True)

    def snapshot(self, store: RuleStore, size: int, worth: int = WORTH_BUILDING) -> Snapshot:
        """The rules for events of so many bytes: built, where evaluating them would take long."""
        pending = store.snapshot.pending
        if pending and size * sum(len(rule.details.rule) for rule in pending) > worth:
            return store.built()
        return store.snapshot

    def ids(
        self,
        matcher: Matcher,
        event: Mapping[str, Any],
        body: str,
        tags: frozenset[str] | None = None,
        limit: int | None = None,
    ) -> list[Any]:
        """The ids of the rules that are true of an event, whose JSON text is `body`.

        The text is matched as it is, unless the event has to be one that can be interrupted.
        """
        size = len(body)
        snapshot = matcher.store.snapshot
        if snapshot.pending or self.may_take_long(snapshot, size):
            return self.match(matcher.store, event, size, lambda found: _ids(found, limit), tags)
        is_measured = size >= MEASURED_BYTES
        begun = own_time() if is_measured else 0.0
        ids = matcher.match_json(body.encode(), tags=tags, limit=limit)
        if is_measured:
            self.look_into(snapshot, event, own_time() - begun)
        return ids

    def bindings(
        self,
        matcher: Matcher,
        event: Mapping[str, Any],
        body: str,
        tags: frozenset[str] | None = None,
        limit: int | None = None,
    ) -> dict[Any, Bindings]:
        """`ids`, each with the bindings of the variables of its rule."""
        decider = matcher.store.decider
        return self.match(
            matcher.store,
            event,
            len(body),
            lambda found: found.bindings(_ids(found, limit), decider),
            tags,
        )

    def match(
        self,
        store: RuleStore,
        event: Mapping[str, Any],
        size: int,
        read: Callable[[EventMatches], T],
        wanted: frozenset[str] | None = None,
    ) -> T:
        """What `read` makes of the rules that are true of an event of so many bytes.

        If it takes too long, rules that are to blame are suspended, and the others are matched.
        """
        snapshot = self.snapshot(store, size)
        is_measured = size >= MEASURED_BYTES
        begun = own_time() if is_measured else 0.0
        try:
            found = read(snapshot.match(self._timed(snapshot, event, size), wanted))
        except MatchTimeout:
            self._search(snapshot, event)
            try:
                again = self.snapshot(store, size)
                found = read(again.match(self._timed(again, event, size), wanted))
            except MatchTimeout:
                raise self._problem("the event could not be matched") from None
        else:
            if is_measured:
                self.look_into(snapshot, event, own_time() - begun)
        if snapshot.pending:
            store.hurry()
        return found

    def _timed(
        self, snapshot: Snapshot, event: Mapping[str, Any], size: int
    ) -> Mapping[str, Any] | Event:
        """The event, such that it can be interrupted if matching it may take long."""
        seconds = self._limits.match_seconds
        if not self.may_take_long(snapshot, size) or not seconds:
            return event
        return TimedEvent(event, snapshot.decider.aliases, seconds)

    def _problem(self, what: str) -> RequestProblem:
        seconds = self._limits.match_seconds
        detail = f"{what} within {seconds:g} s of processor time"
        return RequestProblem("matching-timeout", detail, retry_after=RETRY_SECONDS, limit=seconds)

    def may_take_long(self, snapshot: Snapshot, size: int) -> bool:
        """Whether an event of so many bytes should be one that can be interrupted."""
        if size >= LARGE_BYTES:
            return True
        return sum(self._evaluated_in(part.segment) for part in snapshot.parts) >= MANY_ON_DEMAND

    def _evaluated_in(self, segment: Segment) -> int:
        """The predicates of a segment that are evaluated on demand."""
        if not segment.lazy:
            return 0
        count = self._on_demand.get(segment)
        if count is None:
            count = sum(segment.opaque[number].size for number in segment.lazy)
            self._on_demand[segment] = count
        return count

    @contextmanager
    def explaining(self) -> Iterator[Callable[[Mapping[str, Any]], Event]]:
        """Makes events that are to be explained; all of it takes no longer than matching may."""
        end = own_time() + (self._limits.match_seconds or math.inf)
        aliases = self._made_with.get("aliases")

        def timed(event: Mapping[str, Any]) -> Event:
            return TimedEvent(event, aliases, end - own_time())

        try:
            yield timed
        except MatchTimeout:
            raise self._problem("what was asked could not be explained") from None

    def look_into(self, snapshot: Snapshot, event: Mapping[str, Any], seconds: float) -> None:
        """If an event took too long, find out why, but do not keep its publisher waiting."""
        if self._is_too_long(seconds):
            log.warning("an event took long to match", extra={"seconds": round(seconds, 3)})
            self._submit(self._search, snapshot, event)

    def look_into_batch(
        self,
        snapshot: Snapshot,
        events: Sequence[Mapping[str, Any]],
        bodies: Sequence[str],
        seconds: float,
    ) -> None:
        """If events together took longer than one may, find out whether one of them does.

        The largest are suspected.
        """
        together = seconds > len(events) * self._limits.match_seconds
        if self._is_too_long(seconds) and (together or monotonic() >= self._look_again):
            measured = (at for at, body in enumerate(bodies) if len(body) >= MEASURED_BYTES)
            largest = heapq.nlargest(MOST_SUSPECTED, measured, key=lambda at: len(bodies[at]))
            log.warning("a batch took long to match", extra={"seconds": round(seconds, 3)})
            self._submit(self._search, snapshot, *(events[at] for at in largest))

    def _is_too_long(self, seconds: float) -> bool:
        limit = self._limits.match_seconds
        return bool(limit) and seconds > limit and not self._searching.locked()

    def _submit(self, search: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the service is closing
            self._searches.submit(search, *arguments)

    # Who is to blame

    def _search(self, snapshot: Snapshot, *events: Mapping[str, Any]) -> None:
        """Suspend the rules that take too long with the first of some events that has any."""
        with self._searching:  # one at a time
            searched = (self._costly(snapshot, event) for event in events)
            found = next(filter(None, searched), [])
        # Not while others wait to search: they may hold what a suspension waits for.
        if found:
            self.suspend(found)
        else:
            self._look_again = monotonic() + FRUITLESS_SECONDS
            log.warning("no single rule is to blame for an event that took long to match")

    def _costly(self, snapshot: Snapshot, event: Mapping[str, Any]) -> list[Suspension]:
        """The rules that take too long with an event."""
        limit = self._limits.rule_seconds
        begun = own_time()
        found: list[Suspension] = []
        for rule in costliest(snapshot, event):
            seconds = self._seconds_alone(rule, event)
            if limit and seconds > limit:
                reason = (
                    f"it took over {limit:g} s of processor time with one event "
                    f"(found {seconds:.2g} s): change the rule to resume it"
                )
                found.append(Suspension(rule.id, reason))
            if own_time() - begun > SEARCH_SECONDS:
                break
        for rule_id, reason in found:
            log.warning("a rule is suspended", extra={"rule": rule_id, "reason": reason})
        return found

    def _seconds_alone(self, rule: RuleDetails, event: Mapping[str, Any]) -> float:
        """Seconds of processor time that one rule takes with an event, once it is built."""
        operators = Operators.of(self._made_with.get("operators")).unanswered()
        alone = Matcher(**{**self._made_with, "operators": operators})
        alone.store.update_texts([rule], "collect")
        begun = own_time()
        try:
            seconds = 2 * self._limits.rule_seconds
            alone.store.snapshot.match(TimedEvent(event, alone.aliases, seconds))
        except MatchTimeout:
            pass
        return own_time() - begun


def _ids(found: EventMatches, limit: int | None) -> list[Any]:
    return found.ids() if limit is None else found.best(limit)


def costliest(snapshot: Snapshot, event: Mapping[str, Any]) -> list[RuleDetails]:
    """The rules that may take long with an event: long ones that name its large attributes."""
    names = large_attributes(event)
    rules = _latest(snapshot)
    named = (rule for rule in rules if any(name in rule.rule for name in names))
    return heapq.nlargest(MOST_TIMED, named, key=lambda rule: len(rule.rule))


def large_attributes(event: Mapping[str, Any]) -> Sequence[str]:
    """The names of attributes with long lists or strings."""
    raw = Event(event).raw
    return [
        name
        for name, value in raw.items()
        if isinstance(value, str | list) and len(value) >= LARGE_VALUE
    ]


def _latest(snapshot: Snapshot) -> Iterator[RuleDetails]:
    """The rules of a snapshot, those of small parts first, up to a number."""
    left = MOST_LOOKED_AT
    for pending in snapshot.pending:
        yield pending.details
    for part in reversed(snapshot.parts):  # largest first
        for rule in part.live_details():
            if left <= 0:
                return
            left -= 1
            yield rule
