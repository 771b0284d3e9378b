"""`Replica`: a process that follows the rules of a service, and answers `POST /match` with them.

It only reads the database, so there may be any number, on this machine or on others. While the
database cannot be reached it goes on with the rules that it has, and says how old they may be.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from matchwood.language.events import Event
from matchwood.service.housekeeping import Housekeeping
from matchwood.service.loading import prepare_kernels
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.live_rules import LiveRules
from matchwood.service.rules.rule_follower import RuleFollower
from matchwood.service.rules.rule_notices import RuleNotices
from matchwood.service.settings import Settings
from matchwood.service.storage.database import is_migrated, open_engine

log = logging.getLogger("matchwood.service")
# Seconds between looks at the version of the rules, beside PostgreSQL's notices.
NOTICED_SECONDS = 1.0
# Seconds between them on SQLite, which has no notices.
POLL_SECONDS = 0.1
# Seconds between attempts to read a database that is not ready.
RETRY_SECONDS = 1.0
# Seconds between looks whether there is a newer snapshot to map.
MAP_SECONDS = 5.0


class Replica(MatchingService):
    """Follows the rules of a database. Of several in one folder, one `saves` the index for all."""

    follower: RuleFollower
    _engine: Engine

    def __init__(self, settings: Settings, saves: bool = True) -> None:
        super().__init__(settings)
        self._saves = saves
        self._opened = False
        # To follow and to save, which must not wait for large events that are being matched.
        self._following_threads = ThreadPoolExecutor(2, "rules")
        self._housekeeping = Housekeeping()
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._notices: RuleNotices | None = None

    def open(self) -> None:
        if self._opened:
            return
        self._opened = True
        self._engine = open_engine(self.settings)
        made_with = {"operators": self.load_operators(), "aliases": self.settings.aliases}
        self.follower = RuleFollower(self._engine, self.settings, **made_with)

    async def start(self) -> None:
        reporting = asyncio.create_task(self.loading.report())
        loop = asyncio.get_running_loop()
        try:
            self.loading.step("loading kernels")
            await loop.run_in_executor(self.threads, prepare_kernels)
            self.loading.step("reading the rules of the database")
            while not self.closing.is_set() and not await self._first_read():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.closing.wait(), RETRY_SECONDS)
        finally:
            reporting.cancel()
        if self.closing.is_set():
            return
        pause = POLL_SECONDS
        if self._engine.dialect.name == "postgresql":
            pause = NOTICED_SECONDS

            def noticed() -> None:
                loop.call_soon_threadsafe(self._changed.set)

            self._notices = RuleNotices(self._engine, noticed)
        self._following = asyncio.create_task(self._follow(pause))
        self._housekeeping.every(MAP_SECONDS, "map the newest snapshot", self._map_newest)
        if self._saves:
            await self._save()
            self._housekeeping.every(self.settings.snapshot_seconds, "save snapshots", self._save)
        self.ready = True
        log.info("the replica is loaded", extra={"version": self.live_rules.state.version})

    async def _first_read(self) -> bool:
        """Read the rules; False if the database is not ready, or is that of another release."""
        try:
            if await self._run(is_migrated, self._engine):
                await self._run(self.follower.follow)
                return True
            problem = "its tables are not those of this release: start the service first"
        except SQLAlchemyError as error:
            problem = str(error)
        log.warning("the database cannot be read yet", extra={"error": problem})
        return False

    async def _follow(self, pause: float) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), pause)
            self._changed.clear()
            try:
                await self._run(self.follower.follow)
            except Exception as error:  # it goes on with the rules that it has
                log.warning("the rules cannot be followed", extra={"error": str(error)})
                await asyncio.sleep(RETRY_SECONDS)

    async def _map_newest(self) -> None:
        await self._run(self.follower.map_newest)

    async def _save(self) -> None:
        await self._run(self.follower.save)

    async def _run(self, work: Any, *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._following_threads, work, *arguments)

    async def close(self) -> None:
        self.closing.set()
        self.ready = False
        await self._housekeeping.close()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._notices is not None:
            await asyncio.to_thread(self._notices.close)
        await asyncio.to_thread(self.live_rules.timed.close)
        self._following_threads.shutdown()
        self.threads.shutdown()
        self.bulk_threads.shutdown()
        self._engine.dispose()

    # What requests ask of the replica

    @property
    def live_rules(self) -> LiveRules:
        return self.follower.live

    def check_event(self, event: Mapping[str, Any]) -> None:
        if self.follower.schema is not None:
            self.follower.schema.admit_event(Event(event, self.settings.aliases))

    def check_rule(self, rule: object) -> None:
        if self.follower.schema is not None:
            self.follower.schema.admit(rule)

    def check_serving(self) -> None:
        """Raise a problem if the rules may be too old."""
        longest, lag = self.settings.longest_lag, self.follower.lag_seconds
        if longest and lag > longest:
            detail = f"the rules may be {lag:.0f} s old, the limit is {longest:g} s"
            raise RequestProblem("not-ready", detail, retry_after=RETRY_SECONDS)

    def figures(self) -> dict[str, float]:
        if not self.ready:
            return {"ready": 0}
        follower, state = self.follower, self.live_rules.state
        return {
            "ready": 1,
            "rules": len(state.matcher),
            "replica_version": state.version,
            "replica_versions_behind": max(0, follower.latest_version - state.version),
            "replica_lag_seconds": round(follower.lag_seconds, 3),
            "suspended_rules": len(follower.suspended),
            "lists": len(state.matcher.lists),
            **self.bytes_of_requests(),
        }
