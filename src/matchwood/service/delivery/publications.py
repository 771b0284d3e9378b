"""Publications that a client may repeat: each has a name of the client's, and is accepted once.

The name is stored in the transaction that stores the events, and with it what was answered. If
the same body is published again under the same name, the answer is the same, and nothing is stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, select

from matchwood.service.problems import RequestProblem
from matchwood.service.storage.database import publications
from matchwood.service.storage.writer import Counters, DatabaseWriter


class PublishedEvent(NamedTuple):
    """What a publisher is told of an event."""

    id: int
    matched: int


class NamedPublication(NamedTuple):
    """A publication that may be repeated."""

    key: str  # the name of the API key that publishes
    name: str  # the client's own
    digest: bytes  # of the body and its media type

    @classmethod
    def of(cls, key: str, name: str, kind: str, body: bytes) -> NamedPublication:
        return cls(key, name, hashlib.sha256(kind.encode() + b"\0" + body).digest())

    def earlier(self, connection: Connection) -> list[PublishedEvent] | None:
        """What was answered when it was first published; None if this is the first time."""
        same = and_(publications.c.key == self.key, publications.c.name == self.name)
        row = connection.execute(select(publications).where(same)).one_or_none()
        if row is None:
            return None
        if bytes(row.digest) != self.digest:
            detail = f"the Idempotency-Key {self.name!r} was used with another body"
            raise RequestProblem("idempotency-conflict", detail)
        matched = json.loads(row.matched)
        return [PublishedEvent(number, count) for number, count in enumerate(matched, row.first)]

    def store(self, connection: Connection, published: list[PublishedEvent]) -> None:
        """Remember what is answered."""
        row = {"key": self.key, "name": self.name, "at": time.time(), "digest": self.digest}
        matched = json.dumps([event.matched for event in published], separators=(",", ":"))
        first = published[0].id if published else 0
        connection.execute(publications.insert().values(**row, first=first, matched=matched))


class OldPublications:
    """Forgets publications after some time: a client must not repeat them any later."""

    def __init__(self, writer: DatabaseWriter, seconds: float) -> None:
        self._writer = writer
        self._seconds = seconds

    async def forget(self) -> None:
        before = time.time() - self._seconds

        def work(connection: Connection, counters: Counters) -> None:
            connection.execute(delete(publications).where(publications.c.at < before))

        await asyncio.wrap_future(self._writer.submit(work))
