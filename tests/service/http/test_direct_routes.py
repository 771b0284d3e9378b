"""What is answered without FastAPI is answered as FastAPI would."""

import json
from collections.abc import Iterator

import httpx
import pytest

from matchwood.service.http import event_routes, match_routes
from service.serving import Served, served, settings_in

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
BINARY = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/a", "ce-type": "b", **JSON}
REQUESTS = [
    ("POST", "/match", JSON, '{"event": {"n": 1}}'),
    ("POST", "/match", JSON, '{"events": [{"n": 1}, {"n": 2}], "limit": 1, "explain": true}'),
    ("POST", "/match?more=1", JSON, '{"event": {"n": 1}, "tags": ["x"]}'),
    ("POST", "/match", {}, '{"event": {"n": 1}}'),
    ("POST", "/match", JSON, '{"event": [1]}'),
    ("POST", "/match", JSON, '{"event": {}, "limit": -1}'),
    ("POST", "/match", JSON, "{"),
    ("POST", "/match", JSON, "\ud800".encode("utf-8", "surrogatepass")),
    ("POST", "/match", LINES, "{}"),
    ("POST", "/match", {**JSON, "Content-Encoding": "gzip"}, "no gzip"),
    ("POST", "/match", {**JSON, "Origin": "http://other"}, "{}"),
    ("GET", "/match", {}, ""),
    ("POST", "/match/", JSON, "{}"),
    ("POST", "/events", JSON, '{"n": 1}'),
    ("POST", "/events", JSON, '[{"n": 1}, {"n": 2}]'),
    ("POST", "/events", LINES, '{"n": 1}\n\n{"n": 2}'),
    ("POST", "/events", BINARY, '{"n": 1}'),
    ("POST", "/events", {**JSON, "Idempotency-Key": "once"}, '{"n": 1}'),
    ("POST", "/events", {**JSON, "Idempotency-Key": "once"}, '{"n": 1}'),
    ("POST", "/events", {**JSON, "Idempotency-Key": "a b"}, '{"n": 1}'),
    ("POST", "/events", JSON, "[1]"),
    ("POST", "/events", JSON, "[]"),
    ("POST", "/events", JSON, '{"n": NaN}'),
    ("POST", "/events", JSON, json.dumps({"n": "x" * 300_000})),
    ("POST", "/events", {"Content-Type": "text/plain"}, "{}"),
    ("DELETE", "/events", {}, ""),
]


def answers(running: Served) -> Iterator[tuple[int, str, str, str | None]]:
    running.http.put("/rules/a", json={"rule": "n = 1", "tags": ["x"], "data": {"k": [1]}})
    running.subscribe("n = 1")
    for method, path, headers, body in REQUESTS:
        told = running.http.request(method, path, headers=headers, content=body)
        assert told.headers["x-request-id"]
        replayed = told.headers.get("idempotency-replayed")
        yield told.status_code, told.headers.get("content-type", ""), told.text, replayed


@pytest.mark.slow
def test_answers_are_those_of_fastapi(tmp_path, monkeypatch) -> None:
    with served(settings_in(tmp_path / "direct")) as running:
        direct = list(answers(running))
        counts = running.http.get("/metrics").text
    monkeypatch.setattr(match_routes, "DIRECT", {})
    monkeypatch.setattr(event_routes, "DIRECT", {})
    with served(settings_in(tmp_path / "fastapi")) as running:
        for asked, one, other in zip(REQUESTS, direct, answers(running), strict=True):
            assert one == other, asked[:3]
        assert running.http.get("/metrics").text.count("_requests_total{") == counts.count(
            "_requests_total{"
        )


def test_a_key_is_needed(tmp_path) -> None:
    key = {"name": "shop", "role": "subscriber", "sha256": "0" * 64}
    with served(settings_in(tmp_path, keys=[key])) as running:
        for path in ("/match", "/events"):
            refused = httpx.post(running.url + path, json={"event": {}})
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
