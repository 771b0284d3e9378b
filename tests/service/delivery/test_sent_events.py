"""Events that are stored as they were sent are the events that Python's parser reads."""

import json

import pytest

from matchwood.kernels.readiness import wait_for_kernels
from matchwood.service.delivery.event_bodies import JSON, LINES, events_of
from matchwood.service.delivery.sent_events import sent_events
from matchwood.service.problems import RequestProblem
from matchwood.service.settings import Limits
from service.serving import Served

# Bodies, with how many of their events are taken as they were sent; None if Python reads them.
BODIES: list[tuple[str, bytes, int | None]] = [
    (JSON, b'{"a": 1, "b": [1.50, "x"]}', 1),
    (JSON, b' {"a":{"b":null}}\r\n', 1),
    (JSON, b'[{"a": 1} , {}]', 2),
    (JSON, b"[]", 0),
    (JSON, b'{"a":1,"a":2}', 1),
    (JSON, b'{"a":\n1}', 1),
    (JSON, b'{"a":1}{"b":2}', None),
    (JSON, b'{"a":1},{"b":2}', None),
    (JSON, b'{"a":1}]', None),
    (JSON, b'[{"a":1},]', None),
    (JSON, b'[{"a":1},5]', None),
    (JSON, b"5", None),
    (JSON, b"", None),
    (JSON, b'{"a":NaN}', None),
    (JSON, b'{"a":01}', None),
    (JSON, b'{"a":1e999}', None),
    (JSON, b'[{"a":-1.5E+0400}]', None),
    (JSON, b'{"a":' + b"1" * 280 + b"1" * 40 + b".5}", None),
    (JSON, b'{"a": [1, -' + b"9" * 250 + b"e99]}", None),
    (JSON, b'{"a":[1e99,1E-999],"b":"f1e123"}', 1),
    (JSON, b'{"a":"\\ud800"}', None),
    (JSON, b'{"a":"\xff"}', None),
    (JSON, b'{"a":' + b"[" * 101 + b"]" * 101 + b"}", None),
    (JSON, b'{"a":"' + b"x" * 400 + b'"}', None),
    (LINES[0], b'{"a": 1}\n\n {"b":"\xc3\xa9"}\r\n', 2),
    (LINES[1], b"", 0),
    (LINES[0], b'{"a":1},{"b":2}\n{"c":3}', None),
    (LINES[0], b'{"a":[1\n2]}', None),
    (LINES[0], b'{"a":1}]\n[{"b":2}', None),
    (LINES[0], b'{"a":1}{"b":2}', None),
    (LINES[0], b'{"a":1}\n' * 6, None),
    ("application/cloudevents+json", b'{"a": 1}', None),
]
LIMITS = Limits(event_bytes=400, batch_events=5)


@pytest.mark.parametrize(("kind", "body", "count"), BODIES)
def test_what_is_taken_as_it_was_sent_is_what_python_reads(
    kind: str, body: bytes, count: int | None
) -> None:
    wait_for_kernels()
    sent = sent_events(kind, body, LIMITS)
    assert (None if sent is None else len(sent.bodies)) == count
    try:
        read = events_of(kind, body, LIMITS)
    except RequestProblem:
        assert sent is None
        return
    if sent is not None:
        assert [dict(event) for event in sent.events] == read.events
        assert [json.loads(text) for text in sent.bodies] == read.events
        assert sent.single == read.single
        assert not any("\n" in text or "\r" in text for text in sent.bodies)


def test_an_event_is_delivered_as_it_was_sent(service: Served) -> None:
    made = service.subscribe("sent = 1")
    for body in ('{"sent": 1, "n": 1.50e1}', '[{"sent":1 ,"n":[ 2 ]}]'):
        answer = service.http.post("/events", content=body, headers={"Content-Type": JSON})
        assert answer.status_code == 202, answer.text
    path = f"/subscriptions/{made['id']}/events"
    told = service.http.get(path, headers=service.as_subscriber(made)).text
    assert '{"sent": 1, "n": 1.50e1}' in told
    assert '{"sent":1 ,"n":[ 2 ]}' in told


def test_the_event_that_cannot_be_matched_is_named(service: Served) -> None:
    service.subscribe("sent = 2")
    for body, index in (('{"a":{"b":1},"a.b":2}', 0), ('[{},{"a":{"b":1},"a.b":2}]', 1)):
        answer = service.http.post("/events", content=body, headers={"Content-Type": JSON})
        assert answer.status_code == 422
        assert (answer.json()["index"], answer.json()["type"][-13:]) == (index, "invalid-event")


@pytest.mark.parametrize("form", ["%s", "[%s]"])
def test_malformed_events_are_refused_where_nobody_subscribes(service: Served, form: str) -> None:
    body = form % ",".join(["{}"] * 39 * (form != "%s") + ['{"a":{"b":1},"a.b":2}'])
    for setting in (False, True):
        if setting:
            service.http.put("/schema", json={"attributes": {"z": {"type": "int"}}})
        answer = service.http.post("/events", content=body, headers={"Content-Type": JSON})
        assert answer.status_code == 422
        assert answer.json()["index"] == body.count("{}")


def test_events_that_are_written_anew_are_held_to_the_limit() -> None:
    """They have line breaks, and numbers that Python writes in more bytes."""
    body = b'{"b":1,\n"a":[%s]}' % b",".join([b"1e15"] * 50)
    wait_for_kernels()
    assert sent_events(JSON, body, Limits(event_bytes=300)) is None
    with pytest.raises(RequestProblem, match="bytes"):
        events_of(JSON, body, Limits(event_bytes=300))
    sent = sent_events(JSON, body, Limits())
    assert sent is not None
    assert len(sent.bodies[0]) > 300
