"""The writing thread: all writes that are waiting share one transaction (group commit)."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from matchwood.service.storage.database import marks
from matchwood.service.storage.database_lock import DatabaseLock

log = logging.getLogger("matchwood.service")
T = TypeVar("T")
# The most writes that one transaction may hold.
WRITES_PER_COMMIT = 1_000


# The counter of probes: each writes one row, which tells whether anything can be written.
PROBE = "probe"


class Counters:
    """The last number handed out of each kind, stored in the transaction that used it.

    Rows may be deleted; their numbers are never handed out again.
    """

    def __init__(self, values: dict[str, int]) -> None:
        self._values = values
        self._stored = dict(values)

    def __getitem__(self, name: str) -> int:
        return self._values.get(name, 0)

    def take(self, name: str, count: int = 1) -> int:
        """Hand out `count` consecutive numbers, and return the first of them."""
        last = self[name]
        self._values[name] = last + count
        return last + 1

    def store(self, connection: Connection) -> None:
        """Write the counters that have changed."""
        for name, value in self._values.items():
            if name not in self._stored:
                connection.execute(marks.insert().values(name=name, value=value))
            elif self._stored[name] != value:
                connection.execute(marks.update().where(marks.c.name == name).values(value=value))

    def committed(self) -> None:
        """The transaction of the last `store` is committed."""
        self._stored = dict(self._values)


class PendingWrite(NamedTuple):
    """What to do within a transaction, and what to do with its result after the commit."""

    work: Callable[[Connection, Counters], Any]
    applied: Callable[[Any], None] | None
    done: Future[Any]


class DatabaseWriter:
    """Takes writes from any thread, and commits those that are waiting together, in order.

    `applied` runs in the writing thread before the caller's future is done, so that the state in
    memory follows the database in the order of commits.
    """

    def __init__(self, engine: Engine, lock: DatabaseLock) -> None:
        self._engine = engine
        self._lock = lock
        self._waiting: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        with engine.connect() as connection:
            rows = connection.execute(select(marks))
            self.counters = Counters({row.name: row.value for row in rows})
        self.commits = 0
        self.failure: DBAPIError | None = None  # why the last transaction failed, if it did

    def start(self) -> None:
        self._thread.start()

    def submit(
        self,
        work: Callable[[Connection, Counters], T],
        applied: Callable[[T], None] | None = None,
    ) -> Future[T]:
        """Queue a write. Its future has the result of `work` once that is committed."""
        done: Future[T] = Future()
        self._waiting.put(PendingWrite(work, applied, done))
        return done

    @property
    def backlog(self) -> int:
        """How many writes are waiting."""
        return self._waiting.qsize()

    def probe(self) -> Future[None]:
        """Write one row, to see whether writing works."""

        def work(connection: Connection, counters: Counters) -> None:
            counters.take(PROBE)

        return self.submit(work)

    def close(self) -> None:
        """Commit what is waiting, then end the thread."""
        self._waiting.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            group: list[PendingWrite] = []
            write = self._waiting.get()
            while write is not None:
                if write.done.set_running_or_notify_cancel():  # false if it was cancelled
                    group.append(write)
                if len(group) == WRITES_PER_COMMIT:
                    break
                try:
                    write = self._waiting.get_nowait()
                except queue.Empty:
                    break
            else:
                last = True
            if len(group) == 1 or (group and not self._commit(group, alone=False)):
                for write in group:  # one of the group failed: try each in its own transaction
                    self._commit([write], alone=True)

    def _commit(self, group: list[PendingWrite], alone: bool) -> bool:
        try:
            with self._engine.begin() as connection:
                self._lock.assert_held(connection)
                results = [write.work(connection, self.counters) for write in group]
                self.counters.store(connection)
        except Exception as error:
            if isinstance(error, SQLAlchemyError):
                log.error("a write failed", extra={"error": str(error)})
            if isinstance(error, OperationalError | InterfaceError):
                self.failure = error  # of the database rather than of what was written
            if alone:
                group[0].done.set_exception(error)
            return False
        self.counters.committed()
        self.commits += 1
        self.failure = None
        for write, result in zip(group, results, strict=True):
            try:
                if write.applied is not None:
                    write.applied(result)
            except Exception as error:
                log.exception("a committed write could not be applied in memory")
                write.done.set_exception(error)
            else:
                write.done.set_result(result)
        return True
