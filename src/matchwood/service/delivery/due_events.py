"""The next events of a subscription, with their bodies."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Engine, select

from matchwood.service.delivery.outbox import Outbox
from matchwood.service.storage.database import events
from matchwood.service.storage.readers import Readers
from matchwood.service.times import iso


class DueEvent(NamedTuple):
    """An event that is to be delivered."""

    number: int
    at: float  # when it was accepted, as Unix time
    body: str  # JSON


def envelope(event: DueEvent) -> str:
    """The JSON that is delivered; the event's own JSON is inserted without being parsed."""
    return f'{{"id":{event.number},"published":"{iso(event.at)}","event":{event.body}}}'


class DueEvents:
    """Looks up which events are due in the outbox, and their bodies in memory or the database."""

    def __init__(self, engine: Engine, readers: Readers, outbox: Outbox) -> None:
        self._engine = engine
        self._readers = readers
        self._outbox = outbox

    async def after(self, subscription: int, event: int, limit: int) -> list[DueEvent]:
        """The first events after one that are due to a subscription, at most `limit`."""
        numbers = self._outbox.after(subscription, event, limit)
        due = []
        for number in numbers:
            recent = self._outbox.recent.get(number)
            if recent is None:
                break
            due.append(DueEvent(number, *recent))
        if len(due) < len(numbers):
            due += await self._readers.run(self._stored, numbers[len(due) :])
        return due

    def any_after(self, subscription: int, event: int) -> bool:
        """Whether an event after one is due to a subscription."""
        return bool(self._outbox.after(subscription, event, 1))

    def _stored(self, numbers: list[int]) -> list[DueEvent]:
        columns = (events.c.number, events.c.at, events.c.body)
        query = select(*columns).where(events.c.number.in_(numbers)).order_by(events.c.number)
        with self._engine.connect() as connection:
            return [DueEvent(*row) for row in connection.execute(query)]
