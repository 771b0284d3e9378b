"""One event that cannot be delivered never keeps the others of a queue waiting."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from matchwood.client import Client
from matchwood.service.delivery.due_events import ENVELOPE_BYTES, DueEvents
from service.delivery.receiver import Receiver
from service.delivery.test_webhooks import QUICK, until
from service.serving import Served, served, settings_in


def nested(levels: int) -> Any:
    """Lists in each other."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_what_nests_too_deeply_to_be_delivered_is_not_accepted(service: Served) -> None:
    made = service.subscribe("deep = 1")
    for bad in (nested(300), {"a": nested(100)}, [{"a": nested(99)}]):
        answer = service.http.post("/events", json={"deep": 1, "lists": bad})
        assert answer.status_code == 422, answer.text
        assert answer.json()["type"] == "urn:matchwood:problem:invalid-event"
        assert "nest at most 100 deep" in answer.json()["detail"]
        for path, body in (("/match", {"event": {"a": bad}}), ("/explain", {"event": {"a": bad}})):
            asked = {"rule": "a = 1", **body} if path == "/explain" else body
            assert service.http.post(path, json=asked).status_code == 422
    service.publish({"deep": 1, "lists": nested(99)})
    assert [one["event"]["lists"] for one in service.fetch(made)] == [nested(99)]


def changed_database(folder: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    with sqlite3.connect(folder / "matchwood.db") as connection:
        for statement, values in statements:
            connection.execute(statement, values)
    connection.close()


def test_events_of_an_earlier_version_and_missing_ones_hold_nothing_back(tmp_path: Path) -> None:
    receiver = Receiver()
    settings = settings_in(tmp_path, webhooks={**QUICK, "attempts": 1})
    try:
        with served(settings) as running:
            made = running.subscribe("n >= 0")
            hook = {"kind": "webhook", "url": receiver.url}
            receiver.answer = lambda message: 500
            called = running.subscribe("n >= 2", delivery=hook)
            ids = [one["id"] for one in running.publish([{"n": n} for n in range(6)])["results"]]
            until(lambda: len(receiver.calls) == 4)
        deep = '{"n":1,"deep":' + "[" * 300 + "]" * 300 + "}"
        changed_database(
            tmp_path,
            ("UPDATE events SET body = ? WHERE number = ?", (deep, ids[1])),
            ("UPDATE dead_letters SET body = ? WHERE event = ?", (deep, ids[3])),
            ("DELETE FROM events WHERE number IN (?, ?)", (ids[0], ids[2])),
        )
        with served(settings) as running:
            assert [one["id"] for one in running.fetch(made, limit=1)] == [ids[1]]
            found = running.fetch(made)
            assert [one["id"] for one in found] == [ids[1], *ids[3:]]
            path = f"/subscriptions/{called['id']}/dead-letters"
            headers = running.as_subscriber(called)
            letters = running.http.get(path, headers=headers, params={"limit": 3}).json()
            assert [one["event"]["id"] for one in letters["dead_letters"]] == ids[2:5]
            assert letters["next"] == letters["dead_letters"][-1]["id"]
            with Client(running.url) as client:
                watched = client.subscription(made["id"], made["ticket"])
                assert [one.id for one in watched.watch(limit=4)] == [ids[1], *ids[3:]]
    finally:
        receiver.close()


def test_a_webhook_whose_events_are_gone_rests(tmp_path: Path) -> None:
    receiver = Receiver()
    receiver.answer = lambda message: 500
    slow = {**QUICK, "attempts": 1_000, "first_delay": 0.5, "longest_delay": 0.5}
    settings = settings_in(tmp_path, webhooks=slow)
    try:
        with served(settings) as running:
            running.subscribe("n = 1", delivery={"kind": "webhook", "url": receiver.url})
            running.publish({"n": 1})
            until(lambda: len(receiver.calls) == 1)
        changed_database(tmp_path, ("DELETE FROM events", ()))
        receiver.calls.clear()
        receiver.answer = lambda message: 204
        with served(settings) as running:
            sender = running.service.delivery.webhooks
            until(lambda: not sender._busy)
            assert not receiver.calls
            running.publish({"n": 1})
            until(lambda: len(receiver.calls) == 1)
    finally:
        receiver.close()


@pytest.mark.parametrize("remembered", [True, False])
def test_pieces_are_small_but_never_empty(service: Served, remembered: bool) -> None:
    """Whether bodies are in memory or in the database."""
    made = service.subscribe(f"piece = {int(remembered)}")
    events = [{"piece": int(remembered), "text": "x" * 1_000} for _ in range(5)]
    ids = [one["id"] for one in service.publish(events)["results"]]
    outbox = service.service.delivery.outbox
    if not remembered:
        outbox.recent._known.clear()
        outbox.recent._order.clear()
        outbox.recent.bytes = 0
    due_events = service.service.delivery.due_events
    assert isinstance(due_events, DueEvents)
    number = int(made["id"][1:])
    size = 1_000 + len('{"piece":0,"text":""}') + ENVELOPE_BYTES

    async def check() -> None:
        for most, expected in ((1, 1), (size, 1), (size + 1, 2), (2 * size, 2), (10 * size, 3)):
            due = await due_events.after(number, 0, 3, most)
            assert [one.number for one in due] == ids[:expected], most

    service.run(check())
