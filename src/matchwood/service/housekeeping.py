"""Work that a service repeats beside requests: each task has its own period in seconds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from sqlalchemy.exc import SQLAlchemyError

from matchwood.service.delivery.watchers import Watchers
from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.rules.subscription_store import SubscriptionStore
from matchwood.service.storage.database_lock import DatabaseLock, DatabaseTaken
from matchwood.service.storage.readers import Readers

log = logging.getLogger("matchwood.service")
Work = Callable[[], Awaitable[None]]


class Housekeeping:
    """Runs tasks again and again, until it is closed. A task that fails is tried again."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def every(self, seconds: float, name: str, work: Work) -> None:
        """Run a task each time so many seconds have passed since it last ended."""
        self._tasks.append(asyncio.create_task(self._repeat(seconds, name, work)))

    async def _repeat(self, seconds: float, name: str, work: Work) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except Exception:  # the database may be unreachable: the next round tries again
                log.exception("a housekeeping task failed", extra={"work": name})

    async def close(self) -> None:
        """Cancel all tasks, whatever they are doing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Expiry:
    """Removes subscriptions that have expired, and ends their streams."""

    def __init__(
        self, roster: SubscriptionRoster, subscriptions: SubscriptionStore, watchers: Watchers
    ) -> None:
        self._roster = roster
        self._subscriptions = subscriptions
        self._watchers = watchers

    async def remove_expired(self) -> None:
        now = time.time()
        expired = self._roster.expired(now)
        if expired:
            await self._subscriptions.remove(expired, expired_by=now)
            self._watchers.wake(expired)


class LockWatch:
    """Checks that this process still holds the database; calls `lost` once if it does not."""

    def __init__(self, lock: DatabaseLock, readers: Readers, lost: Callable[[], None]) -> None:
        self._lock = lock
        self._readers = readers
        self._lost = lost
        self.is_lost = False

    async def check(self) -> None:
        try:
            await self._readers.run(self._lock.renew)
        except SQLAlchemyError as error:  # meanwhile nothing can be written
            log.warning("the database cannot be reached", extra={"error": str(error)})
        except DatabaseTaken as error:
            if not self.is_lost:
                self.is_lost = True
                log.critical("the service shuts down", extra={"error": str(error)})
                self._lost()
