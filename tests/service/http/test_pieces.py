"""Answers are sent in pieces: slow readers take little memory, and are given up in the end."""

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from service.delivery.test_webhooks import until
from service.serving import Served, served, settings_in

# Unread streams that are opened.
READERS = 60
EVENT = {"text": "x" * 20_000}


@contextlib.contextmanager
def unread(service: Served, made: dict[str, Any], path: str = "stream") -> Iterator[socket.socket]:
    """A connection on which events are asked for and never read."""
    parts = urlsplit(service.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect((parts.hostname, parts.port))
    lines = [f"GET /subscriptions/{made['id']}/{path} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"Authorization: Bearer {made['ticket']}", "", ""]
    connection.sendall("\r\n".join(lines).encode())
    try:
        yield connection
    finally:
        connection.close()


@pytest.mark.slow
def test_unread_streams_and_polls_take_little_memory(service: Served) -> None:
    """At 100 events of 20 KB at a time, these streams took 240 MB, and ten polls 400 MB."""
    made = service.subscribe("unread = 1")
    for _ in range(10):
        service.publish([{"unread": 1, **EVENT} for _ in range(50)])
    process = psutil.Process()
    with contextlib.ExitStack() as readers:
        before = process.memory_info().rss
        for number in range(READERS):
            path = "stream" if number % 6 else "events?limit=1000"
            readers.enter_context(unread(service, made, path))
        budget = service.service.reader_budget
        until(lambda: service.service.streams.taken == READERS)
        time.sleep(1)
        assert process.memory_info().rss - before < 60 << 20
        # Of each reader at most one piece is in memory, beside what the server has buffered.
        assert 0 < budget.taken <= READERS * (90 << 10)
        figures = service.http.get("/metrics").text
        assert "matchwood_reader_bytes_limit" in figures
        assert "matchwood_recent_bytes_limit" in figures
        answered = service.fetch(made, limit=1_000)  # who reads is not held up
        assert len(answered) == 500
    until(lambda: service.service.streams.taken == 0)
    assert budget.taken == 0


def test_a_long_poll_is_complete_and_in_order(service: Served) -> None:
    made = service.subscribe("whole = 1")
    texts = ["é" * length for length in (0, 70_000, 1, 100_000, 3)]
    service.publish([{"whole": 1, "text": text} for text in texts])
    found = service.fetch(made, limit=1_000)
    assert [one["event"]["text"] for one in found] == texts
    assert [one["event"]["text"] for one in service.fetch(made, limit=2)] == texts[:2]
    assert service.fetch(made, ack=found[-1]["id"]) == []


def test_who_takes_nothing_makes_room_for_others(tmp_path, caplog) -> None:
    """With room for one large event, a reader that is stuck is disconnected after a second."""
    limits = {"reader_bytes": 800 << 10, "reader_seconds": 1.0}
    with served(settings_in(tmp_path, limits=limits)) as running:
        made = running.subscribe("stuck = 1")
        for _ in range(20):
            running.publish([{"stuck": 1, "text": "x" * 250_000} for _ in range(2)])
        with unread(running, made) as first, unread(running, made):
            until(lambda: running.service.reader_budget.taken > 0)
            assert running.service.reader_budget.taken <= 400 << 10
            found = running.fetch(made, limit=3)  # it waits until one of them is given up
            assert len(found) == 3
            until(lambda: running.service.streams.taken == 0)
            first.settimeout(5)
            with contextlib.suppress(ConnectionError):
                while first.recv(1 << 20):
                    pass
        assert "matchwood_slow_readers_total 2.0" in running.http.get("/metrics").text
        assert len(running.fetch(made, limit=1_000)) == 40  # nothing is lost
    assert "a reader was disconnected" in caplog.text
