"""Replicas follow the rules of a service: every answer is that of a version that was live."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from matchwood.service.rules import rule_changes
from matchwood.service.rules.timed_matching import Suspension
from matchwood.service.settings import Settings
from service.postgres import new_database
from service.serving import Served, free_port, served, settings_in

pytestmark = pytest.mark.slow
AWAY = httpx.TransportError


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ""
    return new_database(request.getfixturevalue("postgres"), f"replica-{time.time_ns()}")


@pytest.fixture
def settings(tmp_path: Path, database: str) -> Settings:
    return settings_in(tmp_path, database=database)


@pytest.fixture
def pair(settings: Settings) -> Iterator[tuple[Served, Served]]:
    with served(settings) as service, served(settings.changed(replica=True)) as replica:
        yield service, replica


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def at_same_version(service: Served, replica: Served) -> bool:
    version = service.service.live_rules.state.version
    return bool(replica.service.live_rules.state.version == version)


def matches(running: Served, event: dict[str, Any]) -> tuple[int, list[str]]:
    answer = running.http.post("/match", json={"event": event}).json()
    return answer["version"], sorted(match["id"] for match in answer["results"][0]["matches"])


def test_a_replica_follows_each_kind_of_change(pair: tuple[Served, Served]) -> None:
    service, replica = pair
    http = service.http

    def same() -> list[str]:
        until(lambda: at_same_version(service, replica))
        found = matches(service, {"n": 1})
        assert matches(replica, {"n": 1}) == found
        return found[1]

    http.put("/rules/a", json={"rule": "n = 1", "tags": ["t"], "priority": 2})
    http.put("/rules/b", json={"rule": "n = 2"})
    assert same() == ["a"]
    http.put("/rules/b", json={"rule": "n >= 1"})
    assert same() == ["a", "b"]
    tagged = replica.http.post("/match", json={"event": {"n": 1}, "tags": ["t"]}).json()
    assert [match["priority"] for match in tagged["results"][0]["matches"]] == [2]
    http.delete("/rules/a")
    assert same() == ["b"]
    many = [{"id": f"m{n}", "rule": f"n >= {n}"} for n in range(50)]
    http.put("/rules", json=many)
    assert same() == ["m0", "m1"]
    http.put("/rules", json=many[1:30])
    assert same() == ["m1"]
    service.service.rules.suspend([Suspension("m1", "it is costly")])
    assert same() == []
    http.put("/rules/m1", json={"rule": "n >= 1"})
    assert same() == ["m1"]
    http.put("/rules", json=[])
    assert same() == []


def test_a_replica_follows_lists(pair: tuple[Served, Served]) -> None:
    service, replica = pair
    put = service.http.put

    def same(event: dict[str, Any], found: list[str]) -> None:
        expected = matches(service, event)
        assert expected[1] == found
        until(lambda: matches(replica, event) == expected)

    put("/lists/tor", json=["x"]).raise_for_status()
    put("/rules/a", json={"rule": "ip in list 'tor'"}).raise_for_status()
    put("/rules/b", json={"rule": "ip not in list 'tor'"}).raise_for_status()
    same({"ip": "x"}, ["a"])
    put("/lists/tor", json=["y"]).raise_for_status()
    same({"ip": "x"}, ["b"])
    put("/lists/new", json=["z"]).raise_for_status()
    rules = [{"id": f"n{n}", "rule": f"ip in list 'new' and n = {n}"} for n in range(50)]
    put("/rules", json=rules).raise_for_status()
    same({"ip": "z", "n": 7}, ["n7"])
    service.http.delete("/lists/tor").raise_for_status()
    put("/lists/new", json=[]).raise_for_status()
    same({"ip": "z", "n": 7}, [])
    until(lambda: "tor" not in replica.service.live_rules.state.matcher.lists)
    checked = replica.http.post("/check", json={"rule": "ip in list 'tor'"}).json()
    assert checked["valid"] is False
    assert replica.http.get("/status").json()["lists"] == 1


def test_a_replica_follows_the_schema(pair: tuple[Served, Served]) -> None:
    service, replica = pair
    schema = {"attributes": {"n": "number"}, "types": {"thing": {"n": "mandatory"}}}
    service.http.put("/rules/a", json={"rule": "n = 1"}).raise_for_status()
    answer = service.http.put("/schema", json=schema)
    assert answer.status_code == 200, answer.text

    def status() -> int:
        return replica.http.post("/match", json={"event": {"other": 1}}).status_code

    until(lambda: status() == 422)
    assert replica.http.post("/check", json={"rule": "other = 1"}).json()["valid"] is False
    service.http.delete("/schema").raise_for_status()
    until(lambda: status() == 200)


def test_a_replica_only_matches_and_says_how_old_it_is(pair: tuple[Served, Served]) -> None:
    service, replica = pair
    for path in ("/events", "/subscriptions", "/rules"):
        assert replica.http.post(path, json={}).status_code == 404
    service.http.put("/rules/a", json={"rule": "n = 1"})
    until(lambda: at_same_version(service, replica))
    status = replica.http.get("/status").json()
    assert status["rules_version"] == status["replica_version"] == 1
    assert status["replica_versions_behind"] == 0
    assert 0 <= status["replica_lag_seconds"] < 10
    metrics = replica.http.get("/metrics").text
    assert "matchwood_replica_version 1.0" in metrics
    assert "matchwood_replica_lag_seconds " in metrics
    assert replica.http.get("/readyz").status_code == 200
    explained = replica.http.post("/explain", json={"rule": "n = 1", "event": {"n": 1}})
    assert explained.json()["truth"] == "true"


def test_without_its_database_a_replica_goes_on_and_is_not_ready(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(settings) as service:
        service.http.put("/rules/a", json={"rule": "n = 1"})
        with served(settings.changed(replica=True, longest_lag=0.5)) as replica:
            follower = replica.service.follower  # type: ignore[attr-defined]

            def unreachable() -> None:
                raise OSError("the database is away")

            monkeypatch.setattr(follower, "follow", unreachable)
            until(lambda: replica.http.get("/readyz").status_code == 503)
            assert "s old" in replica.http.get("/readyz").json()["detail"]
            assert matches(replica, {"n": 1}) == (1, ["a"])
            monkeypatch.undo()
            until(lambda: replica.http.get("/readyz").status_code == 200)


def test_who_was_away_for_long_reads_all_rules(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed rules are remembered for some versions only."""
    monkeypatch.setattr(rule_changes, "VERSIONS_KEPT", 3)
    with served(settings) as service:
        http = service.http
        http.put("/rules", json=[{"id": f"r{n}", "rule": "n = 1"} for n in range(10)])
        with served(settings.changed(replica=True)) as replica:
            follower = replica.service.follower  # type: ignore[attr-defined]
            with follower._following:
                for n in range(8):
                    http.delete(f"/rules/r{n}")
            until(lambda: at_same_version(service, replica))
            assert matches(replica, {"n": 1})[1] == ["r8", "r9"]


def test_what_a_replica_suspends_stays_so_until_it_is_changed(settings: Settings) -> None:
    with served(settings) as service:
        http = service.http
        http.put("/rules", json=[{"id": name, "rule": "n = 1"} for name in "abc"])
        with served(settings.changed(replica=True)) as replica:
            follower = replica.service.follower  # type: ignore[attr-defined]
            follower.live.suspend([Suspension("a", "it is costly"), Suspension("b", "too")])
            assert matches(replica, {"n": 1})[1] == ["c"]
            with follower._following:  # it has not heard of the change when it maps the snapshot
                http.put("/rules/b", json={"rule": "n = 1"})
            service.service.rules.save()
            until(lambda: at_same_version(service, replica))
            follower.map_newest()
            assert matches(replica, {"n": 1})[1] == ["b", "c"]
            assert follower.suspended == {"a"}
            http.put("/rules/a", json={"rule": "n >= 1"})
            until(lambda: at_same_version(service, replica))
            assert matches(replica, {"n": 1})[1] == ["a", "b", "c"]
            assert not follower.suspended


class Changing:
    """Changes the rules of a service, and knows which rules each version had."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._random = random.Random(7)
        self.rules: dict[str, bool] = {}  # whether each matches
        self.expected: dict[int, list[str]] = {0: []}

    def run(self, stopped: threading.Event) -> None:
        for step in itertools.count():
            if stopped.is_set():
                return
            kind = self._random.random()
            if kind < 0.15 or not self.rules:
                self.rules = {
                    f"{step}-{n}": self._random.random() < 0.7
                    for n in range(self._random.choice((3, 40)))
                }
                body = [{"id": name, "rule": rule(fits)} for name, fits in self.rules.items()]
                answer = self._http.put("/rules", json=body)
            elif kind < 0.35:
                name = self._random.choice(list(self.rules))
                del self.rules[name]
                answer = self._http.delete(f"/rules/{name}")
            else:
                name = self._random.choice([*self.rules, f"new-{step}"])
                self.rules[name] = not self.rules.get(name, False)
                answer = self._http.put(f"/rules/{name}", json={"rule": rule(self.rules[name])})
            assert answer.status_code in (200, 201), answer.text
            matching = sorted(name for name, fits in self.rules.items() if fits)
            self.expected[answer.json()["version"]] = matching
            time.sleep(0.01)


def rule(fits: bool) -> str:
    return "n = 1" if fits else "n = 2"


def asking(url: str, stopped: threading.Event, answers: list[tuple[int, list[str]]]) -> None:
    """Match again and again, on new connections, so that all workers are asked."""
    while not stopped.is_set():
        try:
            with httpx.Client(base_url=url, timeout=30) as http:
                for events in ([{"n": 1}], [{"n": 1}] * 8):
                    answer = http.post("/match", json={"events": events})
                    if answer.status_code == 503:
                        continue
                    found = answer.json()
                    for result in found["results"]:
                        ids = sorted(match["id"] for match in result["matches"])
                        answers.append((found["version"], ids))
        except AWAY:
            time.sleep(0.02)


def workers_of(process: int) -> list[psutil.Process]:
    """The workers that run, without the helper that multiprocessing starts, too."""
    found = []
    for child in psutil.Process(process).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # or a zombie, which is one of these
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


def check(answers: list[tuple[int, list[str]]], changing: Changing) -> None:
    """Each answer is that of the version that it names."""
    assert len(answers) > 20
    assert len({version for version, _ in answers}) > 5
    wrong = [(version, ids) for version, ids in answers if changing.expected[version] != ids]
    assert not wrong, [(ids, changing.expected[version]) for version, ids in wrong[:3]]


def test_answers_are_those_of_live_versions_across_restarts(settings: Settings) -> None:
    stopped = threading.Event()
    answers: list[tuple[int, list[str]]] = []
    quick = settings.changed(snapshot_seconds=0.3)
    with served(quick) as service:
        changing = Changing(service.http)
        writer = threading.Thread(target=changing.run, args=(stopped,))
        writer.start()
        try:
            for _ in range(2):
                with served(quick.changed(replica=True)) as replica:
                    ended = threading.Event()
                    asked = (replica.url, ended, answers)
                    readers = [threading.Thread(target=asking, args=asked) for _ in range(2)]
                    readers.append(
                        threading.Thread(target=asking, args=(service.url, ended, answers))
                    )
                    for reader in readers:
                        reader.start()
                    time.sleep(1.5)
                    ended.set()
                    for reader in readers:
                        reader.join(60)
        finally:
            stopped.set()
            writer.join(60)
        check(answers, changing)


@pytest.mark.long
def test_workers_are_killed_while_rules_change(
    tmp_path: Path, settings: Settings, database: str
) -> None:
    """They run beside the service on SQLite, and with a folder of their own on PostgreSQL."""
    command = [sys.executable, "-m", "matchwood.cli", "serve", "--workers", "2"]
    environment = {**os.environ, "MATCHWOOD_LOG_LEVEL": "warning"}
    environment["MATCHWOOD_SNAPSHOT_SECONDS"] = "1"
    port = free_port()
    if not database:
        url = f"http://127.0.0.1:{(match_port := free_port())}"
        environment["MATCHWOOD_MATCH_PORT"] = str(match_port)
        command += ["--data", str(settings.data), "--port", str(port)]
        ours: Any = None
        main_url = f"http://127.0.0.1:{port}"
    else:
        url = f"http://127.0.0.1:{port}"
        folder = tmp_path / "replica"
        command += ["--replica", "--data", str(folder), "--port", str(port)]
        command += ["--database", database]
        ours = served(settings)
        main_url = ours.__enter__().url
    process = subprocess.Popen(command, env=environment)
    stopped = threading.Event()
    answers: list[tuple[int, list[str]]] = []
    try:
        until(lambda: is_ready(url) and is_ready(main_url), 240)
        with httpx.Client(base_url=main_url, timeout=30) as http:
            changing = Changing(http)
            threads = [
                threading.Thread(target=changing.run, args=(stopped,)),
                *(threading.Thread(target=asking, args=(url, stopped, answers)) for _ in range(2)),
            ]
            for thread in threads:
                thread.start()
            for _ in range(2):
                time.sleep(1.5)
                os.kill(workers_of(process.pid)[0].pid, signal.SIGKILL)
                time.sleep(0.5)
                until(lambda: len(workers_of(process.pid)) == 2 and is_ready(url), 240)
            time.sleep(1.5)
            stopped.set()
            for thread in threads:
                thread.join(60)
            last = max(changing.expected)
            until(lambda: version_at(url) == last)
    finally:
        stopped.set()
        children = workers_of(process.pid)
        process.terminate()
        process.wait(60)
        if ours is not None:
            ours.__exit__(None, None, None)
    assert not any(child.is_running() and child.status() != "zombie" for child in children)
    check(answers, changing)


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except AWAY:
        return False


def version_at(url: str) -> int | None:
    """None if nobody answers, or a worker that is not ready yet."""
    try:
        answer = httpx.post(f"{url}/match", json={"event": {}})
    except AWAY:
        return None
    return int(answer.json()["version"]) if answer.status_code == 200 else None


@pytest.mark.long
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "matchwood.cli", "serve", "--replica", "--workers", "2"]
    command += ["--data", str(tmp_path), "--port", str(free_port())]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(workers_of(process.pid)) == 2, 240)
        children = workers_of(process.pid)
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(children, timeout=240)
    assert not alive
