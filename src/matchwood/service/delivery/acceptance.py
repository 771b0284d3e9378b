"""Publishing: events are parsed, checked, matched, and stored with their matches.

A batch is stored in one transaction. Once it is committed, the events are in the outbox.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
from sqlalchemy import Connection, Engine, select

from matchwood.language.errors import EventError
from matchwood.service.delivery.cloud_events import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    check_cloud_events,
)
from matchwood.service.delivery.event_bodies import EventBatch, check_readable, events_of
from matchwood.service.delivery.outbox import Outbox, StoredEvent
from matchwood.service.delivery.publications import NamedPublication, PublishedEvent
from matchwood.service.delivery.sent_events import sent_events
from matchwood.service.limits import ConcurrencyLimit, RateLimit
from matchwood.service.metrics import Metrics
from matchwood.service.problems import RequestProblem, event_problem
from matchwood.service.rules.subscription_roster import Numbers, SubscriptionRoster
from matchwood.service.settings import Limits
from matchwood.service.storage.database import events
from matchwood.service.storage.writer import Counters, DatabaseWriter

# Seconds after which a publisher should try again if the outbox is full.
RETRY_SECONDS = 10
# Bytes of a body from which on it is matched by threads of its own, so that it does not keep
# smaller ones waiting.
BULKY_BYTES = 16 << 10
# Rows of the outbox that are fetched at a time when the service starts.
ROWS_AT_ONCE = 10_000
# Raises an EventError if an event does not fit the schema.
CheckEvent = Callable[[Mapping[str, Any]], None]


class MatchesEvents(Protocol):
    """What acceptance needs of the index of subscriptions."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule, so that nothing reads events to match them."""
        ...

    def match(self, events: Sequence[Mapping[str, Any]], bodies: Sequence[str]) -> list[Numbers]:
        """For each event the numbers of the subscriptions that it matches.

        `bodies` are the same events as JSON.
        """
        ...


class AcceptedBatch(NamedTuple):
    """What a publisher is told of a request."""

    events: list[PublishedEvent]
    single: bool  # it was one event, rather than a batch
    repeated: bool  # it had been accepted before


class MatchedBatch(NamedTuple):
    """The events of a request, as they are stored. As objects they would take far more memory."""

    bodies: list[str]  # JSON
    matches: list[Numbers]  # for each event the subscriptions that it matched
    single: bool  # it was one event, rather than a batch


class RefusedBatch(NamedTuple):
    """The events of a request that cannot be accepted now."""

    problem: RequestProblem
    single: bool


def _check_readable(batch: EventBatch) -> None:
    for index, event in enumerate(batch.events):
        check_readable(dict(event), index)


class Acceptance:
    """Accepts events for delivery, or refuses them."""

    def __init__(
        self,
        index: MatchesEvents,
        check_event: CheckEvent,
        roster: SubscriptionRoster,
        outbox: Outbox,
        writer: DatabaseWriter,
        threads: ThreadPoolExecutor,
        bulk_threads: ThreadPoolExecutor,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self._index = index
        self._check_event = check_event
        self._roster = roster
        self._outbox = outbox
        self._writer = writer
        self._threads = threads
        self._bulk_threads = bulk_threads
        self._limits = limits
        self._metrics = metrics
        self._rate = RateLimit(limits.events_per_second, "too-many-events")
        most = limits.publishes_under_way
        self._under_way = ConcurrencyLimit(most, most, "busy", "publish requests at a time")

    async def publish(
        self, kind: str, body: bytes, key: str, name: str | None = None
    ) -> AcceptedBatch:
        """Accept all events of a body, or none; under a `name`, at most once."""
        loop = asyncio.get_running_loop()
        named = None if name is None else NamedPublication.of(key, name, kind, body)
        with self._under_way.slot(key):
            threads = self._threads if len(body) < BULKY_BYTES else self._bulk_threads
            batch = await loop.run_in_executor(threads, self._matched, kind, body, key)
            if isinstance(batch, RefusedBatch):
                return await self._accepted_before(batch, named)
            if not batch.bodies:
                return AcceptedBatch([], batch.single, False)
            waiting = self._store(batch.bodies, batch.matches, named)
            stored, earlier = await asyncio.wrap_future(waiting)
            if earlier is not None:
                return AcceptedBatch(earlier, batch.single, True)
            self._metrics.events.inc(len(stored))
            self._metrics.matches.inc(sum(len(event.matches) for event in stored))
            return AcceptedBatch(_told(stored), batch.single, False)

    async def _accepted_before(
        self, refused: RefusedBatch, named: NamedPublication | None
    ) -> AcceptedBatch:
        """What was answered when the same was accepted earlier; otherwise the problem it has now.

        Since then the schema may be another, or the outbox full.
        """
        if named is None:
            raise refused.problem

        def work(connection: Connection, counters: Counters) -> list[PublishedEvent] | None:
            return named.earlier(connection)

        earlier = await asyncio.wrap_future(self._writer.submit(work))
        if earlier is None:
            raise refused.problem
        return AcceptedBatch(earlier, refused.single, True)

    def _matched(self, kind: str, body: bytes, key: str) -> MatchedBatch | RefusedBatch:
        sent = sent_events(kind, body, self._limits)
        batch = events_of(kind, body, self._limits) if sent is None else sent
        if kind in (CLOUD_EVENT, CLOUD_EVENTS):
            check_cloud_events(kind, batch)
        try:
            return self._matched_batch(batch, key)
        except RequestProblem as problem:
            return RefusedBatch(problem, batch.single)

    def _matched_batch(self, batch: EventBatch, key: str) -> MatchedBatch:
        self._check_room(len(batch.events))
        self._rate.take(key, len(batch.events))
        for index, event in enumerate(batch.events):
            try:
                self._check_event(event)
            except EventError as error:
                check_readable(dict(event), index)
                raise event_problem(error, None if batch.single else index) from None
        unread = self._index.is_empty
        try:
            matches = self._index.match(batch.events, batch.bodies)
        except EventError as error:
            _check_readable(batch)
            raise event_problem(error) from None
        if unread or self._index.is_empty:
            _check_readable(batch)
        now = time.time()
        live = [self._roster.live(numbers, now) for numbers in matches]
        return MatchedBatch(batch.bodies, live, batch.single)

    def _check_room(self, more: int) -> None:
        waiting, most = self._outbox.events, self._limits.outbox_events
        if waiting + more > most:
            detail = f"{waiting:,} events are waiting to be delivered, the limit is {most:,}"
            raise RequestProblem("outbox-full", detail, retry_after=RETRY_SECONDS, limit=most)
        pairs, most = self._outbox.pairs, self._limits.outbox_deliveries
        if pairs >= most:
            detail = f"{pairs:,} deliveries are waiting, the limit is {most:,}"
            raise RequestProblem("outbox-full", detail, retry_after=RETRY_SECONDS, limit=most)

    def _store(
        self, bodies: Sequence[str], matches: Sequence[Numbers], named: NamedPublication | None
    ) -> Future[tuple[list[StoredEvent], list[PublishedEvent] | None]]:
        """Store events with their matches, unless they were stored before, under the same name."""

        def work(
            connection: Connection, counters: Counters
        ) -> tuple[list[StoredEvent], list[PublishedEvent] | None]:
            if named is not None and (earlier := named.earlier(connection)) is not None:
                return [], earlier
            first = counters.take("event", len(bodies))
            at = time.time()
            stored = [
                StoredEvent(number, at, body, numbers)
                for number, (body, numbers) in enumerate(zip(bodies, matches, strict=True), first)
            ]
            rows = [
                {"number": event.number, "at": at, "body": event.body, "matches": packed(event)}
                for event in stored
            ]
            connection.execute(events.insert(), rows)
            if named is not None:
                named.store(connection, _told(stored))
            return stored, None

        return self._writer.submit(work, lambda result: self._outbox.add(result[0]))


def _told(stored: Sequence[StoredEvent]) -> list[PublishedEvent]:
    return [PublishedEvent(event.number, len(event.matches)) for event in stored]


def packed(event: StoredEvent) -> bytes:
    """The subscriptions that an event matched, as the database stores them."""
    return event.matches.astype("<u4", copy=False).tobytes()


def unpacked(matches: bytes) -> Numbers:
    return np.frombuffer(matches, "<u4").astype(np.uint32, copy=False)


def restore(engine: Engine, outbox: Outbox) -> None:
    """Fill the outbox with the events of the database."""
    columns = (events.c.number, events.c.at, events.c.matches)
    query = select(*columns).order_by(events.c.number)
    with engine.connect().execution_options(yield_per=ROWS_AT_ONCE) as connection:
        for number, at, matches in connection.execute(query):
            outbox.restore(number, at, unpacked(matches))
