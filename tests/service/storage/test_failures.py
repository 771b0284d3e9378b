"""A database that cannot be written is told apart from one that cannot be reached."""

import os
import socket
import threading
import time

import psutil
import psycopg
import pytest
from sqlalchemy import event

from matchwood.service.rules.rule_notices import RuleNotices
from matchwood.service.storage.database import KEEPALIVES, open_engine
from service.delivery.test_webhooks import until
from service.postgres import new_database
from service.serving import served, settings_in


def test_a_full_disk_is_named_and_the_service_is_not_ready(tmp_path) -> None:
    """SQLite reports a full disk as it does a file that has reached its largest size."""
    with served(settings_in(tmp_path)) as running:
        made = running.subscribe("a >= 0")
        running.publish({"a": 0})
        engine = running.service.storage.engine
        pages = 0

        @event.listens_for(engine, "checkout")
        def limit(connection: object, record: object, proxy: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[attr-defined]

        pages = 1  # which stands for: as many as there are
        large = [{"a": 1, "text": "x" * 200_000} for _ in range(20)]
        answer = running.http.post("/events", json=large)
        assert answer.status_code == 507, answer.text
        assert answer.json()["type"] == "urn:matchwood:problem:storage-full"
        assert "disk" in answer.json()["detail"]
        assert int(answer.headers["retry-after"]) > 1
        ready = running.http.get("/readyz")
        if ready.status_code == 200:  # a probe of one row found room: the next large one does not
            running.http.post("/events", json=large)
            ready = running.http.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (507, 507)
        assert len(running.fetch(made)) == 1  # what is there can be read
        pages = 1_000_000
        until(lambda: running.http.get("/readyz").status_code == 200)
        assert running.http.post("/events", json=large).status_code == 202
        event.remove(engine, "checkout", limit)


FULL = """
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'could not extend file "base/1"';
    END $$;
    CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {0}
    FOR EACH STATEMENT EXECUTE FUNCTION full_disk();
"""


@pytest.mark.slow
def test_a_full_disk_of_postgresql_is_named(tmp_path, postgres) -> None:
    """The server raises the error of a full disk, though its disk is not full."""
    database = new_database(postgres, f"full-{time.time_ns()}")
    with served(settings_in(tmp_path, database=database)) as running:
        made = running.subscribe("a = 1")
        running.publish({"a": 1})
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(FULL.format("marks"))
            answer = running.http.post("/events", json={"a": 1})
            assert answer.status_code == 507, answer.text
            assert answer.json()["type"] == "urn:matchwood:problem:storage-full"
            ready = running.http.get("/readyz")
            assert (ready.status_code, ready.json()["status"]) == (507, 507)
            assert len(running.fetch(made)) == 1
            connection.execute("DROP FUNCTION full_disk CASCADE")
        until(lambda: running.http.get("/readyz").status_code == 200)
        assert running.publish({"a": 1})["matched"] == 1


def check_keepalives(descriptor: int, idle: int) -> None:
    with socket.socket(fileno=os.dup(descriptor)) as own:
        assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == idle
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000


@pytest.mark.slow
def test_connections_to_postgresql_notice_that_the_other_end_is_gone(tmp_path, postgres) -> None:
    name = f"keepalive-{time.time_ns()}"
    database = new_database(postgres, name)
    for url, idle in (
        (database, KEEPALIVES["keepalives_idle"]),
        (f"{database}?keepalives_idle=7", 7),
    ):
        engine = open_engine(settings_in(tmp_path, database=url))
        with engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            assert driver is not None
            check_keepalives(driver.fileno(), idle)
        engine.dispose()
        listening = threading.Event()
        notices = RuleNotices(engine, listening.set)
        try:
            assert listening.wait(30)
            port = engine.url.port
            opened = psutil.Process().net_connections("tcp")
            (own,) = [one.fd for one in opened if one.raddr and one.raddr.port == port]
            check_keepalives(own, idle)
        finally:
            notices.close()


def test_a_service_ends_though_its_snapshots_cannot_be_saved(tmp_path, caplog) -> None:
    folder = tmp_path / "data"
    with served(settings_in(folder)) as running:
        running.subscribe("a = 1")
        running.http.put("/rules/a", json={"rule": "a = 1"}).raise_for_status()
        folder.rename(tmp_path / "gone")
    assert caplog.text.count("a snapshot cannot be saved") == 2
    assert "Traceback" not in caplog.text
