"""Retention: events leave the outbox once all have acknowledged them, or when they are too old."""

from __future__ import annotations

import asyncio
import logging
import time

import numpy as np
from sqlalchemy import Connection, bindparam, delete

from matchwood.service.delivery.outbox import DroppedEvents, Outbox
from matchwood.service.metrics import Metrics
from matchwood.service.storage.database import events, subscriptions
from matchwood.service.storage.readers import Readers
from matchwood.service.storage.writer import Counters, DatabaseWriter

log = logging.getLogger("matchwood.service")
_UPDATE = (
    subscriptions.update()
    .where(subscriptions.c.number == bindparam("which"))
    .values(missed=subscriptions.c.missed + bindparam("count"))
)


class EventRetention:
    """Drops events from memory and from the database; `seconds` is how long they are kept."""

    def __init__(
        self,
        outbox: Outbox,
        readers: Readers,
        writer: DatabaseWriter,
        metrics: Metrics,
        seconds: float,
    ) -> None:
        self._outbox = outbox
        self._readers = readers
        self._writer = writer
        self._metrics = metrics
        self._seconds = seconds

    async def collect(self) -> None:
        """Drop what is no longer needed."""
        now = time.time()
        dropped = await self._readers.run(self._outbox.collect, now, now - self._seconds)
        if dropped:
            await self._delete(dropped)

    async def _delete(self, dropped: list[DroppedEvents]) -> None:
        """Delete events from the database, and count those that subscriptions have missed."""
        missed_by = np.concatenate([part.missed_by for part in dropped])
        numbers, counts = np.unique(missed_by, return_counts=True)
        missed = [
            {"which": number, "count": count}
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
        ]
        if missed:
            self._metrics.dropped.inc(len(missed_by))
            first, last = min(part.first for part in dropped), max(part.last for part in dropped)
            log.warning(
                "events were dropped that were not fetched in time",
                extra={"first": first, "last": last, "by": len(missed)},
            )

        def work(connection: Connection, counters: Counters) -> None:
            if missed:
                connection.execute(_UPDATE, missed)
            for part in dropped:
                between = events.c.number.between(part.first, part.last)
                connection.execute(delete(events).where(between))

        await asyncio.wrap_future(self._writer.submit(work))
