"""Writes are committed together, in order, and one that fails fails alone."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, select

from matchwood.service.storage.database import marks, migrate, open_engine, rules
from matchwood.service.storage.database_lock import DatabaseLock
from matchwood.service.storage.writer import Counters, DatabaseWriter
from service.serving import settings_in


@pytest.fixture
def engine(tmp_path) -> Iterator[Engine]:
    engine = open_engine(settings_in(tmp_path))
    migrate(engine)
    yield engine
    engine.dispose()


def insert(name: str):
    def work(connection: Connection, numbers: Counters) -> int:
        row = {"id": name, "rule": "true", "tags": "[]", "priority": 0.0}
        connection.execute(rules.insert().values(**row))
        return numbers.take("count")

    return work


def test_those_that_wait_share_a_commit(engine: Engine) -> None:
    writer = DatabaseWriter(engine, DatabaseLock())
    applied: list[int] = []
    waiting = [writer.submit(insert(str(n)), applied.append) for n in range(50)]
    writer.start()
    assert [one.result(10) for one in waiting] == list(range(1, 51)) == applied
    assert writer.commits == 1
    writer.close()
    assert DatabaseWriter(engine, DatabaseLock()).counters["count"] == 50


def test_one_that_fails_fails_alone(engine: Engine) -> None:
    writer = DatabaseWriter(engine, DatabaseLock())
    done = [writer.submit(insert(name)) for name in ("a", "b", "a", "c")]
    writer.start()
    assert done[0].result(10) < done[1].result(10) < done[3].result(10)
    with pytest.raises(Exception, match="UNIQUE"):
        done[2].result(10)
    writer.close()
    with engine.connect() as connection:
        assert set(connection.scalars(select(rules.c.id))) == {"a", "b", "c"}
        kept = connection.scalar(select(marks.c.value).where(marks.c.name == "count"))
        assert kept >= done[3].result()


def test_it_goes_on_after_one_that_failed_by_itself(engine: Engine) -> None:
    writer = DatabaseWriter(engine, DatabaseLock())
    writer.start()
    tries: list[int] = []

    def broken(connection: Connection, numbers: Counters) -> None:
        tries.append(len(tries))
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        writer.submit(broken).result(10)
    assert writer.submit(insert("next")).result(10) == 1
    writer.close()
    assert tries == [0]


def test_what_waits_is_written_before_it_ends(engine: Engine) -> None:
    writer = DatabaseWriter(engine, DatabaseLock())
    writer.start()
    held = threading.Event()
    slow = writer.submit(lambda connection, numbers: held.wait(10))
    last = writer.submit(insert("last"))
    cancelled = writer.submit(insert("cancelled"))
    assert cancelled.cancel()
    held.set()
    writer.close()
    assert slow.result()
    assert last.done()
    with engine.connect() as connection:
        assert list(connection.scalars(select(rules.c.id))) == ["last"]
