"""The lock on a database: one process serves it, and notices if it has lost the lock.

On SQLite the lock is a locked file, which nobody can take away. On PostgreSQL it is an advisory
lock, which ends with the connection that holds it. The process that takes it also writes a random
number of its own into the database (the mark `holder`), and every transaction checks that number.
A process that has lost its connection without knowing it can therefore write nothing once another
process has taken the lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, select, text
from sqlalchemy.exc import SQLAlchemyError

from matchwood.service.settings import SettingsError
from matchwood.service.storage.database import marks

log = logging.getLogger("matchwood.service")
# The key of PostgreSQL's advisory lock: an arbitrary number that no other program uses.
ADVISORY_LOCK = 7_239_115_482
# The row of `marks` with the number of the process that holds the lock.
HOLDER = "holder"
# Seconds between attempts to take a lock that another process holds.
RETRY_SECONDS = 0.1


class DatabaseTaken(Exception):
    """Another process has, or has had, the lock: what this one knows of the database is stale."""


class DatabaseLock:
    """The lock of this process. On SQLite it lasts as long as the process keeps its file open."""

    def announce(self) -> None:
        """Record in the database, once it has tables, that this process holds the lock."""

    def assert_held(self, connection: Connection) -> None:
        """Raise DatabaseTaken if the lock is lost; else it is held until the transaction ends."""

    def renew(self) -> None:
        """Take a lost lock again; raise DatabaseTaken if another process has taken it."""


class PostgresLock(DatabaseLock):
    """A connection that holds the advisory lock; a lost connection is replaced."""

    def __init__(self, engine: Engine, patience: float) -> None:
        self._engine = engine
        self._number = secrets.randbits(62)
        self._connection = self._connect()
        deadline = time.monotonic() + patience
        while not self._try_lock():
            if time.monotonic() > deadline:
                self.close()
                raise SettingsError("another process serves this database: stop it first")
            time.sleep(RETRY_SECONDS)

    def _connect(self) -> Connection:
        # Detached from the pool, which would hand it to others, or close it when it is idle.
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()
        return connection

    def _try_lock(self) -> bool:
        query = text("SELECT pg_try_advisory_lock(:lock)")
        return bool(self._connection.scalar(query, {"lock": ADVISORY_LOCK}))

    def announce(self) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(marks).where(marks.c.name == HOLDER))
            connection.execute(marks.insert().values(name=HOLDER, value=self._number))

    def assert_held(self, connection: Connection) -> None:
        holder = select(marks.c.value).where(marks.c.name == HOLDER).with_for_update(read=True)
        if connection.scalar(holder) != self._number:
            raise DatabaseTaken("another process serves this database now")

    def renew(self) -> None:
        try:
            self._connection.scalar(text("SELECT 1"))
            return
        except SQLAlchemyError:
            self.close()
        self._connection = self._connect()
        if not self._try_lock():
            self.close()
            raise DatabaseTaken("another process serves this database now")
        with self._engine.begin() as connection:
            self.assert_held(connection)
        log.warning("the lock on the database was lost with its connection, and was taken again")

    def close(self) -> None:
        with contextlib.suppress(SQLAlchemyError):
            self._connection.close()  # which releases the lock


@contextmanager
def locked_database(engine: Engine, patience: float = 10.0) -> Iterator[DatabaseLock]:
    """Hold the lock of a database, waiting up to `patience` seconds for it.

    The lock of a process that was killed is free at once.
    """
    if engine.dialect.name == "sqlite":
        with _locked_file(Path(f"{engine.url.database}.lock"), patience):
            yield DatabaseLock()
        return
    lock = PostgresLock(engine, patience)
    try:
        yield lock
    finally:
        lock.close()


@contextmanager
def _locked_file(path: Path, patience: float) -> Iterator[None]:
    deadline = time.monotonic() + patience
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise SettingsError(
                        f"another process serves the database beside {path}: stop it first"
                    ) from None
                time.sleep(RETRY_SECONDS)
        yield
