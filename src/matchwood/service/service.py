"""`Service`: the parts of a running service, how they start, and what runs beside requests."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, bindparam, delete, select
from sqlalchemy.exc import SQLAlchemyError

from matchwood import operators
from matchwood.language.errors import RuleError
from matchwood.schema import Schema
from matchwood.service import acceptance
from matchwood.service.acceptance import Acceptance
from matchwood.service.database import events, migrate, open_engine, subscriptions
from matchwood.service.dead_letters import DeadLetters
from matchwood.service.event_schema import EventSchema
from matchwood.service.holding import Displaced, Hold, sole_use
from matchwood.service.index import SubscriptionIndex
from matchwood.service.keys import Keys
from matchwood.service.limits import Places, Rate
from matchwood.service.metrics import Metrics
from matchwood.service.outbox import Dropped, Outbox
from matchwood.service.problems import Problem
from matchwood.service.roster import Roster
from matchwood.service.rule_set import RuleSet
from matchwood.service.settings import Settings, SettingsError
from matchwood.service.subscriptions import Subscriptions
from matchwood.service.webhooks import Hook, Webhooks
from matchwood.service.writer import Marks, Writer
from matchwood.warm import warm_up

log = logging.getLogger("matchwood.service")


class Service:
    """A service on its database: `open`, `load` (which takes a while), then `close`."""

    engine: Engine
    hold: Hold
    writer: Writer
    schema: EventSchema
    roster: Roster
    index: SubscriptionIndex
    outbox: Outbox
    acceptance: Acceptance
    subscriptions: Subscriptions
    rules: RuleSet
    webhooks: Webhooks
    dead_letters: DeadLetters

    def __init__(self, settings: Settings, failed: Callable[[], None] | None = None) -> None:
        settings.check_binding()
        self._failed = failed  # is called where the service must end
        self._displaced = False
        self.settings = settings
        self.keys = Keys(settings.keys)
        self.metrics = Metrics(self.figures)
        self.ready = False
        self.closing = asyncio.Event()
        limits = settings.limits
        streams = (limits.streams, limits.streams_a_key)
        self.streams = Places(*streams, "too-many-streams", "streams and waiting polls")
        self.match_rate = Rate(limits.matches_a_second, "too-many-matches")
        self.threads = ThreadPoolExecutor(max(2, settings.threads), "work")
        self.readers = ThreadPoolExecutor(4, "read")
        self._held = ExitStack()
        self._opened = False
        self._watchers: dict[int, set[asyncio.Event]] = defaultdict(set)
        self._acknowledged: dict[int, int] = {}
        self._beside: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    # Starting and stopping

    def open(self) -> None:
        """Take hold of the database and bring its tables up to date."""
        if self._opened:
            return
        self._opened = True
        self._operators = self._load_operators()
        self.engine = open_engine(self.settings)
        self._held.callback(self.engine.dispose)
        self.hold = self._held.enter_context(sole_use(self.engine))
        migrate(self.engine)
        self.hold.enter()

    def load(self) -> None:
        """Bring into memory what the database has, and compile what matches."""
        started = time.perf_counter()
        warm_up()
        self.writer = Writer(self.engine, self.hold)
        if not self.writer.marks["database"]:
            self.writer.marks.take("database", secrets.randbits(40) + 1)
        database = self.writer.marks["database"]  # snapshots of another are not taken for its own
        numbers, expires, cursors = self._read_subscriptions()
        self.roster = Roster.of(numbers, expires, cursors)
        self.outbox = Outbox(self.roster, self._woken)
        self.schema = EventSchema(self.engine, self.writer, self.settings)
        made_with = {"operators": self._operators, "schema": self.schema.load()}
        self.index = SubscriptionIndex(self.settings.data, database, **made_with)
        self.index.load(self.engine, numbers, self.writer.marks["change"])
        acceptance.restore(self.engine, self.outbox)
        parts = (self.engine, self.writer, self.roster, self.index)
        self.subscriptions = Subscriptions(*parts, self.settings, self._hooked)
        self.subscriptions.load_counts()
        self.rules = RuleSet(
            self.engine, self.writer, self.threads, self.settings, database, **made_with
        )
        self.rules.load()
        self.acceptance = Acceptance(
            self.index,
            self.roster,
            self.outbox,
            self.writer,
            self.threads,
            self.settings.limits,
            self.metrics,
        )
        self.acceptance.check = self.schema.check_event
        self.subscriptions.fits = self.rules.fits = self.schema.check_rule
        self.dead_letters = DeadLetters(self)
        self.dead_letters.load()
        self.webhooks = Webhooks(self, self.dead_letters)
        self.webhooks.load()
        gc.collect()
        gc.freeze()  # what is there by now stays: collections need not look at it
        self.writer.start()
        seconds = round(time.perf_counter() - started, 3)
        log.info("the service is loaded", extra={"seconds": seconds})

    async def start(self) -> None:
        """Load, and start what runs beside requests; from then on the service is ready."""
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self.threads, self.load)
        for work, seconds in (
            (self._hold_on, 1.0),
            (self._expire, 0.25),
            (self._keep_cursors, 0.1),
            (self._keep_attempts, 1.0),
            (self._collect, 5.0),
            (self._save, self.settings.snapshot_seconds),
        ):
            self._beside.append(asyncio.create_task(self._every(seconds, work)))
        self._beside.append(asyncio.create_task(self.dead_letters.run()))
        self.webhooks.start()
        self.ready = True

    async def close(self) -> None:
        """Finish what was begun, write what is not written, and let go of the database."""
        self.closing.set()
        was_ready, self.ready = self.ready, False
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        if was_ready:
            await self.webhooks.close()
            try:
                await self._keep_cursors()
                await self._keep_attempts()
            except (SQLAlchemyError, Displaced) as error:  # they are delivered again
                log.error("what was delivered is not written", extra={"error": str(error)})
            await asyncio.to_thread(self.writer.close)
            if not self._displaced:
                await self._save()
            self.index.close()
        self.threads.shutdown()
        self.readers.shutdown()
        await asyncio.to_thread(self._held.close)

    def check_ready(self) -> None:
        if self.closing.is_set():
            raise Problem("shutting-down", "the service is shutting down", retry_after=5)
        if not self.ready:
            raise Problem("not-ready", "the service is still loading", retry_after=2)

    def figures(self) -> dict[str, int]:
        """How much there is."""
        if not self.ready:
            return {"ready": 0}
        return {
            "ready": 1,
            "subscriptions": self.roster.alive,
            "rules": len(self.rules.matcher),
            "events_waiting": self.outbox.events,
            "deliveries_waiting_at_most": self.outbox.pairs,
            "outbox_bytes": self.outbox.bytes,
            "streams": self.streams.taken,
            "webhooks": len(self.webhooks),
            "writes_waiting": self.writer.backlog,
            "commits": self.writer.commits,
        }

    def _read_subscriptions(self) -> tuple[Any, Any, Any]:
        columns = (subscriptions.c.number, subscriptions.c.expires, subscriptions.c.cursor)
        with self.engine.connect() as connection:
            rows = connection.execute(select(*columns)).all()
        numbers, expires, cursors = zip(*rows, strict=True) if rows else ((), (), ())
        kinds = (np.int64, np.float64, np.int64)
        found = zip((numbers, expires, cursors), kinds, strict=True)
        return tuple(np.array(values, kind) for values, kind in found)  # type: ignore[return-value]

    def _load_operators(self) -> Any:
        if not self.settings.operators:
            return None
        try:
            return operators.load(self.settings.operators)
        except (ImportError, ValueError) as error:
            raise SettingsError(str(error)) from error

    def use_schema(self, schema: Schema | None) -> None:
        """Answer `isa` by a schema from now on; a RuleError where a rule needs another."""
        self.rules.use_schema(schema)
        try:
            self.index.use_schema(schema)
        except RuleError:
            self.rules.use_schema(self.schema.current)
            raise

    # Reading in threads

    async def read(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function that asks the database returns, without holding up the others."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.readers, function, *arguments)

    # Who is told of new events

    def _woken(self, numbers: list[int]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, numbers)

    def _wake(self, numbers: list[int]) -> None:
        for number in numbers:
            for watcher in self._watchers.get(number, ()):
                watcher.set()
            self.webhooks.woken(number)

    @contextmanager
    def watching(self, number: int) -> Iterator[asyncio.Event]:
        """An event that is set whenever a subscription has something new."""
        watcher = asyncio.Event()
        self._watchers[number].add(watcher)
        self.outbox.watch(number)
        try:
            yield watcher
        finally:
            self._watchers[number].discard(watcher)
            if not self._watchers[number]:
                del self._watchers[number]
                self.forget(number)

    def forget(self, number: int) -> None:
        """Be told no longer of a subscription that nobody watches and that has no webhook."""
        if number not in self._watchers and self.webhooks.of(number) is None:
            self.outbox.watch(number, False)

    def _hooked(self, number: int, hook: tuple[str, str] | None) -> None:
        """In the writing thread: a subscription has a webhook now, or none."""
        if self._loop is not None and not self._loop.is_closed():
            made = None if hook is None else Hook(*hook)
            self._loop.call_soon_threadsafe(self.webhooks.set, number, made)

    # Cursors

    def acknowledge(self, number: int, event: int) -> None:
        """All events up to one are delivered; it is written a moment later."""
        event = min(event, self.writer.marks["event"])
        if self.roster.acknowledge(number, event):
            self._acknowledged[number] = event

    async def _keep_cursors(self) -> None:
        if not self._acknowledged:
            return
        moved, self._acknowledged = self._acknowledged, {}
        rows = [{"which": number, "event": event} for number, event in moved.items()]
        update = (
            subscriptions.update()
            .where(subscriptions.c.number == bindparam("which"))
            .values(cursor=bindparam("event"))
        )

        def work(connection: Connection, marks: Marks) -> None:
            connection.execute(update, rows)

        try:
            await asyncio.wrap_future(self.writer.submit(work))
        except BaseException:  # also where a service that closes does not wait for it
            self._acknowledged = moved | self._acknowledged
            raise

    async def _keep_attempts(self) -> None:
        await self.webhooks.keep_attempts()

    # What runs beside requests

    async def _every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except Exception:  # the database may be away: the next round tries again
                log.exception("work beside requests failed", extra={"work": work.__name__})

    async def _hold_on(self) -> None:
        """See that the database is still ours; end if it is not."""
        try:
            await self.read(self.hold.renew)
        except SQLAlchemyError as error:  # nobody can write meanwhile
            log.warning("the database cannot be reached", extra={"error": str(error)})
        except Displaced as error:
            if not self._displaced:
                self._displaced = True
                log.critical("the service shuts down", extra={"error": str(error)})
                self.closing.set()
                if self._failed is not None:
                    self._failed()

    async def _expire(self) -> None:
        now = time.time()
        expired = self.roster.expired(now)
        if expired:
            await self.subscriptions.remove(expired, expired_by=now)
            for number in expired:  # its streams end
                self._wake([number])

    async def _collect(self) -> None:
        now = time.time()
        dropped = await self.read(self.outbox.collect, now, now - self.settings.retention)
        if dropped:
            await self._drop(dropped)

    async def _drop(self, dropped: list[Dropped]) -> None:
        """Take events out of the database; who has not fetched them in time is told how many."""
        missed_by = np.concatenate([one.missed_by for one in dropped])
        numbers, counts = np.unique(missed_by, return_counts=True)
        missed = [
            {"which": number, "count": count}
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
        ]
        if missed:
            self.metrics.dropped.inc(len(missed_by))
            first, last = min(one.first for one in dropped), max(one.last for one in dropped)
            log.warning(
                "events were dropped that were not fetched in time",
                extra={"first": first, "last": last, "by": len(missed)},
            )
        update = (
            subscriptions.update()
            .where(subscriptions.c.number == bindparam("which"))
            .values(missed=subscriptions.c.missed + bindparam("count"))
        )

        def work(connection: Connection, marks: Marks) -> None:
            if missed:
                connection.execute(update, missed)
            for one in dropped:
                between = events.c.number.between(one.first, one.last)
                connection.execute(delete(events).where(between))

        await asyncio.wrap_future(self.writer.submit(work))

    async def _save(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.threads, self.index.save)
        await loop.run_in_executor(self.threads, self.rules.save)
