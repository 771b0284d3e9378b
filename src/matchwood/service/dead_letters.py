"""Dead letters: events that a webhook would not take, kept to be looked at and sent again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, and_, delete, func, select

from matchwood.service.database import dead_letters
from matchwood.service.deliveries import Due
from matchwood.service.subscriptions import name_of
from matchwood.service.writer import Marks

if TYPE_CHECKING:
    from matchwood.service.service import Service

log = logging.getLogger("matchwood.service")
AT_ONCE = 20  # letters that are sent again together


class DeadLetters:
    """The dead letters of all subscriptions."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._most = service.settings.limits.dead_letters_a_subscription
        self._asked = asyncio.Event()

    def load(self) -> None:
        """Whether some were to be sent again when the service ended."""
        wanted = select(dead_letters.c.number).where(dead_letters.c.replay).limit(1)
        with self._service.engine.connect() as connection:
            if connection.execute(wanted).first() is not None:
                self._asked.set()

    def page(self, subscription: int | None, after: int, limit: int) -> list[Row[Any]]:
        wanted = select(dead_letters).where(dead_letters.c.number > after)
        if subscription is not None:
            wanted = wanted.where(dead_letters.c.subscription == subscription)
        with self._service.engine.connect() as connection:
            return list(connection.execute(wanted.order_by(dead_letters.c.number).limit(limit)))

    async def add(self, subscription: int, event: Due, attempts: int, error: str) -> None:
        """Keep an event that was not taken; its subscription goes on behind it."""
        name = name_of(subscription)
        log.warning(
            "a webhook does not take an event",
            extra={"subscription": name, "event": event.number, "error": error},
        )

        def work(connection: Connection, marks: Marks) -> None:
            row: dict[str, Any] = {
                "number": marks.take("dead_letter"),
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

        await asyncio.wrap_future(self._service.writer.submit(work))
        self._service.acknowledge(subscription, event.number)
        self._service.metrics.dead_letters.inc()

    async def replay(self, subscription: int, numbers: Sequence[int] | None) -> int:
        """Send some again, or all; how many."""
        chosen = dead_letters.c.subscription == subscription
        if numbers is not None:
            chosen = and_(chosen, dead_letters.c.number.in_(numbers))

        def work(connection: Connection, marks: Marks) -> int:
            update = dead_letters.update().where(chosen).values(replay=True)
            return connection.execute(update).rowcount

        count = await asyncio.wrap_future(self._service.writer.submit(work))
        self._asked.set()
        return count

    async def run(self) -> None:
        """Send letters again as it is asked for."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                while rows := await self._service.read(self._chosen):
                    await asyncio.gather(*(self._again(row) for row in rows))
            except Exception:
                log.exception("dead letters could not be sent again")
                await asyncio.sleep(1)
                self._asked.set()

    def _chosen(self) -> list[Row[Any]]:
        wanted = select(dead_letters).where(dead_letters.c.replay)
        with self._service.engine.connect() as connection:
            return list(connection.execute(wanted.order_by(dead_letters.c.number).limit(AT_ONCE)))

    async def _again(self, row: Row[Any]) -> None:
        hook = self._service.webhooks.of(row.subscription)
        error: str | None = "the subscription has no webhook any more"
        if hook is not None:
            event = Due(row.event, row.published, row.body)
            error = await self._service.webhooks.send(hook, row.subscription, event)
        own = dead_letters.c.number == row.number

        def work(connection: Connection, marks: Marks) -> None:
            if error is None:
                connection.execute(delete(dead_letters).where(own))
            else:
                changed = {"replay": False, "attempts": row.attempts + 1, "error": error}
                connection.execute(dead_letters.update().where(own).values(**changed))

        await asyncio.wrap_future(self._service.writer.submit(work))
