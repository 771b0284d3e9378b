"""The next events of a subscription, with their bodies, a few at a time."""

from __future__ import annotations

import logging
from typing import NamedTuple

from sqlalchemy import Engine, select

from matchwood.service.delivery.outbox import Outbox
from matchwood.service.storage.database import events
from matchwood.service.storage.readers import Readers
from matchwood.service.storage.row_pages import ONE_BY_ONE
from matchwood.service.times import iso

log = logging.getLogger("matchwood.service")
# Bytes of events that are fetched together: no further event is fetched once there are as many.
PIECE_BYTES = 64 << 10
# Bytes that an event takes beyond those of its body when it is sent.
ENVELOPE_BYTES = 100
# The most events that are fetched together.
PIECE_EVENTS = 100


class DueEvent(NamedTuple):
    """An event that is to be delivered."""

    number: int
    at: float  # when it was accepted, as Unix time
    body: str  # JSON


def envelope(event: DueEvent, data: str = "") -> str:
    """The JSON that is delivered; the event's own JSON is inserted without being parsed.

    So is the data of the subscription, if it has any.
    """
    carried = f',"data":{data}' if data else ""
    return f'{{"id":{event.number},"published":"{iso(event.at)}","event":{event.body}{carried}}}'


class DueEvents:
    """Looks up which events are due in the outbox, and their bodies in memory or the database."""

    def __init__(self, engine: Engine, readers: Readers, outbox: Outbox) -> None:
        self._engine = engine
        self._readers = readers
        self._outbox = outbox
        self._missing: set[int] = set()  # events of the outbox that the database does not have

    async def after(
        self, subscription: int, event: int, limit: int, most_bytes: int = PIECE_BYTES
    ) -> list[DueEvent]:
        """The first events after one that are due to a subscription.

        They are at most `limit` events, and no more than it takes to have `most_bytes`. An event
        that the database does not have does not keep later ones waiting.
        """
        limit = min(limit, PIECE_EVENTS)
        while numbers := self._numbers(subscription, event, limit):
            due = self._recent(numbers, most_bytes)
            if not due:
                due = await self._readers.run(self._stored, numbers, most_bytes)
            if due:
                return due
        return []

    def any_after(self, subscription: int, event: int) -> bool:
        """Whether an event after one is due to a subscription."""
        return bool(self._numbers(subscription, event, 1))

    def _numbers(self, subscription: int, event: int, limit: int) -> list[int]:
        numbers = self._outbox.after(subscription, event, limit + len(self._missing))
        return [number for number in numbers if number not in self._missing][:limit]

    def _recent(self, numbers: list[int], most_bytes: int) -> list[DueEvent]:
        """The first of the events, as far as their bodies are in memory."""
        due: list[DueEvent] = []
        size = 0
        for number in numbers:
            recent = self._outbox.recent.get(number)
            if recent is None:
                break
            due.append(DueEvent(number, *recent))
            size += len(recent[1]) + ENVELOPE_BYTES
            if size >= most_bytes:
                break
        return due

    def _stored(self, numbers: list[int], most_bytes: int) -> list[DueEvent]:
        """The first of the events that the database has."""
        columns = (events.c.number, events.c.at, events.c.body)
        query = select(*columns).where(events.c.number.in_(numbers)).order_by(events.c.number)
        due: list[DueEvent] = []
        size = 0
        with self._engine.connect().execution_options(**ONE_BY_ONE) as connection:
            rows = connection.execute(query)
            for row in rows:
                due.append(DueEvent(*row))
                size += len(row.body) + ENVELOPE_BYTES
                if size >= most_bytes:
                    break
            rows.close()
        if not due:
            self._missing.update(numbers)
            log.error(
                "events are skipped: the database does not have them any more",
                extra={"first": numbers[0], "last": numbers[-1], "count": len(numbers)},
            )
        return due
