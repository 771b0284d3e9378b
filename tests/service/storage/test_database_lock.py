"""One process serves a database: it takes a lost lock again, or ends if another has it."""

import logging
import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from matchwood.service.settings import SettingsError
from matchwood.service.storage.database import migrate, open_engine
from matchwood.service.storage.database_lock import (
    ADVISORY_LOCK,
    DatabaseTaken,
    PostgresLock,
    locked_database,
)
from matchwood.service.storage.writer import DatabaseWriter
from service.postgres import new_database
from service.serving import served, settings_in


@pytest.fixture
def url(postgres: str) -> str:
    return new_database(postgres, f"hold-{time.time_ns()}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_one_process_serves_a_database(kind: str, tmp_path, request) -> None:
    database = request.getfixturevalue("url") if kind == "postgresql" else ""
    settings = settings_in(tmp_path, database=database)
    first, second = open_engine(settings), open_engine(settings)
    refused = pytest.raises(SettingsError, match="another process")
    with locked_database(first), refused, locked_database(second, 0.2):
        pass
    with locked_database(second, 0.5) as hold:
        hold.renew()
    first.dispose()
    second.dispose()


def holders(url: str) -> list[int]:
    """The processes of PostgreSQL that have the lock."""
    asked = (
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        return [pid for (pid,) in connection.execute(asked)]


def end(url: str, pid: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", [pid])


def wait_until(true: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until, "it does not come true"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_lost_lock_is_taken_again(url: str, tmp_path, caplog) -> None:
    with served(settings_in(tmp_path, database=url)) as running:
        made = running.subscribe("x = 1")
        (before,) = holders(url)
        end(url, before)
        wait_until(lambda: holders(url) not in ([], [before]))
        assert running.http.get("/readyz").status_code == 200
        assert running.publish({"x": 1})["matched"] == 1
        assert len(running.fetch(made)) == 1
    assert "was taken again" in caplog.text
    wait_until(lambda: holders(url) == [])  # let go


@pytest.mark.slow
def test_who_finds_another_in_its_place_ends(url: str, tmp_path, caplog) -> None:
    with served(settings_in(tmp_path, database=url)) as running:
        (before,) = holders(url)
        with psycopg.connect(url, autocommit=True) as other:
            next_in_line = threading.Thread(
                target=other.execute, args=("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
            )
            next_in_line.start()
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            with psycopg.connect(url, autocommit=True) as asking:
                wait_until(lambda: asking.execute(waiting).fetchone())
            end(url, before)
            next_in_line.join(20)
            wait_until(running.service.closing.is_set)
            wait_until(lambda: running.failed.is_set())
            answer = running.http.post("/events", json={"x": 1})
            assert (answer.status_code, answer.json()["type"]) == (
                503,
                "urn:matchwood:problem:shutting-down",
            )
            assert running.http.get("/readyz").status_code == 503
    (line,) = (one for one in caplog.records if one.levelno == logging.CRITICAL)
    assert (line.message, line.error) == (  # type: ignore[attr-defined]
        "the service shuts down",
        "another process serves this database now",
    )


@pytest.mark.slow
def test_nothing_is_written_once_another_is_in_place(url: str, tmp_path) -> None:
    engine = open_engine(settings_in(tmp_path, database=url))
    migrate(engine)
    first = PostgresLock(engine, 1)
    first.announce()
    writer = DatabaseWriter(engine, first)
    writer.start()
    assert writer.submit(lambda connection, marks: marks.take("n")).result(10) == 1
    (held_by,) = holders(url)
    end(url, held_by)  # it has not noticed yet
    second = PostgresLock(engine, 5)
    second.announce()
    with pytest.raises(DatabaseTaken):
        writer.submit(lambda connection, marks: marks.take("n")).result(10)
    writer.close()
    second.close()  # it came and went: the first may not go on as if nothing had happened
    wait_until(lambda: holders(url) == [])
    with pytest.raises(DatabaseTaken):
        first.renew()
    first.close()
    engine.dispose()
