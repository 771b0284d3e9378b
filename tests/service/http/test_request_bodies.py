"""Compressed bodies are unfolded, up to the limit, and publications can be repeated."""

import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator

import psutil
import pytest

from matchwood.client import Client
from matchwood.service.delivery.publications import OldPublications
from matchwood.service.limits import SMALL_BYTES
from service.serving import Served, served, settings_in

LIMIT = 3 << 20


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"body_bytes": LIMIT, "upload_bytes": 2 * LIMIT}
    with served(settings_in(tmp_path_factory.mktemp("small"), limits=limits)) as running:
        yield running


EVENTS = json.dumps([{"n": n, "text": "x" * 100} for n in range(5_000)]).encode()
FOLDED = {
    "gzip": gzip.compress(EVENTS),
    "GZIP": gzip.compress(EVENTS),
    "deflate": zlib.compress(EVENTS),
    "identity": EVENTS,
}


@pytest.mark.parametrize("encoding", list(FOLDED))
def test_compressed_events_are_those_that_were_sent(small: Served, encoding: str) -> None:
    made = small.subscribe("n >= 4998")
    headers = {"Content-Encoding": encoding}
    answer = small.http.post("/events", content=FOLDED[encoding], headers=headers)
    assert answer.status_code == 202, answer.text
    assert [one["event"]["n"] for one in small.fetch(made)] == [4998, 4999]
    parts = iter([FOLDED[encoding][:1_000], FOLDED[encoding][1_000:]])
    assert small.http.post("/events", content=parts, headers=headers).status_code == 202


def test_what_unfolds_to_too_much_is_refused_early(small: Served) -> None:
    headers = {"Content-Encoding": "gzip"}
    before = psutil.Process().memory_info().rss
    for size in (LIMIT + 1, 64 << 20):
        bomb = gzip.compress(b" " * size)
        answer = small.http.post("/events", content=bomb, headers=headers)
        assert answer.status_code == 413, answer.text
        assert answer.json()["type"] == "urn:matchwood:problem:body-too-large"
        del bomb
    uploaded = gzip.compress(b" " * (LIMIT + 1) + b"[]")
    assert small.http.put("/rules", content=uploaded, headers=headers).status_code == 200
    assert psutil.Process().memory_info().rss - before < 200 << 20  # the bomb itself was made here


def test_bodies_of_all_requests_together_are_bounded(tmp_path) -> None:
    """Clients that send most of a body and wait would otherwise fill the memory together."""
    with served(settings_in(tmp_path, limits={"request_bytes": 2 << 20})) as running:
        held = running.service.request_bytes
        host, port = running.url.removeprefix("http://").split(":")
        body = b"[" + b" " * (3 << 20) + b"]"
        with socket.create_connection((host, int(port))) as slow:
            head = f"POST /events HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
            slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
            slow.sendall(body[:-1])  # alone, it may take more than all together
            until = time.monotonic() + 20
            while held.taken < len(body) - 1 and time.monotonic() < until:
                time.sleep(0.01)
            assert running.http.post("/events", content=b"{}").status_code == 202  # it is small
            for path in ("/events", "/check"):
                refused = running.http.post(path, content=body[: SMALL_BYTES + 1])
                assert refused.status_code == 503, refused.text
                assert refused.json()["type"] == "urn:matchwood:problem:busy"
                assert refused.headers["retry-after"] == "1"
            assert running.service.figures()["request_bytes"] == len(body) - 1
            slow.sendall(body[-1:])
            assert slow.recv(1_000).startswith(b"HTTP/1.1 202")
        assert held.taken == 0
        assert running.http.post("/events", content=b"{}").status_code == 202
        assert held.taken == 0


def test_small_requests_do_not_keep_a_large_one_out(tmp_path) -> None:
    limits = {"request_bytes": 1 << 20}
    with served(settings_in(tmp_path, limits=limits)) as running:
        held = running.service.request_bytes
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            head = f"POST /events HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n"
            slow.sendall(f"{head}{{".encode())
            until = time.monotonic() + 20
            while held.taken < 1 and time.monotonic() < until:
                time.sleep(0.01)
            assert held.taken == 1
            body = b"[" + b" " * (2 << 20) + b'"x"]'
            kind = {"Content-Type": "application/json"}
            answer = running.http.put("/lists/some", content=body, headers=kind)
            assert answer.status_code == 201, answer.text
        assert held.large == 0


def test_what_cannot_be_unfolded_is_refused(small: Served) -> None:
    def post(content: bytes, encoding: str = "gzip") -> tuple[int, str]:
        headers = {"Content-Encoding": encoding}
        answer = small.http.post("/events", content=content, headers=headers)
        kind = answer.json()["type"].removeprefix("urn:matchwood:problem:")
        return answer.status_code, kind

    assert post(b"{}") == (400, "bad-request")
    assert post(gzip.compress(b"{}")[:-3]) == (400, "bad-request")
    assert post(b"") == (400, "bad-request")
    assert post(gzip.compress(b"{}") + b"more") == (400, "bad-request")
    assert post(b"{}", "br") == (415, "unsupported-media-type")
    assert post(b"{}", "gzip, gzip") == (415, "unsupported-media-type")
    large = gzip.compress(json.dumps(["x"] * 400_000).encode())
    assert small.http.post(
        "/subscriptions/bulk",
        content=large,
        headers={"Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"},
    ).text.endswith('{"accepted": 0, "rejected": 1}\n')


# Publications that are repeated


def test_a_publication_that_is_repeated_is_accepted_once(tmp_path) -> None:
    with served(settings_in(tmp_path)) as running:
        made = running.subscribe("again = 1")
        headers = {"Idempotency-Key": "order-17"}
        first = running.http.post("/events", json={"again": 1}, headers=headers)
        assert "idempotency-replayed" not in first.headers
        for _ in range(2):
            repeated = running.http.post("/events", json={"again": 1}, headers=headers)
            assert (repeated.status_code, repeated.json()) == (202, first.json())
            assert repeated.headers["idempotency-replayed"] == "true"
        other = running.http.post("/events", json={"again": 2}, headers=headers)
        assert other.status_code == 409
        assert other.json()["type"] == "urn:matchwood:problem:idempotency-conflict"
        with Client(running.url) as client:
            events = [{"again": 1}, {"again": 0}]
            batch = client.publish_batch(events, idempotency_key="batch")
            assert client.publish_batch(events, idempotency_key="batch") == batch
            assert [one.matched for one in batch] == [1, 0]
            assert client.publish({"again": 1}, idempotency_key="one").matched == 1
        assert len(running.fetch(made)) == 3
        schema = {"attributes": {"m": "number"}, "types": {"thing": {"m": "mandatory"}}}
        assert running.http.put("/schema", json=schema).status_code == 409
        running.http.delete(f"/subscriptions/{made['id']}", headers=running.as_subscriber(made))
        assert running.http.put("/schema", json=schema).status_code == 200
        assert running.http.post("/events", json={"again": 1}).status_code == 422
        still = running.http.post("/events", json={"again": 1}, headers=headers)
        assert (still.status_code, still.json()) == (202, first.json())
        unknown = running.http.post("/events", json={}, headers={"Idempotency-Key": "new"})
        assert unknown.status_code == 422
        running.http.delete("/schema").raise_for_status()
        for bad in ("", "x" * 256, "a b"):
            odd = running.http.post("/events", json={}, headers={"Idempotency-Key": bad})
            assert odd.status_code == 422
    with served(settings_in(tmp_path, idempotency_seconds=0.001)) as running:
        again = running.http.post("/events", json={"again": 1}, headers=headers)
        assert again.json() == first.json()  # also after a restart
        time.sleep(0.01)
        running.run(OldPublications(running.service.storage.writer, 0.001).forget())
        later = running.http.post("/events", json={"again": 1}, headers=headers)
        assert later.json()["id"] > first.json()["id"]
