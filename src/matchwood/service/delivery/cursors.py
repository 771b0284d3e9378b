"""Acknowledgements: a cursor moves in memory at once, and is written a moment later."""

from __future__ import annotations

import asyncio

from sqlalchemy import Connection, bindparam

from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.storage.database import subscriptions
from matchwood.service.storage.writer import Counters, DatabaseWriter

_UPDATE = (
    subscriptions.update()
    .where(subscriptions.c.number == bindparam("which"))
    .values(cursor=bindparam("event"))
)


class Cursors:
    """Moves cursors, and writes those that have moved, many in one statement."""

    def __init__(self, roster: SubscriptionRoster, writer: DatabaseWriter) -> None:
        self._roster = roster
        self._writer = writer
        self._unwritten: dict[int, int] = {}

    def acknowledge(self, subscription: int, event: int) -> None:
        """All events up to one are delivered; events of the future cannot be acknowledged."""
        event = min(event, self._writer.counters["event"])
        if self._roster.acknowledge(subscription, event):
            self._unwritten[subscription] = event

    async def write(self) -> None:
        """Write the cursors that have moved since the last call."""
        if not self._unwritten:
            return
        moved, self._unwritten = self._unwritten, {}
        rows = [{"which": number, "event": event} for number, event in moved.items()]

        def work(connection: Connection, counters: Counters) -> None:
            connection.execute(_UPDATE, rows)

        try:
            await asyncio.wrap_future(self._writer.submit(work))
        except BaseException:  # also if this task is cancelled: the next call writes them
            self._unwritten = moved | self._unwritten
            raise
