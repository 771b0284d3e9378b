"""`StorageParts`: the database of a service, with the threads that read and write it."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import ExitStack

from sqlalchemy import Engine

from matchwood.service.settings import Settings
from matchwood.service.storage.database import migrate, open_engine
from matchwood.service.storage.database_lock import DatabaseLock, locked_database
from matchwood.service.storage.readers import Readers
from matchwood.service.storage.writer import DatabaseWriter


class StorageParts:
    """Is locked and migrated when it is made; `close` releases the lock."""

    engine: Engine
    lock: DatabaseLock
    writer: DatabaseWriter

    def __init__(self, settings: Settings) -> None:
        self._held = ExitStack()
        with self._held:  # lets go of everything if one of the steps fails
            self.engine = open_engine(settings)
            self._held.callback(self.engine.dispose)
            self.lock = self._held.enter_context(locked_database(self.engine))
            migrate(self.engine)
            self.lock.announce()
            self.readers = Readers()
            self._held.callback(self.readers.close)
            self.writer = DatabaseWriter(self.engine, self.lock)
            self._held = self._held.pop_all()

    def identity(self) -> int:
        """A random number of this database, which keeps apart the snapshots of several."""
        counters = self.writer.counters
        if not counters["database"]:
            counters.take("database", secrets.randbits(40) + 1)
        return counters["database"]

    async def close(self) -> None:
        """Release the database; the writer must have been closed before."""
        await asyncio.to_thread(self._held.close)
