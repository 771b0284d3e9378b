"""CloudEvents: published in JSON and in binary mode, matched alike, and delivered as they came."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from matchwood.service.delivery.cloud_events import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    binary,
    delivered,
    from_binary,
    problem_of,
    structured,
)
from matchwood.service.delivery.due_events import DueEvent
from service.delivery.receiver import Receiver
from service.delivery.test_webhooks import until
from service.serving import Served

EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "A-1",
    "source": "/shop/1",
    "type": "order.created",
    "subject": 'Zoë "100 %" \U0001f600',
    "datacontenttype": "application/json",
    "data": {"price": 12, "items": ["a", None, 1.5]},
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.mark.parametrize(
    "event",
    [
        EVENT,
        {**EVENT, "datacontenttype": "text/plain", "data": "grüße"},
        {**EVENT, "datacontenttype": "text/xml; charset=utf-8", "data": "<a/>"},
        {**{n: v for n, v in EVENT.items() if n != "data"}, "data_base64": "AAH/"}
        | {"datacontenttype": "image/png"},
        {n: v for n, v in EVENT.items() if n not in ("data", "datacontenttype")},
        {**EVENT, "data": "only text", "datacontenttype": "application/vnd.x+json"},
        {**EVENT, "data": [1, 2], "ext1": "x"},
    ],
)
def test_binary_mode_brings_what_the_json_format_has(event: dict[str, Any]) -> None:
    assert problem_of(event) is None
    headers, body = binary(DueEvent(7, 0.0, json.dumps(event)))
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    arrived = {name.lower(): value for name, value in headers.items()}
    assert json.loads(from_binary(arrived, body)) == event
    assert json.loads(structured(DueEvent(7, 0.0, json.dumps(event)))[1]) == event


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"specversion": "0.3"}, "specversion must be '1.0', found '0.3'"),
        ({"id": ""}, "id must be a string"),
        ({"source": 5}, "source must be a string"),
        ({"type": None}, "type must be a string"),
        ({"Ext": "x"}, "lower-case"),
        ({"ext": {"a": 1}}, "ext must be"),
        ({"ext": 1.5}, "ext must be"),
        ({"data_base64": "AA=="}, "both"),
    ],
)
def test_what_is_no_cloud_event_is_refused(
    service: Served, change: dict[str, Any], said: str
) -> None:
    body = json.dumps({**EVENT, **change})
    one = service.http.post("/events", content=body, headers={"Content-Type": CLOUD_EVENT})
    assert one.status_code == 422
    assert said in one.json()["detail"]
    many = f"[{json.dumps(EVENT)}, {body}]"
    batch = service.http.post("/events", content=many, headers={"Content-Type": CLOUD_EVENTS})
    assert (batch.status_code, batch.json()["index"]) == (422, 1)


def test_media_types_say_whether_it_is_one_event_or_a_list(service: Served) -> None:
    for kind, body in ((CLOUD_EVENT, [EVENT]), (CLOUD_EVENTS, EVENT), (CLOUD_EVENT, 5)):
        headers = {"Content-Type": kind}
        answer = service.http.post("/events", content=json.dumps(body), headers=headers)
        assert answer.status_code in (400, 422), answer.text
    broken = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/", "ce-type": "t"}
    broken["Content-Type"] = "application/json"
    assert service.http.post("/events", content=b"{", headers=broken).status_code == 400
    del broken["ce-type"]
    assert service.http.post("/events", content=b"{}", headers=broken).status_code == 422


def test_rules_match_attributes_and_data_however_they_came(service: Served) -> None:
    made = service.subscribe("type = 'order.created' and data.price > 10 and source like '/shop/%'")
    http = service.http
    headers = {"Content-Type": f"{CLOUD_EVENT}; charset=utf-8"}
    first = http.post("/events", content=json.dumps(EVENT), headers=headers)
    assert first.json()["matched"] == 1, first.text
    headers = {"Content-Type": CLOUD_EVENTS}
    batch = http.post("/events", content=json.dumps([EVENT, EVENT]), headers=headers)
    assert [one["matched"] for one in batch.json()["results"]] == [1, 1]
    sent, body = binary(DueEvent(1, 0.0, json.dumps(EVENT)))
    assert http.post("/events", content=body, headers=sent).json()["matched"] == 1
    assert [one["event"] for one in service.fetch(made)] == [EVENT] * 4


def test_webhooks_get_what_a_subscription_carries(service: Served, receiver: Receiver) -> None:
    data = {"owner": "Zoë", "n": [1, None]}
    made = {}
    for form in ("json", "cloudevents", "cloudevents-binary"):
        delivery = {"kind": "webhook", "url": f"{receiver.url}/{form}", "format": form}
        made[form] = service.subscribe("carrying = 1", delivery=delivery, data=data)
    service.publish({"carrying": 1})
    until(lambda: len(receiver.calls) == 3)
    calls = {sent["Webhook-Id"].split("-")[0]: (sent, body) for sent, body in receiver.calls}
    assert json.loads(calls[made["json"]["id"]][1])["data"] == data
    event = json.loads(calls[made["cloudevents"]["id"]][1])
    assert problem_of(event) is None
    assert (event["data"], json.loads(event["ruledata"])) == ({"carrying": 1}, data)
    sent, body = calls[made["cloudevents-binary"]["id"]]
    arrived = {name.lower(): value for name, value in sent.items()}
    assert json.loads(from_binary(arrived, body)) == event
    path, headers = f"/subscriptions/{made['json']['id']}", service.as_subscriber(made["json"])
    assert service.http.patch(path, json={"data": 5}, headers=headers).status_code == 200
    service.publish({"carrying": 1})
    until(lambda: len(receiver.calls) == 6)
    changed = [
        json.loads(body)
        for sent, body in receiver.calls[3:]
        if sent["Webhook-Id"].startswith(made["json"]["id"])
    ]
    assert [one["data"] for one in changed] == [5]


def test_webhooks_get_cloud_events(service: Served, receiver: Receiver) -> None:
    def hook(form: str) -> str:
        delivery = {"kind": "webhook", "url": f"{receiver.url}/{form}", "format": form}
        made = service.subscribe("type = 'ce' or plain = 1", delivery=delivery)
        assert made["delivery"] == delivery
        return str(made["id"])

    names = {hook(form): form for form in ("json", "cloudevents", "cloudevents-binary")}
    published = {**EVENT, "type": "ce"}
    headers = {"Content-Type": CLOUD_EVENT}
    service.http.post("/events", content=json.dumps(published), headers=headers)
    number = service.publish({"plain": 1, "id": 5})["id"]
    until(lambda: len(receiver.calls) == 6)
    got: dict[str, list[Any]] = {form: [] for form in names.values()}
    for sent, body in receiver.calls:
        form = names[sent["Webhook-Id"].split("-")[0]]
        if form == "cloudevents-binary":
            arrived = {name.lower(): value for name, value in sent.items()}
            got[form].append(json.loads(from_binary(arrived, body)))
        else:
            expected = CLOUD_EVENT if form == "cloudevents" else "application/json"
            assert sent["Content-Type"] == expected
            got[form].append(json.loads(body))
    assert got["cloudevents"][0] == published
    assert got["cloudevents"] == got["cloudevents-binary"]
    own = got["cloudevents"][1]
    assert problem_of(own) is None
    assert (own["id"], own["source"], own["type"]) == (
        str(number),
        "/matchwood",
        "matchwood.event",
    )
    assert own["data"] == {"plain": 1, "id": 5}
    assert [one["event"] for one in got["json"]] == [published, own["data"]]


def test_only_webhooks_have_a_format(service: Served) -> None:
    body = {"rule": "true", "subscriber": "ann", "delivery": {"format": "cloudevents"}}
    assert service.http.post("/subscriptions", json=body).status_code == 422


def test_an_event_that_only_looks_like_a_cloud_event_is_wrapped() -> None:
    body = json.dumps({**EVENT, "Not An Attribute": 1})
    own = delivered(DueEvent(9, 0.0, body))
    assert (own["id"], own["data"]) == ("9", json.loads(body))


@pytest.mark.parametrize("named", [False, True])
def test_of_headers_that_come_twice_the_first_counts(service: Served, named: bool) -> None:
    made = service.subscribe("twice = '1'")
    headers = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"), ("ce-type", "t")]
    headers += [("ce-id", "2"), ("ce-twice", "1"), ("Content-Type", "application/json")]
    headers += [("Idempotency-Key", "twice")] * named
    answer = service.http.post("/events", content=b"{}", headers=headers)
    assert answer.status_code == 202, answer.text
    path = f"/subscriptions/{made['id']}/events"
    [told] = service.http.get(path, headers=service.as_subscriber(made)).json()["events"]
    assert told["event"]["id"] == "1"
    assert list(told["event"])[:4] == ["specversion", "id", "source", "type"]
