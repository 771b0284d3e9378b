"""What waits, since when and why, from the first failed call on; retried and skipped by hand."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from matchwood.service.rules.subscription_store import SubscriptionStore
from service.delivery.receiver import Receiver
from service.delivery.test_webhooks import hook, until
from service.serving import Served, served, settings_in

# Pauses that no test waits for.
PATIENT = {"private_addresses": True, "first_delay": 600, "longest_delay": 600, "attempts": 5}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(settings_in(tmp_path_factory.mktemp("patient"), webhooks=PATIENT)) as running:
        yield running


def state(service: Served, made: dict[str, Any]) -> dict[str, Any]:
    path = f"/subscriptions/{made['id']}/delivery"
    found: dict[str, Any] = service.http.get(path, headers=service.as_subscriber(made)).json()
    return found


def ask(service: Served, made: dict[str, Any], what: str, **body: Any) -> Any:
    path = f"/subscriptions/{made['id']}/delivery/{what}"
    headers = service.as_subscriber(made)
    return service.http.post(path, json=body or None, headers=headers)


def test_a_failing_webhook_is_seen_retried_and_skipped(
    patient: Served, receiver: Receiver, caplog
) -> None:
    receiver.answer = lambda message: 500
    made = hook(patient, receiver, "seen = 1")
    nothing = state(patient, made)
    assert (nothing["waiting"], nothing["next_event"], nothing["last_error"]) == (0, None, None)
    ids = [one["id"] for one in patient.publish([{"seen": 1, "n": n} for n in range(3)])["results"]]
    until(lambda: state(patient, made)["attempts"] == 1)
    found = state(patient, made)
    assert (found["waiting"], found["next_event"]) == (3, ids[0])
    assert found["last_error"] == "answered 500"
    assert found["waiting_since"] <= found["failing_since"] < found["retry_at"]
    assert "a call of a webhook failed" in caplog.text
    metrics = patient.http.get("/metrics").text
    assert "matchwood_webhooks_failing 1.0" in metrics
    assert float(metrics.split("matchwood_webhooks_failing_seconds ")[-1].split()[0]) > 0
    listed = patient.http.get("/deliveries").json()
    assert (listed["count"], listed["deliveries"]) == (1, [found])
    assert ask(patient, made, "retry").status_code == 200
    until(lambda: state(patient, made)["attempts"] == 2)
    wrong = ask(patient, made, "skip", event=ids[1])
    assert (wrong.status_code, wrong.json()["type"]) == (409, "urn:matchwood:problem:not-next")
    receiver.answer = lambda message: 204
    skipped = ask(patient, made, "skip", event=ids[0])
    assert skipped.status_code == 200, skipped.text
    until(lambda: state(patient, made)["waiting"] == 0)
    assert receiver.numbers() == [0, 0, 1, 2]
    last = state(patient, made)
    assert (last["attempts"], last["last_error"], last["dead_letters"]) == (0, None, 1)
    path = f"/subscriptions/{made['id']}/dead-letters"
    (letter,) = patient.http.get(path, headers=patient.as_subscriber(made)).json()["dead_letters"]
    assert letter["event"]["id"] == ids[0]
    assert letter["error"] == "skipped by hand: answered 500"
    assert patient.http.get("/deliveries").json() == {"count": 0, "deliveries": []}


def test_others_see_and_change_nothing(patient: Served, receiver: Receiver) -> None:
    made = hook(patient, receiver, "hidden = 1")
    path = f"/subscriptions/{made['id']}/delivery"
    other = {"Authorization": "Bearer ticket_x"}
    assert patient.http.get(path, headers=other).status_code == 403
    for what in ("retry", "skip"):
        asked = patient.http.post(f"{path}/{what}", json={"event": 1}, headers=other)
        assert asked.status_code == 403
    pulled = patient.subscribe("hidden = 1")
    assert state(patient, pulled)["kind"] == "pull"
    patient.publish({"hidden": 1, "n": 1})
    assert state(patient, pulled)["waiting"] == 1
    assert (
        ask(patient, pulled, "skip", event=state(patient, pulled)["next_event"]).status_code == 409
    )
    assert ask(patient, pulled, "retry").status_code == 200


def test_what_failed_is_known_after_a_restart(tmp_path, receiver: Receiver) -> None:
    receiver.answer = lambda message: 503
    settings = settings_in(tmp_path, webhooks=PATIENT)
    with served(settings) as running:
        made = hook(running, receiver, "known = 1")
        running.publish({"known": 1, "n": 0})
        until(lambda: state(running, made)["attempts"] == 1)
        before = state(running, made)
    with served(settings) as running:
        assert state(running, made) == before
        ask(running, made, "retry")
        until(lambda: state(running, made)["attempts"] == 2)


def test_a_ticket_can_be_replaced(service: Served) -> None:
    made = service.subscribe("ticket = 1")
    path = f"/subscriptions/{made['id']}"
    refused = service.http.post(f"{path}/ticket", headers={"Authorization": "Bearer ticket_x"})
    assert refused.status_code == 403
    opened, polled = ThreadPoolExecutor(2), service.as_subscriber(made)
    streamed = opened.submit(service.http.get, f"{path}/stream", headers=polled)
    waited = opened.submit(service.http.get, f"{path}/events?wait=20", headers=polled)
    until(lambda: service.service.streams.taken == 2)
    new = service.http.post(f"{path}/ticket", headers=service.as_subscriber(made)).json()
    assert new["id"] == made["id"]
    service.publish({"ticket": 1})
    assert b"event: match" not in streamed.result(15).content  # which has ended
    assert waited.result(15).status_code == 403
    opened.shutdown()
    assert len(service.fetch(new)) == 1
    assert service.http.get(path, headers=service.as_subscriber(made)).status_code == 403
    shown = service.http.get(path, headers=service.as_subscriber(new))
    assert shown.status_code == 200
    assert "ticket" not in shown.json()


def test_a_ticket_that_is_replaced_while_its_stream_begins_is_of_no_use(
    service: Served, monkeypatch
) -> None:
    made = service.subscribe("ticket = 2")
    path = f"/subscriptions/{made['id']}"
    check = SubscriptionStore.authorised
    checks: list[str | None] = []

    def replaced_after_the_check(
        store: SubscriptionStore, name: str, ticket: str | None, admin: bool = False
    ) -> Any:
        checks.append(ticket)
        row = check(store, name, ticket, admin)
        if len(checks) == 1:
            replaced = service.http.post(f"{path}/ticket", headers=service.as_subscriber(made))
            assert replaced.status_code == 200
        return row

    monkeypatch.setattr(SubscriptionStore, "authorised", replaced_after_the_check)
    streamed = service.http.get(f"{path}/stream", headers=service.as_subscriber(made))
    assert streamed.status_code == 403
    assert service.service.streams.taken == 0


def test_an_event_that_is_skipped_while_it_is_sent_fails_nothing(
    patient: Served, receiver: Receiver
) -> None:
    sent, skipped = Event(), Event()

    def slow(message: dict[str, Any]) -> int:
        if message["event"]["n"] == 0:
            sent.set()
            assert skipped.wait(15)
            return 500
        return 204

    receiver.answer = slow
    made = hook(patient, receiver, "slow = 1")
    ids = [one["id"] for one in patient.publish([{"slow": 1, "n": n} for n in range(2)])["results"]]
    assert sent.wait(15)
    assert ask(patient, made, "skip", event=ids[0]).status_code == 200
    skipped.set()
    until(lambda: len(receiver.calls) == 2)
    until(lambda: state(patient, made)["waiting"] == 0)
    after = state(patient, made)
    assert (after["attempts"], after["last_error"], after["dead_letters"]) == (0, None, 1)
