"""Whoever reads nothing of an answer is disconnected, whatever is answered."""

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from matchwood.client import Client
from service.delivery.test_webhooks import until
from service.serving import Served, served, settings_in

LIMITS = {"reader_seconds": 1.0, "reader_bytes": 40 << 20, "answer_bytes": 13 << 20}
TEXT = "x" * 60_000
# An answer to so many events has 12 MB, which is more than the operating system buffers.
MATCHED = json.dumps({"events": [{"a": 1}] * 5})
TOO_MANY = json.dumps({"events": [{"a": 1}] * 6})
RULES = [
    {"id": f"r{n:03}", "rule": f"a = 1 or b = '{TEXT}'", "data": TEXT, "tags": ["t"]}
    for n in range(40)
]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(settings_in(tmp_path_factory.mktemp("full"), limits=LIMITS)) as running:
        running.http.put("/rules", json=RULES).raise_for_status()
        values = [f"{n:030}" for n in range(250_000)]
        running.http.put("/lists/long", json=values).raise_for_status()
        running.http.close()  # whose connection would be counted
        yield running


@contextlib.contextmanager
def unread(service: Served, line: str, body: str = "", *more: str) -> Iterator[socket.socket]:
    """A connection on which something is asked, and nothing of the answer is read."""
    parts = urlsplit(service.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect((parts.hostname, parts.port))
    lines = [f"{line} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}", *more]
    connection.sendall(("\r\n".join([*lines, "", ""]) + body).encode())
    try:
        yield connection
    finally:
        connection.close()


UNREAD: dict[str, tuple[str, ...]] = {
    "matches": ("POST /match", MATCHED, "Content-Type: application/json"),
    "a list": ("GET /lists/long",),
    "a list, and the connection is to end": ("GET /lists/long", "", "Connection: close"),
    "bulk": ("POST /subscriptions/bulk", "x\n" * 50_000, "Content-Type: application/x-ndjson"),
}


@pytest.mark.parametrize("name", UNREAD)
def test_whoever_reads_nothing_is_disconnected(full: Served, name: str, caplog) -> None:
    """These answers were waited for without end, and kept their connection as long."""
    count = full.service.metrics.slow_readers._value.get
    before = count()
    with unread(full, *UNREAD[name]) as connection:
        until(lambda: count() == before + 1)
        assert full.service.bytes_of_requests()["reader_bytes"] == 0
        connection.settimeout(5)
        received = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1 << 20):
                received += part
        assert received.startswith(b"HTTP/1.1 200 ")
    assert "a reader was disconnected" in caplog.text


def test_answers_to_match_have_limits_of_bytes(full: Served) -> None:
    """Of one answer, and of all that are being sent together; small ones are always answered."""
    with unread(full, *UNREAD["matches"]), httpx.Client(base_url=full.url, timeout=60) as http:
        budget = full.service.answer_budget
        until(lambda: budget.taken > 12_000_000)
        headers = {"Content-Type": "application/json"}

        def ask(body: str) -> Any:
            return http.post("/match", content=body, headers=headers)

        refused = ask(MATCHED)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:matchwood:problem:busy")
        assert "x-request-id" in refused.headers
        assert int(refused.headers["retry-after"]) >= 1
        assert ask(json.dumps({"event": {"a": 2}})).status_code == 200
        until(lambda: budget.taken == 0)
        answer = ask(MATCHED)
        assert [len(one["matches"]) for one in answer.json()["results"]] == [40] * 5
        assert len(answer.content) == int(answer.headers["content-length"]) > 12_000_000
        too_large = ask(TOO_MANY)
        assert too_large.status_code == 413
        assert too_large.json()["type"] == "urn:matchwood:problem:answer-too-large"
        limited = {**json.loads(TOO_MANY), "limit": 1}
        assert ask(json.dumps(limited)).status_code == 200


def test_what_was_changed_is_answered_in_any_case(full: Served) -> None:
    """Who was told to try again would publish everything twice."""
    budget = full.service.answer_budget
    room = budget.take_now(budget.total)
    assert room is not None
    try:
        with httpx.Client(base_url=full.url, timeout=60) as http:
            answer = http.post("/events", json=[{"event": {"c": n}} for n in range(3_000)])
            assert answer.status_code == 202
            assert len(answer.content) > 64 << 10
            headers = {"Content-Type": "application/json"}
            assert http.post("/match", content=MATCHED, headers=headers).status_code == 503
        assert full.service.reader_budget.taken == 0  # streams and polls have room all the same
    finally:
        room.shrink(0)


def test_pages_of_long_rules_are_shorter(full: Served) -> None:
    with Client(full.url) as client, httpx.Client(base_url=full.url, timeout=60) as http:
        page = http.get("/rules", params={"limit": 1_000}).json()
        assert 30 < len(page["rules"]) < 40
        assert page["next"] == page["rules"][-1]["id"]
        assert list(client.rules) == [rule["id"] for rule in RULES]
        line = json.dumps({"rule": f"b = '{TEXT}'", "subscriber": "ann"})
        body = "\n".join([line] * 80)
        kind = {"Content-Type": "application/x-ndjson"}
        http.post("/subscriptions/bulk", content=body, headers=kind).raise_for_status()
        found, after = 0, ""
        while after is not None:
            asked = {"limit": 1_000, "after": after}
            page = http.get("/subscriptions", params=asked).json()
            assert len(page["subscriptions"]) < 80
            found, after = found + len(page["subscriptions"]), page["next"]
        assert found == 80
