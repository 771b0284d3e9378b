"""What is due to a subscription: its next events with their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Engine, select

from matchwood.service.database import events
from matchwood.service.times import iso

if TYPE_CHECKING:
    from matchwood.service.service import Service


class Due(NamedTuple):
    """An event to be delivered."""

    number: int
    at: float
    body: str


def envelope(one: Due) -> str:
    """An event as it is delivered; its JSON is not read again."""
    return f'{{"id":{one.number},"published":"{iso(one.at)}","event":{one.body}}}'


async def due(service: Service, number: int, after: int, limit: int) -> list[Due]:
    """The first events after one that a subscription matched; recent ones are in memory."""
    wanted = service.outbox.after(number, after, limit)
    found = []
    for event in wanted:
        known = service.outbox.recent.get(event)
        if known is None:
            break
        found.append(Due(event, *known))
    if len(found) < len(wanted):
        found += await service.read(_stored, service.engine, wanted[len(found) :])
    return found


def _stored(engine: Engine, numbers: list[int]) -> list[Due]:
    columns = (events.c.number, events.c.at, events.c.body)
    wanted = select(*columns).where(events.c.number.in_(numbers)).order_by(events.c.number)
    with engine.connect() as connection:
        return [Due(*row) for row in connection.execute(wanted)]
