"""One process has a database: how it takes hold of it, and how it learns that it no longer does.

On SQLite that is a locked file, which nobody can take away. On PostgreSQL it is an advisory lock,
which goes with the connection that has it. Whoever takes it writes a number of its own beside it
(the mark `holder`), and every transaction looks whether that is still there: a process that lost
its connection and does not know yet can write nothing once another has the database.
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

from matchwood.service.database import marks
from matchwood.service.settings import SettingsError

log = logging.getLogger("matchwood.service")
LOCK = 7_239_115_482  # of PostgreSQL: any number that nobody else uses
HOLDER = "holder"


class Displaced(Exception):
    """Another process has the database now, or had it meanwhile: what we know of it is old."""


class Hold:
    """That this process has a database; on SQLite for as long as it wants."""

    def enter(self) -> None:
        """Say that it is ours, once there are tables."""

    def assert_ours(self, connection: Connection) -> None:
        """Within a transaction: nobody else takes the database before it ends, or Displaced."""

    def renew(self) -> None:
        """Take hold of it again if that was lost; Displaced if another has it."""


class PostgresHold(Hold):
    """A connection that has the advisory lock, and a new one where that was lost."""

    def __init__(self, engine: Engine, patience: float) -> None:
        self._engine = engine
        self._number = secrets.randbits(62)
        self._connection = self._connect()
        until = time.monotonic() + patience
        while not self._lock():
            if time.monotonic() > until:
                self.close()
                raise SettingsError("another process serves this database: stop it first")
            time.sleep(0.1)

    def _connect(self) -> Connection:
        # Not one of the pool's: it must not be given to anybody else, nor closed as idle.
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()
        return connection

    def _lock(self) -> bool:
        asked = text("SELECT pg_try_advisory_lock(:lock)")
        return bool(self._connection.scalar(asked, {"lock": LOCK}))

    def enter(self) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(marks).where(marks.c.name == HOLDER))
            connection.execute(marks.insert().values(name=HOLDER, value=self._number))

    def assert_ours(self, connection: Connection) -> None:
        wanted = select(marks.c.value).where(marks.c.name == HOLDER).with_for_update(read=True)
        if connection.scalar(wanted) != self._number:
            raise Displaced("another process serves this database now")

    def renew(self) -> None:
        try:
            self._connection.scalar(text("SELECT 1"))
            return
        except SQLAlchemyError:
            self.close()
        self._connection = self._connect()
        if not self._lock():
            self.close()
            raise Displaced("another process serves this database now")
        with self._engine.begin() as connection:
            self.assert_ours(connection)
        log.warning("the connection that holds the database was lost, and is there again")

    def close(self) -> None:
        with contextlib.suppress(SQLAlchemyError):
            self._connection.close()  # and with it the lock


@contextmanager
def sole_use(engine: Engine, patience: float = 10.0) -> Iterator[Hold]:
    """Hold the database for this process; of one that was killed, it is free again at once."""
    if engine.dialect.name == "sqlite":
        with _locked_file(Path(f"{engine.url.database}.lock"), patience):
            yield Hold()
        return
    hold = PostgresHold(engine, patience)
    try:
        yield hold
    finally:
        hold.close()


@contextmanager
def _locked_file(path: Path, patience: float) -> Iterator[None]:
    until = time.monotonic() + patience
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise SettingsError(
                        f"another process serves the database beside {path}: stop it first"
                    ) from None
                time.sleep(0.1)
        yield
