"""Dead letters: events that a webhook did not accept, kept to be examined and sent again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, delete, func, select

from matchwood.service.delivery.due_events import (
    ENVELOPE_BYTES,
    PIECE_BYTES,
    DueEvent,
)
from matchwood.service.metrics import Metrics
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.storage.database import dead_letters
from matchwood.service.storage.row_pages import ONE_BY_ONE
from matchwood.service.storage.writer import Counters, DatabaseWriter

log = logging.getLogger("matchwood.service")


class DeadLetters:
    """The dead letters of all subscriptions, at most `most` of each."""

    def __init__(self, engine: Engine, writer: DatabaseWriter, metrics: Metrics, most: int) -> None:
        self._engine = engine
        self._writer = writer
        self._metrics = metrics
        self._most = most
        self.requested = asyncio.Event()  # is set if some are to be sent again

    def load(self) -> None:
        """See whether some were to be sent again when the service last ended."""
        if self.to_replay(1):
            self.requested.set()

    def page(
        self, subscription: int | None, after: int, limit: int, most_bytes: int = PIECE_BYTES
    ) -> list[Row[Any]]:
        """The letters of a subscription, or of all, in the order of their numbers.

        They are at most `limit` letters, and no more than it takes to have `most_bytes`.
        """
        query = select(dead_letters).where(dead_letters.c.number > after)
        if subscription is not None:
            query = query.where(dead_letters.c.subscription == subscription)
        letters: list[Row[Any]] = []
        size = 0
        with self._engine.connect().execution_options(**ONE_BY_ONE) as connection:
            rows = connection.execute(query.order_by(dead_letters.c.number).limit(limit))
            for row in rows:
                letters.append(row)
                size += len(row.body) + ENVELOPE_BYTES
                if size >= most_bytes:
                    break
            rows.close()
        return letters

    def count(self, subscription: int) -> int:
        """How many letters a subscription has."""
        own = dead_letters.c.subscription == subscription
        with self._engine.connect() as connection:
            return connection.scalar(select(func.count()).where(own)) or 0

    async def add(self, subscription: int, event: DueEvent, attempts: int, error: str) -> None:
        """Store an event that was not accepted; the oldest letter makes room for it."""
        name = name_of(subscription)
        log.warning(
            "a webhook does not accept an event",
            extra={"subscription": name, "event": event.number, "error": error},
        )

        def work(connection: Connection, counters: Counters) -> None:
            row: dict[str, Any] = {
                "number": counters.take("dead_letter"),
                "subscription": subscription,
            }
            row |= {"event": event.number, "published": event.at, "body": event.body}
            row |= {"at": time.time(), "attempts": attempts, "error": error, "replay": False}
            connection.execute(dead_letters.insert().values(**row))
            own = dead_letters.c.subscription == subscription
            count = connection.scalar(select(func.count()).where(own)) or 0
            if count > self._most:
                oldest = select(func.min(dead_letters.c.number)).where(own).scalar_subquery()
                connection.execute(delete(dead_letters).where(dead_letters.c.number == oldest))
                log.warning("the oldest dead letter was dropped", extra={"subscription": name})

        await asyncio.wrap_future(self._writer.submit(work))
        self._metrics.dead_letters.inc()

    async def replay(self, subscription: int, numbers: Sequence[int] | None) -> int:
        """Mark some letters, or all, to be sent again. Returns how many were marked."""
        chosen = dead_letters.c.subscription == subscription
        if numbers is not None:
            chosen = and_(chosen, dead_letters.c.number.in_(numbers))

        def work(connection: Connection, counters: Counters) -> int:
            update = dead_letters.update().where(chosen).values(replay=True)
            return connection.execute(update).rowcount

        count = await asyncio.wrap_future(self._writer.submit(work))
        self.requested.set()
        return count

    def to_replay(self, limit: int) -> list[Row[Any]]:
        """The first letters that are marked to be sent again."""
        query = select(dead_letters).where(dead_letters.c.replay)
        with self._engine.connect() as connection:
            return list(connection.execute(query.order_by(dead_letters.c.number).limit(limit)))

    async def replayed(self, letter: Row[Any], error: str | None) -> None:
        """Delete a letter that was accepted, or record why it was not."""
        own = dead_letters.c.number == letter.number

        def work(connection: Connection, counters: Counters) -> None:
            if error is None:
                connection.execute(delete(dead_letters).where(own))
            else:
                changed = {"replay": False, "attempts": letter.attempts + 1, "error": error}
                connection.execute(dead_letters.update().where(own).values(**changed))

        await asyncio.wrap_future(self._writer.submit(work))
