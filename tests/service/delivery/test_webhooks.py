"""Webhooks: signed, in order, tried again, given up, replayed, and never to private addresses."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from matchwood.service.delivery import addresses, webhook_calls, webhooks
from matchwood.service.delivery.due_events import DueEvent
from service.delivery.receiver import Receiver
from service.serving import Served, served, settings_in

QUICK = {"private_addresses": True, "first_delay": 0.05, "longest_delay": 0.1, "attempts": 3}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(settings_in(tmp_path_factory.mktemp("quick"), webhooks=QUICK)) as running:
        yield running


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def hook(service: Served, receiver: Receiver, rule: str) -> dict[str, Any]:
    return service.subscribe(rule, delivery={"kind": "webhook", "url": receiver.url + "/in"})


def test_events_are_sent_in_order_and_signed(quick: Served, receiver: Receiver) -> None:
    made = hook(quick, receiver, "order = 1")
    published = quick.publish([{"order": 1, "n": n} for n in range(30)])["results"]
    until(lambda: len(receiver.calls) == 30)
    assert receiver.numbers() == list(range(30))
    headers, body = receiver.calls[7]
    assert json.loads(body)["id"] == published[7]["id"]
    assert headers["Webhook-Id"] == f"{made['id']}-{published[7]['id']}"
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    assert headers["Webhook-Signature"] == "v1," + base64.b64encode(digest).decode()
    until(lambda: quick.service.roster.cursor(int(made["id"][1:])) == published[-1]["id"])


def test_many_webhooks_share_few_connections_and_each_keeps_its_order(
    quick: Served, receiver: Receiver
) -> None:
    made = {hook(quick, receiver, "many = 1")["id"] for _ in range(12)}
    published = quick.publish([{"many": 1, "n": n} for n in range(50)])["results"]
    until(lambda: len(receiver.calls) == 12 * 50)
    by_subscription: dict[str, list[int]] = {}
    for headers, _ in receiver.calls:
        name, event = headers["Webhook-Id"].split("-")
        by_subscription.setdefault(name, []).append(int(event))
    assert by_subscription == {name: [event["id"] for event in published] for name in made}
    assert receiver.connections <= 8  # as many as one host may have calls in progress


def test_what_fails_is_tried_again_and_the_rest_waits(quick: Served, receiver: Receiver) -> None:
    failures = iter([500, 302])
    receiver.answer = lambda message: next(failures, 204) if message["event"]["n"] == 1 else 204
    hook(quick, receiver, "again = 1")
    quick.publish([{"again": 1, "n": n} for n in range(3)])
    until(lambda: len(receiver.calls) == 5)
    assert receiver.numbers() == [0, 1, 1, 1, 2]
    assert receiver.requests == ["POST /in"] * 5  # a redirect is followed by GET, to /elsewhere


def test_an_event_that_cannot_be_sent_does_not_keep_the_next_ones_waiting(
    quick: Served, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that could not be made was no attempt: it was tried again for ever."""

    def failing(event: DueEvent, data: str) -> tuple[dict[str, str], bytes]:
        if json.loads(event.body)["n"] == 1:
            raise KeyError("a mistake of the service")
        return webhook_calls.plain(event, data)

    monkeypatch.setattr(webhooks, "TROUBLE_SECONDS", 0.05)
    monkeypatch.setitem(webhook_calls.FORMATS, "json", failing)
    made = hook(quick, receiver, "unmade = 1")
    quick.publish([{"unmade": 1, "n": n} for n in range(3)])
    until(lambda: receiver.numbers() == [0, 2])
    path = f"/subscriptions/{made['id']}/dead-letters"
    answer = quick.http.get(path, headers=quick.as_subscriber(made))
    (letter,) = answer.json()["dead_letters"]
    assert (letter["event"]["event"]["n"], letter["attempts"]) == (1, 3)
    assert letter["error"] == "KeyError: 'a mistake of the service'"


def test_trouble_of_the_service_itself_is_short_and_counts_for_nothing(
    quick: Served, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lookup fails as it does while the database cannot be reached."""
    due_events = quick.service.delivery.due_events
    after, failures = due_events.after, [OperationalError("select", {}, Exception("gone"))]

    async def failing(number: int, *more: Any) -> Any:
        if failures:
            raise failures.pop()
        return await after(number, *more)

    monkeypatch.setattr(webhooks, "TROUBLE_SECONDS", 0.05)
    monkeypatch.setattr(due_events, "after", failing)
    hook(quick, receiver, "trouble = 1")
    quick.publish({"trouble": 1, "n": 5})
    until(lambda: receiver.numbers() == [5])
    assert not failures
    assert not quick.service.delivery.webhooks.failing


def test_what_is_not_taken_is_a_dead_letter_until_it_is_replayed(
    quick: Served, receiver: Receiver
) -> None:
    broken = True
    receiver.answer = lambda message: 500 if broken and message["event"]["n"] == 1 else 204
    made = hook(quick, receiver, "dead = 1")
    headers = quick.as_subscriber(made)
    path = f"/subscriptions/{made['id']}/dead-letters"

    def letters() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = quick.http.get(path, headers=headers).json()["dead_letters"]
        return found

    quick.publish([{"dead": 1, "n": n} for n in range(3)])
    until(lambda: len(receiver.calls) == 5)
    assert receiver.numbers() == [0, 1, 1, 1, 2]
    until(lambda: len(letters()) == 1)
    (letter,) = letters()
    assert (letter["event"]["event"]["n"], letter["attempts"]) == (1, 3)
    assert letter["error"] == "answered 500"
    assert letter in quick.http.get("/dead-letters").json()["dead_letters"]
    assert quick.http.post(f"{path}/replay", json={}, headers=headers).json() == {"replayed": 1}
    until(lambda: letters()[0]["attempts"] == 4)
    broken = False
    asked = {"ids": [letter["id"]]}
    assert quick.http.post(f"{path}/replay", json=asked, headers=headers).json()["replayed"] == 1
    until(lambda: letters() == [])
    assert receiver.numbers()[-1] == 1


def test_attempts_are_counted_across_a_restart(tmp_path, receiver: Receiver) -> None:
    receiver.answer = lambda message: 500
    settings = settings_in(tmp_path, webhooks={**QUICK, "first_delay": 1.0, "longest_delay": 1.0})
    with served(settings) as running:
        made = hook(running, receiver, "count = 1")
        running.publish({"count": 1, "n": 0})
        until(lambda: len(receiver.calls) == 2)
    with served(settings) as running:
        headers = running.as_subscriber(made)
        path = f"/subscriptions/{made['id']}/dead-letters"
        until(lambda: len(running.http.get(path, headers=headers).json()["dead_letters"]) == 1)
        (letter,) = running.http.get(path, headers=headers).json()["dead_letters"]
        assert (letter["attempts"], len(receiver.calls)) == (3, 3)
        receiver.answer = lambda message: 204
        running.publish({"count": 1, "n": 1})
        until(lambda: receiver.numbers()[-1] == 1)
    with served(settings) as running:  # the next one begins from zero
        assert not running.service.delivery.webhooks.failing


def test_a_pause_goes_on_after_a_restart(tmp_path, receiver: Receiver) -> None:
    receiver.answer = lambda message: 500
    settings = settings_in(tmp_path, webhooks={**QUICK, "first_delay": 60, "longest_delay": 60})
    with served(settings) as running:
        made = hook(running, receiver, "pause = 1")
        running.publish({"pause": 1, "n": 0})
        until(lambda: len(receiver.calls) == 1)
        until(lambda: bool(running.service.delivery.webhooks._pauses))
    receiver.answer = lambda message: 204
    with served(settings) as running:
        number = int(made["id"][1:])
        assert 20 < running.service.delivery.webhooks.failing[number].retry_at - time.time() < 60
        running.publish({"pause": 1, "n": 1})
        time.sleep(0.5)
        assert len(receiver.calls) == 1
    sooner = settings.changed(webhooks=replace(settings.webhooks, longest_delay=0.2))
    with served(sooner):  # no pause is longer than the settings allow
        until(lambda: receiver.numbers() == [0, 0, 1])


def test_who_is_slow_holds_up_nobody_else(tmp_path, receiver: Receiver) -> None:
    settings = {**QUICK, "timeout": 30, "under_way_a_host": 2}
    slow = Receiver()
    let_go = threading.Event()
    slow.answer = lambda message: 204 if let_go.wait(20) else 500
    with served(settings_in(tmp_path, webhooks=settings)) as running:
        for _ in range(10):
            hook(running, slow, "x = 1")
        hook(running, receiver, "x = 1")
        running.publish([{"x": 1, "n": n} for n in range(5)])
        until(lambda: len(receiver.calls) == 5, 5)
        assert not slow.calls
        let_go.set()
        until(lambda: len(slow.calls) == 50)
    slow.close()


def test_a_webhook_goes_on_after_a_restart(tmp_path, receiver: Receiver) -> None:
    receiver.answer = lambda message: 500
    with served(settings_in(tmp_path, webhooks={**QUICK, "attempts": 1_000})) as running:
        hook(running, receiver, "x = 1")
        running.publish({"x": 1, "n": 7})
        until(lambda: len(receiver.calls) > 1)
    receiver.answer = lambda message: 204
    receiver.calls.clear()
    with served(settings_in(tmp_path, webhooks=QUICK)):
        until(lambda: len(receiver.calls) == 1)
    assert receiver.numbers() == [7]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x",
        "http://localhost:80/x",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://user@example.org/",
        "ftp://example.org/",
        "nonsense",
        "http://exa mple.org/",
    ],
)
def test_private_addresses_and_nonsense_are_refused(tmp_path_factory, strict, url: str) -> None:
    delivery = {"kind": "webhook", "url": url}
    asked = {"rule": "x = 1", "subscriber": "ann", "delivery": delivery}
    answer = strict.http.post("/subscriptions", json=asked)
    assert answer.status_code == 422, answer.text


def test_a_name_that_leads_to_a_private_address_is_not_called(
    strict: Served, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(host: str, port: int) -> list[str]:
        assert host == "public.example.org"
        return ["127.0.0.1"]

    monkeypatch.setattr(addresses, "resolved", resolved)
    url = receiver.url.replace("127.0.0.1", "public.example.org")
    made = strict.subscribe("private = 1", delivery={"kind": "webhook", "url": url})
    strict.publish({"private": 1, "n": 1})
    path = f"/subscriptions/{made['id']}/dead-letters"
    headers = strict.as_subscriber(made)
    until(lambda: bool(strict.http.get(path, headers=headers).json()["dead_letters"]))
    letter = strict.http.get(path, headers=headers).json()["dead_letters"][0]
    assert "private address" in letter["error"]
    assert not receiver.calls


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {**QUICK, "private_addresses": False, "attempts": 1}
    with served(settings_in(tmp_path_factory.mktemp("strict"), webhooks=settings)) as running:
        yield running
