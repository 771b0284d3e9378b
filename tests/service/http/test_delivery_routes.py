"""Events reach those whose rules they match: polled, acknowledged, streamed."""

import json
import threading
import time
from typing import Any

import pytest
from sqlalchemy import select

from matchwood.service.delivery import outbox
from matchwood.service.storage.database import events
from service.serving import Served, served, settings_in


def test_what_is_not_acknowledged_comes_again(service: Served) -> None:
    made = service.subscribe("n >= 10")
    results = service.publish([{"n": n} for n in (5, 10, 11, 12)])["results"]
    assert [one["matched"] for one in results] == [0, 1, 1, 1]
    ids = [one["id"] for one in results]
    assert [one["id"] for one in service.fetch(made)] == ids[1:]
    assert [one["event"] for one in service.fetch(made, limit=2)] == [{"n": 10}, {"n": 11}]
    assert [one["id"] for one in service.fetch(made, ack=ids[2])] == ids[3:]
    path = f"/subscriptions/{made['id']}/ack"
    headers = service.as_subscriber(made)
    answer = service.http.post(path, json={"event": ids[3]}, headers=headers)
    assert answer.json() == {"cursor": ids[3]}
    assert service.fetch(made) == []
    lower = service.http.post(path, json={"event": ids[1]}, headers=headers)
    assert lower.json() == {"cursor": ids[3]}


def test_an_acknowledgement_of_the_future_holds_nothing_back(service: Served) -> None:
    made = service.subscribe("future = 1")
    service.fetch(made, ack=10**15)
    service.publish({"future": 1})
    assert len(service.fetch(made)) == 1


def test_a_poll_waits_for_an_event(service: Served) -> None:
    made = service.subscribe("late = 1")
    later = threading.Timer(0.3, service.publish, [{"late": 1}])
    later.start()
    started = time.monotonic()
    assert [one["event"] for one in service.fetch(made, wait=20)] == [{"late": 1}]
    assert 0.2 < time.monotonic() - started < 10
    later.join()


def test_a_stream_has_what_was_and_what_comes_and_is_resumed(service: Served) -> None:
    made = service.subscribe("s >= 0")
    ids = [one["id"] for one in service.publish([{"s": 1}, {"s": 2}])["results"]]
    with _stream(service, made) as lines:
        assert _messages(lines, 2) == [(ids[0], {"s": 1}), (ids[1], {"s": 2})]
        ids.append(service.publish({"s": 3})["id"])
        assert _messages(lines, 1) == [(ids[2], {"s": 3})]
    with _stream(service, made, **{"Last-Event-ID": str(ids[1])}) as lines:
        assert _messages(lines, 1) == [(ids[2], {"s": 3})]
    assert [one["id"] for one in service.fetch(made)] == [ids[2]]


def test_events_and_cursors_are_there_after_a_restart(tmp_path) -> None:
    with served(settings_in(tmp_path)) as running:
        made = running.subscribe("x = 1")
        first, second = running.publish([{"x": 1, "n": 1}, {"x": 1, "n": 2}])["results"]
        running.fetch(made, ack=first["id"])
    with served(settings_in(tmp_path)) as running:
        assert [one["event"]["n"] for one in running.fetch(made)] == [2]
        third = running.publish({"x": 1, "n": 3})
        assert third["id"] > second["id"]
        assert [one["event"]["n"] for one in running.fetch(made)] == [2, 3]


@pytest.mark.parametrize("ticket", ["", "ticket_wrong"])
def test_without_its_ticket_nothing_is_delivered(service: Served, ticket: str) -> None:
    made = service.subscribe("x = 1")
    headers = {"Authorization": f"Bearer {ticket}"} if ticket else {}
    for path in ("events", "stream"):
        answer = service.http.get(f"/subscriptions/{made['id']}/{path}", headers=headers)
        assert answer.status_code == (403 if ticket else 401)


def _stream(service: Served, made, **headers):
    path = f"/subscriptions/{made['id']}/stream"
    return _Lines(
        service.http.stream("GET", path, headers={**service.as_subscriber(made), **headers})
    )


class _Lines:
    def __init__(self, response) -> None:
        self.response = response

    def __enter__(self):
        return self.response.__enter__().iter_lines()

    def __exit__(self, *error) -> None:
        self.response.__exit__(*error)


@pytest.mark.parametrize("data", [{"owner": "Zoë", "level": 3}, ["a", None], "text", 0])
def test_what_a_subscription_carries_comes_with_its_events(service: Served, data) -> None:
    made = service.subscribe("carried = 1", data=data)
    bare = service.subscribe("carried = 1")
    assert made["data"] == data
    assert bare["data"] is None
    service.publish({"carried": 1})
    [one] = service.fetch(made)
    assert (one["event"], one["data"]) == ({"carried": 1}, data)
    [other] = service.fetch(bare)
    assert "data" not in other
    with _stream(service, made) as lines:
        message = next(json.loads(line[6:]) for line in lines if line.startswith("data: "))
    assert message == one
    path, headers = f"/subscriptions/{made['id']}", service.as_subscriber(made)
    kept = service.http.patch(path, json={"subscriber": "bob"}, headers=headers)
    assert kept.json()["data"] == data
    cleared = service.http.patch(path, json={"data": None}, headers=headers)
    assert cleared.json()["data"] is None
    assert service.http.get(path, headers=headers).json()["data"] is None
    assert service.fetch(made) == [other]


def test_data_that_cannot_be_stored_is_refused(service: Served) -> None:
    deep: list[Any] = []
    for _ in range(300):  # more than writers of JSON agree to, so that it could not be shown
        deep = [deep]
    for data in ("a\0b", "x" * (1 << 20), deep):
        asked = {"rule": "a", "subscriber": "ann", "data": data}
        assert service.http.post("/subscriptions", json=asked).status_code in (413, 422)
        assert service.http.put("/rules/a", json={"rule": "a", "data": data}).status_code in (
            413,
            422,
        )
    assert service.http.get("/subscriptions").status_code == 200


def _messages(lines, count: int):
    found, number = [], None
    for line in lines:
        if line.startswith("id: "):
            number = int(line[4:])
        if line.startswith("data: "):
            message = json.loads(line[6:])
            assert message["id"] == number
            found.append((number, message["event"]))
            if len(found) == count:
                break
    return found


def _collect(running: Served) -> None:
    running.run(running.service.delivery.retention.collect())


def _kept(running: Served) -> list[int]:
    with running.service.storage.engine.connect() as connection:
        return list(connection.scalars(select(events.c.number).order_by(events.c.number)))


def test_what_all_have_acknowledged_is_kept_no_longer(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(outbox, "CHUNK_EVENTS", 2)
    with served(settings_in(tmp_path)) as running:
        first, second = running.subscribe("x = 1"), running.subscribe("x = 1")
        ids = [one["id"] for one in running.publish([{"x": 1}] * 4)["results"]]
        running.fetch(first, ack=ids[3])
        running.fetch(second, ack=ids[1])
        _collect(running)
        assert _kept(running) == ids[2:]
        assert [one["id"] for one in running.fetch(second)] == ids[2:]


def test_what_is_not_fetched_in_time_is_dropped_and_counted(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(outbox, "CHUNK_EVENTS", 2)
    with served(settings_in(tmp_path, retention=0.1)) as running:
        made = running.subscribe("x = 1")
        ids = [one["id"] for one in running.publish([{"x": 1}] * 2)["results"]]
        running.fetch(made, ack=ids[0])
        time.sleep(0.2)
        _collect(running)
        assert _kept(running) == []
        assert running.fetch(made) == []
        path = f"/subscriptions/{made['id']}"
        shown = running.http.get(path, headers=running.as_subscriber(made)).json()
        assert shown["missed"] == 1
        assert "matchwood_deliveries_dropped_total 1.0" in running.http.get("/metrics").text
