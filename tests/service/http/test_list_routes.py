"""Lists with names over HTTP: they change while events are matched, and rules stay as they are."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.postgres import new_database
from service.serving import Served, served, settings_in

pytestmark = pytest.mark.xdist_group("lists")  # one service for all of them

TEXT = {"Content-Type": "text/plain"}
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def empty(service: Served) -> Iterator[Served]:
    """The service without rules and lists."""
    yield service
    service.http.put("/rules", json=[]).raise_for_status()
    for known in service.http.get("/lists").json()["lists"]:
        answer = service.http.delete(f"/lists/{known['name']}")
        assert answer.status_code == 204, answer.text


def refused(answer: Any, status: int, kind: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    problem: dict[str, Any] = answer.json()
    assert problem["type"] == f"urn:matchwood:problem:{kind}"
    return problem


def matched(running: Served, event: dict[str, Any]) -> list[str]:
    answer = running.http.post("/match", json={"event": event})
    assert answer.status_code == 200, answer.text
    return sorted(match["id"] for match in answer.json()["results"][0]["matches"])


def put(running: Served, name: str, values: Any) -> httpx.Response:
    answer = running.http.put(f"/lists/{name}", json=values)
    assert answer.status_code in (200, 201), answer.text
    return answer


def test_a_change_is_seen_at_once_and_builds_nothing(empty: Served) -> None:
    assert put(empty, "tor", ["10.0.0.1", 5]).status_code == 201
    empty.http.put("/rules/a", json={"rule": "ip in list 'tor'"}).raise_for_status()
    empty.http.put("/rules/b", json={"rule": "ip not in list 'tor'"}).raise_for_status()
    made = empty.subscribe("any(seen, it in list 'tor')")
    parts = empty.service.rules.matcher.store.snapshot.parts
    before = empty.http.get("/rules").json()["version"]
    assert matched(empty, {"ip": "10.0.0.1"}) == matched(empty, {"ip": 5}) == ["a"]
    assert matched(empty, {"ip": "10.0.0.2"}) == ["b"]
    assert matched(empty, {"ip": True}) == []  # the list has no booleans: undefined
    assert empty.publish({"seen": ["10.0.0.2"]})["matched"] == 0
    assert put(empty, "tor", ["10.0.0.2"]).status_code == 200
    assert matched(empty, {"ip": "10.0.0.1"}) == ["b"]
    assert matched(empty, {"ip": "10.0.0.2"}) == ["a"]
    assert empty.publish({"seen": ["10.0.0.2"]})["matched"] == 1
    assert empty.http.get("/rules").json()["version"] == before
    assert empty.service.rules.matcher.store.snapshot.parts == parts
    empty.http.delete(f"/subscriptions/{made['id']}", headers=empty.as_subscriber(made))


def test_a_list_is_given_as_json_as_lines_and_as_text(empty: Served) -> None:
    values = ["x", 1, 0.1, 10**30, True, {"date": "2026-01-31"}]
    values.append({"timestamp": "2026-01-31T10:00:00.000000001Z"})
    first = put(empty, "all", [*values, "x", 1.0]).json()
    shown = empty.http.get("/lists/all").json()
    assert (shown["size"], shown["version"]) == (7, first["version"])
    assert sorted(shown["values"], key=str) == sorted(values, key=str)
    lines = "\n".join(map(json.dumps, values)) + "\n\n"
    again = empty.http.put("/lists/all", content=lines, headers=LINES).json()
    assert (again["size"], again["version"]) == (7, first["version"] + 1)
    assert empty.http.get("/lists/all").json()["values"] == shown["values"]
    text = b"10.0.0.1\r\n\n 5 \n"
    assert empty.http.put("/lists/all", content=text, headers=TEXT).status_code == 200
    assert empty.http.get("/lists/all").json()["values"] == ["10.0.0.1", "5"]
    assert put(empty, "all", []).json()["size"] == 0


def test_bad_values_are_all_listed_and_change_nothing(empty: Served) -> None:
    put(empty, "tor", ["x"])
    problem = refused(
        empty.http.put("/lists/tor", json=[1, None, [2], {"date": "no"}]), 422, "invalid-list"
    )
    assert [error["index"] for error in problem["errors"]] == [1, 2, 3]
    assert problem["errors"][0]["reason"] == "null is no value of a list"
    bad = empty.http.put("/lists/tor", content=b'1\n{\n"\\ud800"\n2 3\n\xff\n', headers=LINES)
    assert [error["line"] for error in refused(bad, 422, "invalid-list")["errors"]] == [2, 3, 4, 5]
    refused(empty.http.put("/lists/tor", json={"a": 1}), 400, "bad-request")
    refused(
        empty.http.put("/lists/tor", content=b"[1", headers={"Content-Type": "application/json"}),
        400,
        "bad-request",
    )
    refused(
        empty.http.put("/lists/tor", content=b"x", headers={"Content-Type": "text/csv"}),
        415,
        "unsupported-media-type",
    )
    for name in ("..", "%2E", "a%00b", "x" * 201):
        answer = empty.http.put(f"/lists/{name}", json=[])
        assert answer.status_code in (404, 405, 422), name
    assert empty.http.get("/lists/tor").json()["values"] == ["x"]


def test_a_list_that_is_named_stays(empty: Served) -> None:
    rule = "ip in list 'it''s'"
    for answer in (
        empty.http.put("/rules/a", json={"rule": rule}),
        empty.http.put("/rules", json=[{"id": "a", "rule": rule}]),
        empty.http.post("/subscriptions", json={"rule": rule, "subscriber": "ann"}),
        empty.http.post("/explain", json={"rule": rule, "event": {}}),
    ):
        refused(answer, 422, "invalid-rule")
        assert "no list is named" in answer.text
    put(empty, "it's", ["10.0.0.1"])
    empty.http.put("/rules/a", json={"rule": rule}).raise_for_status()
    empty.http.put("/rules/b", json={"rule": "name = 'it''s'"}).raise_for_status()
    made = empty.subscribe("not any(seen, it in list 'it''s')")
    in_use = refused(empty.http.delete("/lists/it's"), 409, "list-in-use")
    assert in_use["errors"] == [{"rule": "a"}, {"subscription": made["id"]}]
    assert matched(empty, {"ip": "10.0.0.1"}) == ["a"]
    headers = empty.as_subscriber(made)
    change = {"rule": "x in list 'gone'"}
    refused(
        empty.http.patch(f"/subscriptions/{made['id']}", json=change, headers=headers),
        422,
        "invalid-rule",
    )
    empty.http.delete(f"/subscriptions/{made['id']}", headers=headers).raise_for_status()
    empty.http.delete("/rules/a").raise_for_status()
    assert empty.http.delete("/lists/it's").status_code == 204
    refused(empty.http.delete("/lists/it's"), 404, "not-found")
    refused(empty.http.get("/lists/it's"), 404, "not-found")
    refused(empty.http.put("/rules/a", json={"rule": rule}), 422, "invalid-rule")


def test_versions_pages_and_limits(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, limits={"lists": 3, "listed_values": 5})
    with served(settings) as running:
        http = running.http
        none = {"If-Match": '"0"'}
        first = http.put("/lists/a", json=[1], headers=none).json()["version"]
        refused(http.put("/lists/a", json=[1], headers=none), 412, "version-conflict")
        refused(http.delete("/lists/a", headers=none), 412, "version-conflict")
        now = {"If-Match": f'"{first}"'}
        assert http.put("/lists/a", json=[1, 2], headers=now).status_code == 200
        refused(http.put("/lists/b", json=[1, 2, 3, 4]), 413, "list-too-large")
        assert http.put("/lists/b", json=[1, 2, 3]).status_code == 201
        assert http.put("/lists/Cab", json=[]).status_code == 201
        refused(http.put("/lists/d", json=[]), 413, "list-too-large")
        assert http.put("/lists/a", json=[]).status_code == 200
        page = http.get("/lists", params={"limit": 2}).json()
        assert [known["name"] for known in page["lists"]] == ["Cab", "a"]
        assert (page["count"], page["next"]) == (3, "a")
        rest = http.get("/lists", params={"after": "a"}).json()
        assert ([known["size"] for known in rest["lists"]], rest["next"]) == ([3], None)
        found = http.get("/lists", params={"search": "A"}).json()
        assert [known["name"] for known in found["lists"]] == ["Cab", "a"]
        status = http.get("/status").json()
        assert (status["lists"], status["listed_values"]) == (3, 3)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_lists_are_there_after_a_restart(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    settings = settings_in(tmp_path)
    if database == "postgresql":
        url = new_database(request.getfixturevalue("postgres"), "lists")
        settings = settings.changed(database=url)
    many = [f"10.0.{n >> 8}.{n & 255}" for n in range(45_000)]  # three pieces
    with served(settings) as running:
        put(running, "tor", many)
        put(running, "gone", ["x"])
        assert running.http.delete("/lists/gone").status_code == 204
        running.http.put("/rules/a", json={"rule": "ip in list 'tor'"}).raise_for_status()
        made = running.subscribe("ip in list 'tor'")
    with served(settings) as running:
        shown = running.http.get("/lists").json()["lists"]
        assert [(known["name"], known["size"]) for known in shown] == [("tor", 45_000)]
        assert matched(running, {"ip": many[-1]}) == ["a"]
        assert running.publish({"ip": many[0]})["matched"] == 1
        assert len(running.fetch(made)) == 1
        assert running.http.get("/lists/tor").json()["values"] == many
        refused(running.http.delete("/lists/tor"), 409, "list-in-use")


def test_answers_are_of_before_or_after_a_change(empty: Served) -> None:
    """Two rules ask the same list, so that each event matches exactly one of them."""
    put(empty, "even", [0])
    rules = [
        {"id": "in", "rule": "n in list 'even'"},
        {"id": "out", "rule": "n not in list 'even'"},
    ]
    empty.http.put("/rules", json=rules).raise_for_status()
    stop = threading.Event()
    wrong: list[Any] = []

    def ask() -> None:
        with httpx.Client(base_url=empty.url, timeout=30) as http:
            while not stop.is_set():
                answer = http.post("/match", json={"events": [{"n": 0}] * 20}).json()
                ids = {tuple(one["id"] for one in of["matches"]) for of in answer["results"]}
                if len(ids) != 1 or ids - {("in",), ("out",)}:
                    wrong.append(ids)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(30):
        put(empty, "even", [number % 2])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
