"""Waits for PostgreSQL to say that rules have changed, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from sqlalchemy import Engine

from matchwood.service.rules.rule_changes import CHANNEL
from matchwood.service.storage.database import connection_parameters

log = logging.getLogger("matchwood.service")
# Seconds after which the thread looks whether it is to end.
LOOK_SECONDS = 0.5
# Seconds until it connects again, after its connection was lost.
RETRY_SECONDS = 1.0


class RuleNotices:
    """Calls `notice` after each commit that changed rules; also after it was not connected."""

    def __init__(self, engine: Engine, notice: Callable[[], None]) -> None:
        self._parameters = connection_parameters(engine)
        self._notice = notice
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        import psycopg

        while not self._end.is_set():
            try:
                with psycopg.connect(**self._parameters, autocommit=True) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    self._notice()
                    while not self._end.is_set():
                        for _ in connection.notifies(timeout=LOOK_SECONDS, stop_after=1):
                            self._notice()
            except psycopg.Error as error:  # meanwhile the replica asks again and again
                log.warning("notices of changed rules were lost", extra={"error": str(error)})
                self._end.wait(RETRY_SECONDS)
