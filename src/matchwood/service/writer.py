"""The one thread that writes: whatever waits is written in one transaction (group commit)."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from matchwood.service.database import marks
from matchwood.service.holding import Hold

log = logging.getLogger("matchwood.service")
T = TypeVar("T")
MOST = 1_000  # writes in a transaction


class Marks:
    """The last number given of each kind; kept with the transaction that gave it."""

    def __init__(self, values: dict[str, int]) -> None:
        self._values = values
        self._kept = dict(values)

    def __getitem__(self, name: str) -> int:
        return self._values.get(name, 0)

    def take(self, name: str, count: int = 1) -> int:
        """The first of `count` numbers that nobody has had."""
        last = self[name]
        self._values[name] = last + count
        return last + 1

    def keep(self, connection: Connection) -> None:
        for name, value in self._values.items():
            if name not in self._kept:
                connection.execute(marks.insert().values(name=name, value=value))
            elif self._kept[name] != value:
                connection.execute(marks.update().where(marks.c.name == name).values(value=value))

    def kept(self) -> None:
        self._kept = dict(self._values)


class Write(NamedTuple):
    """What to do in a transaction, and what to do with its result once that is committed."""

    work: Callable[[Connection, Marks], Any]
    applied: Callable[[Any], None] | None
    done: Future[Any]


class Writer:
    """Takes writes from any thread and commits those that wait together, in their order.

    `applied` runs in the writing thread, before whoever waits hears of it: what is in memory
    follows the database, in the same order.
    """

    def __init__(self, engine: Engine, hold: Hold) -> None:
        self._engine = engine
        self._hold = hold
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        with engine.connect() as connection:
            self.marks = Marks({row.name: row.value for row in connection.execute(select(marks))})
        self.commits = 0

    def start(self) -> None:
        self._thread.start()

    def submit(
        self,
        work: Callable[[Connection, Marks], T],
        applied: Callable[[T], None] | None = None,
    ) -> Future[T]:
        done: Future[T] = Future()
        self._waiting.put(Write(work, applied, done))
        return done

    @property
    def backlog(self) -> int:
        return self._waiting.qsize()

    def close(self) -> None:
        """Write what waits, and end."""
        self._waiting.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            group: list[Write] = []
            one = self._waiting.get()
            while one is not None:
                if one.done.set_running_or_notify_cancel():  # else nobody waits for it any more
                    group.append(one)
                if len(group) == MOST:
                    break
                try:
                    one = self._waiting.get_nowait()
                except queue.Empty:
                    break
            else:
                last = True
            if len(group) == 1 or (group and not self._write(group, alone=False)):
                for write in group:  # one of them failed: each for itself
                    self._write([write], alone=True)

    def _write(self, group: list[Write], alone: bool) -> bool:
        try:
            with self._engine.begin() as connection:
                self._hold.assert_ours(connection)
                results = [write.work(connection, self.marks) for write in group]
                self.marks.keep(connection)
        except Exception as error:
            if isinstance(error, SQLAlchemyError):
                log.error("a write failed", extra={"error": str(error)})
            if alone:
                group[0].done.set_exception(error)
            return False
        self.marks.kept()
        self.commits += 1
        for write, result in zip(group, results, strict=True):
            try:
                if write.applied is not None:
                    write.applied(result)
            except Exception as error:
                log.exception("what was written could not be applied")
                write.done.set_exception(error)
            else:
                write.done.set_result(result)
        return True
