"""`Service`: the parts of a running service, how they are put together, started and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from matchwood.language.errors import RuleError
from matchwood.schema import Schema
from matchwood.service.delivery.acceptance import Acceptance
from matchwood.service.delivery.delivery_parts import DeliveryParts
from matchwood.service.delivery.publications import OldPublications
from matchwood.service.housekeeping import Expiry, Housekeeping, LockWatch
from matchwood.service.limits import ConcurrencyLimit
from matchwood.service.loading import prepare_kernels
from matchwood.service.matching_service import MatchingService
from matchwood.service.rates import SAMPLE_SECONDS, RateHistory
from matchwood.service.rules.event_schema import EventSchema
from matchwood.service.rules.list_store import ListStore
from matchwood.service.rules.live_rules import LiveRules
from matchwood.service.rules.rule_index import SubscriptionIndex
from matchwood.service.rules.rule_set import RuleSet
from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.rules.subscription_store import SubscriptionStore
from matchwood.service.settings import Settings
from matchwood.service.storage.database import subscriptions
from matchwood.service.storage.database_lock import DatabaseTaken
from matchwood.service.storage.failures import problem_of_database
from matchwood.service.storage.storage_parts import StorageParts

log = logging.getLogger("matchwood.service")
# Seconds between checks that this process still holds the lock on the database.
LOCK_SECONDS = 1.0
# Seconds between attempts to write again after a write has failed.
PROBE_SECONDS = 2.0
# Seconds between searches for expired subscriptions.
EXPIRY_SECONDS = 0.25
# Seconds between writes of cursors that have moved.
CURSOR_SECONDS = 0.1
# Seconds between writes of webhooks' failed attempts.
ATTEMPT_SECONDS = 1.0
# Seconds between deletions of the names of old publications.
FORGETTING_SECONDS = 60.0
# Seconds between collections of the outbox.
COLLECTION_SECONDS = 5.0
# Rows that are fetched at a time when the service starts.
ROWS_AT_ONCE = 50_000


class Service(MatchingService):
    """A service on its database: `open`, `start` (which takes a while), then `close`.

    The service has its parts; no part has the service.
    """

    storage: StorageParts
    schema: EventSchema
    lists: ListStore
    roster: SubscriptionRoster
    index: SubscriptionIndex
    subscriptions: SubscriptionStore
    rules: RuleSet
    delivery: DeliveryParts
    acceptance: Acceptance

    def __init__(self, settings: Settings, failed: Callable[[], None] | None = None) -> None:
        super().__init__(settings)
        self._failed = failed  # is called if the service must end
        limits = settings.limits
        self.streams = ConcurrencyLimit(
            limits.streams, limits.streams_per_key, "too-many-streams", "streams and waiting polls"
        )
        self.rates = RateHistory(self.metrics)
        self._housekeeping = Housekeeping()
        self._lock_watch: LockWatch | None = None
        self._opened = False

    def open(self) -> None:
        """Lock the database and bring its tables up to date."""
        if self._opened:
            return
        self._opened = True
        self._operators = self.load_operators()
        self.storage = StorageParts(self.settings)

    def load(self) -> None:
        """Load everything from the database, and what matching needs."""
        started = time.perf_counter()
        step = self.loading.step
        step("loading kernels")
        prepare_kernels()
        step("loading rules and subscriptions")
        self._load_rules()
        step("loading events that wait to be delivered")
        self.delivery.load()
        step("starting")
        self.acceptance = Acceptance(
            self.index,
            self.schema.check_event,
            self.roster,
            self.delivery.outbox,
            self.storage.writer,
            self.threads,
            self.bulk_threads,
            self.settings.limits,
            self.metrics,
        )
        gc.collect()
        gc.freeze()  # what is loaded now stays: later collections need not examine it
        self.storage.writer.start()
        self.storage.writer.probe()  # which also writes the identity of a new database
        seconds = round(time.perf_counter() - started, 3)
        log.info("the service is loaded", extra={"seconds": seconds})

    def _load_rules(self) -> None:
        engine, writer, settings = self.storage.engine, self.storage.writer, self.settings
        database = self.storage.identity()
        numbers, expires, cursors = _stored_subscriptions(engine)
        self.roster = SubscriptionRoster.of(numbers, expires, cursors)
        self.delivery = DeliveryParts(self.storage, self.roster, settings, self.metrics)
        self.schema = EventSchema(engine, writer, settings)
        self.lists = ListStore(engine, writer, settings.limits)
        self.lists.load()
        made_with = {
            "operators": self._operators,
            "schema": self.schema.load(),
            "lists": self.lists.live,
            "aliases": settings.aliases,
        }
        self.index = SubscriptionIndex(settings.data, database, settings.limits, **made_with)
        self.index.load(engine, numbers, writer.counters["change"])
        check_rule = self.schema.check_rule
        self.subscriptions = SubscriptionStore(
            engine,
            writer,
            self.roster,
            self.index,
            settings,
            check_rule,
            self.delivery.webhooks.changed,
        )
        self.subscriptions.load_counts()
        self.index.timed.suspend = self.subscriptions.suspend
        self.rules = RuleSet(
            engine, writer, self.bulk_threads, settings, database, check_rule, **made_with
        )
        self.lists.changing = self.rules.live.change
        self.rules.load()

    async def start(self) -> None:
        """Load, then start what runs beside requests; from then on the service is ready."""
        reporting = asyncio.create_task(self.loading.report())
        try:
            await asyncio.get_running_loop().run_in_executor(self.threads, self.load)
        finally:
            reporting.cancel()
        delivery = self.delivery
        self._lock_watch = LockWatch(self.storage.lock, self.storage.readers, self._database_lost)
        expiry = Expiry(self.roster, self.subscriptions, delivery.watchers)
        every = self._housekeeping.every
        every(LOCK_SECONDS, "check the lock", self._lock_watch.check)
        every(PROBE_SECONDS, "see whether writing works", self._probe)
        every(EXPIRY_SECONDS, "remove expired subscriptions", expiry.remove_expired)
        every(CURSOR_SECONDS, "write cursors", delivery.cursors.write)
        every(ATTEMPT_SECONDS, "write attempts", delivery.webhooks.write_attempts)
        every(COLLECTION_SECONDS, "collect the outbox", delivery.retention.collect)
        every(self.settings.snapshot_seconds, "save snapshots", self._save)
        every(SAMPLE_SECONDS, "note the rates", self.rates.take)
        old = OldPublications(self.storage.writer, self.settings.idempotency_seconds)
        every(FORGETTING_SECONDS, "forget old publications", old.forget)
        delivery.start()
        if self.settings.workers:
            await self._save()  # the index that they map
        self.ready = True

    async def close(self) -> None:
        """Finish what was begun, write what is not written, and release the database."""
        self.closing.set()
        was_ready, self.ready = self.ready, False
        await self._housekeeping.close()
        if was_ready:
            await self.delivery.close()
            try:
                await self.delivery.flush()
            except (SQLAlchemyError, DatabaseTaken) as error:  # they will be delivered again
                log.error("acknowledgements could not be written", extra={"error": str(error)})
            for timed in (self.index.timed, self.rules.live.timed):
                await asyncio.to_thread(timed.close)
            await asyncio.to_thread(self.storage.writer.close)
            if self._lock_watch is None or not self._lock_watch.is_lost:
                await self._save()
            self.index.close()
            self.rules.close()
        self.threads.shutdown()
        self.bulk_threads.shutdown()
        if self._opened:
            await self.storage.close()

    def _database_lost(self) -> None:
        self.closing.set()
        if self._failed is not None:
            self._failed()

    async def _probe(self) -> None:
        """After a failed write, see whether writing works again; until then it is not ready."""
        if self.storage.writer.failure is not None:
            with contextlib.suppress(SQLAlchemyError):
                await asyncio.wrap_future(self.storage.writer.probe())

    async def _save(self) -> None:
        """Save snapshots. Without them, a service that starts builds the index again."""
        for save in (self.index.save, self.rules.save):
            try:
                await asyncio.to_thread(save)
            except OSError as error:  # for instance because the disk is full
                log.error("a snapshot cannot be saved", extra={"error": str(error)})

    # What requests ask of the service as a whole

    @property
    def live_rules(self) -> LiveRules:
        return self.rules.live

    def check_event(self, event: Mapping[str, Any]) -> None:
        self.schema.check_event(event)

    def check_rule(self, rule: object) -> None:
        self.schema.check_rule(rule)

    def check_serving(self) -> None:
        """Raise a problem if the last write failed because of the database."""
        if (failure := self.storage.writer.failure) is not None:
            raise problem_of_database(failure)

    def figures(self) -> dict[str, float]:
        """The current figures, for `/status` and `/metrics`."""
        if not self.ready:
            return {"ready": 0}
        return {
            "ready": 1,
            "subscriptions": self.roster.alive,
            "rules": len(self.rules.matcher),
            "lists": len(self.lists.stored),
            "listed_values": self.lists.values,
            "suspended_subscriptions": len(self.subscriptions.suspended),
            "suspended_rules": len(self.rules.suspended),
            "events_waiting": self.delivery.outbox.events,
            "deliveries_waiting_at_most": self.delivery.outbox.pairs,
            "outbox_bytes": self.delivery.outbox.bytes,
            "recent_bytes": self.delivery.outbox.recent.bytes,
            "recent_bytes_limit": self.settings.limits.recent_bytes,
            "readers_waiting": self.reader_budget.waiting,
            **self.bytes_of_requests(),
            "streams": self.streams.taken,
            "webhooks": len(self.delivery.webhooks),
            "webhooks_failing": len(self.delivery.webhooks.failing),
            "webhooks_failing_seconds": self.delivery.webhooks.failing_seconds,
            "writes_waiting": self.storage.writer.backlog,
            "commits": self.storage.writer.commits,
        }

    def use_schema(self, schema: Schema | None) -> None:
        """Make both matchers use a schema; a RuleError, and no change, if a rule forbids it."""
        self.rules.use_schema(schema)
        try:
            self.index.use_schema(schema)
        except RuleError:
            self.rules.use_schema(self.schema.current)
            raise


def _stored_subscriptions(engine: Engine) -> tuple[Any, Any, Any]:
    """The numbers, expiry times and cursors of all subscriptions, as arrays.

    The rows come from the driver itself: SQLAlchemy's would take most of the time of a start.
    """
    columns = (subscriptions.c.number, subscriptions.c.expires, subscriptions.c.cursor)
    kind = np.dtype([("number", np.int64), ("expires", np.float64), ("cursor", np.int64)])
    pieces = [np.empty(0, kind)]
    with engine.connect() as connection:
        cursor = connection.execute(select(*columns)).cursor
        assert cursor is not None  # a select has rows
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            pieces.append(np.array(rows, kind))
    stored = np.concatenate(pieces)
    numbers, expires, cursors = (np.ascontiguousarray(stored[column.name]) for column in columns)
    return numbers, expires, cursors
