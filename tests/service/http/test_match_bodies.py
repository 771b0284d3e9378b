"""Bodies of `POST /match` that compiled code checks mean what a strict parser makes of them."""

import json

import pytest

from match.json.random_texts import TextMaker
from matchwood.service.delivery.sent_events import SentEvent
from matchwood.service.http import match_bodies
from matchwood.service.http.match_bodies import match_request
from matchwood.service.http.scanned_bodies import scanned
from matchwood.service.settings import Limits

LIMITS = Limits(batch_events=3, event_bytes=400)


def outcome(body):
    try:
        asked = match_request(body, LIMITS)
    except Exception as error:
        return type(error), str(error)
    events = [dict(event) for event in asked.events]
    return events, [json.loads(text) for text in asked.texts], asked.options, asked.single


def random_bodies(seed, count):
    """Bodies with one event or some, of which many are broken, too large, or odd."""
    maker = TextMaker(seed)
    random = maker.random
    for _ in range(count):
        events = [maker.text() for _ in range(random.choice((0, 1, 1, 2, 3, 4)))]
        if random.random() < 0.1:
            events.append(random.choice((b"[]", b"null", b"5", b"{}", b'{"a":1e400}')))
        fields = [b'"events":[' + b" ,".join(events) + b"]"]
        if len(events) == 1 and random.random() < 0.7:
            fields = [b'"event" : ' + events[0]]
        fields += random.choice(([], [], [b'"limit":1'], [b'"tags":["x"]', b'"why_not":2 ']))
        if random.random() < 0.1:
            fields.append(random.choice((fields[0], b'"event":null', b'"limit":-1', b'"x":{}')))
        random.shuffle(fields)
        body = b"{" + b",".join(fields) + b"}" + random.choice((b"", b"", b"\n", b"x"))
        yield maker.broken(body) if random.random() < 0.2 else body


def test_what_is_scanned_means_what_is_read(monkeypatch):
    bodies = list(random_bodies(20, 3_000))
    taken = [scanned(body, LIMITS) for body in bodies]
    found = list(map(outcome, bodies))
    monkeypatch.setattr(match_bodies, "scanned", lambda body, limits: None)
    for body, answer in zip(bodies, found, strict=True):
        assert repr(answer) == repr(outcome(body)), body
    assert sum(body is not None for body in taken) > 300
    assert sum(isinstance(answer[0], type) for answer in found) > 300


@pytest.mark.parametrize(
    "body", [b'{"event":{"a":{"b":[1]}}}', b'{"events":[{},{"x":"\xc3\xa9"}]}']
)
def test_no_event_is_read(body, monkeypatch):
    monkeypatch.setattr(SentEvent, "_read", lambda event: pytest.fail("an event was read"))
    asked = match_request(body, LIMITS)
    assert all(isinstance(event, SentEvent) for event in asked.events)
    assert len(asked.texts) in (1, 2)
