"""Events are accepted: read, checked, matched, and stored with their matches in one transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Engine, select

from matchwood.language.errors import EventError
from matchwood.service.bodies import Given, events_of
from matchwood.service.database import events
from matchwood.service.index import SubscriptionIndex
from matchwood.service.limits import Places, Rate
from matchwood.service.metrics import Metrics
from matchwood.service.outbox import Outbox, Stored
from matchwood.service.problems import Problem, event_problem
from matchwood.service.roster import Numbers, Roster
from matchwood.service.settings import Limits
from matchwood.service.writer import Marks, Writer

Check = Callable[[dict[str, Any]], None]


class Accepted(NamedTuple):
    """What a publisher learns of an event."""

    id: int
    matched: int


class Acceptance:
    """The way of an event into the outbox.

    `check` is called with every event before it is matched and refuses it with an EventError;
    the schema of a service has its place there.
    """

    def __init__(
        self,
        index: SubscriptionIndex,
        roster: Roster,
        outbox: Outbox,
        writer: Writer,
        threads: ThreadPoolExecutor,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self._metrics = metrics
        self.check: Check | None = None
        self._index = index
        self._roster = roster
        self._outbox = outbox
        self._writer = writer
        self._threads = threads
        self._limits = limits
        self._rate = Rate(limits.events_a_second, "too-many-events")
        most = limits.publishes_under_way
        self._under_way = Places(most, most, "busy", "publishes at once")

    async def publish(self, kind: str, body: bytes, key: str) -> tuple[list[Accepted], bool]:
        """Accept the events of a body, all or none; also whether it was a single one."""
        loop = asyncio.get_running_loop()
        with self._under_way.one(key):
            given, matches = await loop.run_in_executor(
                self._threads, self._matched, kind, body, key
            )
            if not given.events:
                return [], given.single
            stored = await asyncio.wrap_future(self._store(given.bodies, matches))
            self._metrics.events.inc(len(stored))
            self._metrics.matches.inc(sum(len(one.matches) for one in stored))
            return [Accepted(one.number, len(one.matches)) for one in stored], given.single

    def _matched(self, kind: str, body: bytes, key: str) -> tuple[Given, list[Numbers]]:
        given = events_of(kind, body, self._limits)
        self._check_room(len(given.events))
        self._rate.take(key, len(given.events))
        if self.check is not None:
            for index, event in enumerate(given.events):
                try:
                    self.check(event)
                except EventError as error:
                    raise event_problem(error, None if given.single else index) from None
        try:
            found = self._index.match(given.events)
        except EventError as error:
            raise event_problem(error) from None
        now = time.time()
        return given, [self._roster.live(numbers, now) for numbers in found]

    def _check_room(self, more: int) -> None:
        waiting, most = self._outbox.events, self._limits.outbox_events
        if waiting + more > most:
            detail = f"{waiting:,} events wait to be delivered, the limit is {most:,}"
            raise Problem("outbox-full", detail, retry_after=10, limit=most)
        pairs, most = self._outbox.pairs, self._limits.outbox_deliveries
        if pairs >= most:
            detail = f"{pairs:,} deliveries wait, the limit is {most:,}"
            raise Problem("outbox-full", detail, retry_after=10, limit=most)

    def _store(self, bodies: Sequence[str], matches: Sequence[Numbers]) -> Any:
        def work(connection: Connection, marks: Marks) -> list[Stored]:
            first = marks.take("event", len(bodies))
            at = time.time()
            stored = [
                Stored(first + place, at, body, numbers)
                for place, (body, numbers) in enumerate(zip(bodies, matches, strict=True))
            ]
            rows = [
                {"number": one.number, "at": one.at, "body": one.body, "matches": packed(one)}
                for one in stored
            ]
            connection.execute(events.insert(), rows)
            return stored

        return self._writer.submit(work, self._outbox.add)


def packed(stored: Stored) -> bytes:
    return stored.matches.astype("<u4", copy=False).tobytes()


def unpacked(matches: bytes) -> Numbers:
    return np.frombuffer(matches, "<u4").astype(np.uint32, copy=False)


def restore(engine: Engine, outbox: Outbox) -> None:
    """Take up what a database has in its outbox."""
    columns = (events.c.number, events.c.at, events.c.matches)
    with engine.connect().execution_options(yield_per=10_000) as connection:
        for number, at, matches in connection.execute(select(*columns).order_by(events.c.number)):
            outbox.restore(number, at, unpacked(matches))
