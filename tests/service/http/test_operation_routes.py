"""What operators see: probes, metrics, logs; and how the command starts and stops."""

import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from matchwood.service.http.server import serve
from matchwood.service.logs import JsonLines, request_id
from matchwood.service.settings import SettingsError
from matchwood.service.storage.database import open_engine
from matchwood.service.storage.database_lock import locked_database
from service.serving import Served, free_port, served, settings_in


def test_metrics_count_what_happens(service: Served) -> None:
    made = service.subscribe("metrics = 1")
    service.publish([{"metrics": 1}] * 3)
    service.fetch(made)
    service.http.get(f"/subscriptions/{made['id']}")
    page = service.http.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    found = dict(line.rsplit(" ", 1) for line in page.text.splitlines() if not line.startswith("#"))
    assert float(found["matchwood_events_accepted_total"]) >= 3
    assert float(found['matchwood_deliveries_total{way="poll"}']) >= 3
    assert float(found["matchwood_subscriptions"]) >= 1
    route = 'method="GET",route="/subscriptions/{name}",status="401"'
    assert float(found[f"matchwood_requests_total{{{route}}}"]) == 1
    assert service.http.get("/status").json()["ready"] == 1


def test_requests_have_ids(service: Served, caplog: pytest.LogCaptureFixture) -> None:
    own = service.http.get("/status", headers={"X-Request-Id": "abc-1"})
    assert own.headers["x-request-id"] == "abc-1"
    made = [service.http.get("/status").headers["x-request-id"] for _ in range(2)]
    assert len(set(made)) == 2
    odd = service.http.get("/status", headers={"X-Request-Id": "x" * 500})
    assert odd.headers["x-request-id"] != "x" * 500


def test_a_log_line_is_json_with_the_id_of_its_request() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("lines")
    logger.addHandler(handler)
    token = request_id.set("r1")
    try:
        raise ValueError("went wrong\non two lines")
    except ValueError:
        logger.exception("it failed", extra={"path": Path("x"), "count": 3})
    request_id.reset(token)
    line = json.loads(stream.getvalue())
    assert (line["message"], line["request"], line["count"]) == ("it failed", "r1", 3)
    assert "ValueError" in line["traceback"]


def test_operators_and_bindings_come_from_a_module(tmp_path) -> None:
    with served(settings_in(tmp_path, operators="service.boats")) as running:
        running.http.put("/rules/b", json={"rule": "boats(image, ?y) and ?y > 2"})
        asked = {"events": [{"image": "abc"}, {"image": "a"}]}
        results = running.http.post("/match", json=asked).json()["results"]
        assert results[0]["matches"][0]["bindings"] == [{"y": 3}]
        assert results[1]["matches"] == []
        made = running.subscribe("boats(image, ?y) and ?y = 4")
        assert running.publish({"image": "abcd"})["matched"] == 1
        assert len(running.fetch(made)) == 1


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 600  # the first start compiles
    while True:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, f"{url} does not answer"
        time.sleep(0.1)


@pytest.fixture
def second(tmp_path) -> Iterator[subprocess.Popen[str]]:
    """A command whose database this process has: it waits for the lock while tests go on."""
    settings = settings_in(tmp_path / "held")
    engine = open_engine(settings)
    command = [sys.executable, "-m", "matchwood.cli", "serve", "--data", str(settings.data)]
    with locked_database(engine):
        process = subprocess.Popen(
            [*command, "--port", str(free_port())], stderr=subprocess.PIPE, text=True
        )
        yield process
        process.kill()
        process.communicate()
    engine.dispose()


@pytest.mark.slow
def test_the_command_serves_and_stops_when_told(tmp_path, second: subprocess.Popen[str]) -> None:
    port = free_port()
    command = [sys.executable, "-m", "matchwood.cli", "serve", "--data", str(tmp_path)]
    environment = {**os.environ, "MATCHWOOD_PORT": str(port)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{url}/readyz")
        made = httpx.post(f"{url}/subscriptions", json={"rule": "a = 1", "subscriber": "x"}).json()
        ended = threading.Event()

        def follow() -> None:
            headers = {"Authorization": f"Bearer {made['ticket']}"}
            path = f"{url}/subscriptions/{made['id']}/stream"
            with httpx.stream("GET", path, headers=headers, timeout=60) as response:
                for _ in response.iter_lines():
                    pass
            ended.set()

        follower = threading.Thread(target=follow)
        follower.start()
        httpx.post(f"{url}/events", json={"a": 1})
        time.sleep(0.3)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        follower.join(10)
        assert ended.is_set(), "the stream did not end as streams do"
        assert time.monotonic() - began < 20
    finally:
        process.kill()
        _, errors = process.communicate()
    lines = [json.loads(line) for line in errors.splitlines()]
    assert {"request", "the service is loaded"} <= {line["message"] for line in lines}
    assert list(tmp_path.glob("subscriptions-*.mw"))
    _, refused = second.communicate(timeout=100)
    assert second.returncode == 2
    assert "another process serves the database" in refused


def test_the_command_says_what_is_wrong_with_its_settings(tmp_path) -> None:
    command = [sys.executable, "-m", "matchwood.cli", "serve", "--data", str(tmp_path)]
    done = subprocess.run([*command, "--host", "0.0.0.0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "without keys" in done.stderr


def test_replicas_are_not_started_with_wrong_settings(tmp_path) -> None:
    """Each worker would end, and be started again, for ever."""
    wrong = settings_in(tmp_path, replica=True, workers=2, operators="no_such_module")
    with pytest.raises(SettingsError, match="no_such_module"):
        serve(wrong)


def test_a_method_that_a_path_lacks_is_told_which_it_has(service: Served) -> None:
    for path, methods in (
        ("/rules", "GET, PUT"),
        ("/rules/x", "DELETE, GET, PUT"),
        ("/subscriptions/s1", "DELETE, GET, PATCH"),
        ("/events", "POST"),
    ):
        answer = service.http.options(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_failure_names_the_request_that_the_log_has(service: Served, monkeypatch, caplog) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("broken for a test")

    monkeypatch.setattr(service.service.rules, "page", broken)
    for sent, expected in ((None, None), ("of-mine", "of-mine")):
        headers = {} if sent is None else {"X-Request-Id": sent}
        answer = service.http.get("/rules", headers=headers)
        assert answer.status_code == 500
        name = answer.headers["x-request-id"]
        assert expected in (None, name)
        assert answer.json()["request"] == name
        assert name in answer.json()["detail"]
    assert "broken for a test" in caplog.text
