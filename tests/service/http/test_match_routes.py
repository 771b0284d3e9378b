"""Matching over HTTP: what is said of each match, and events with other names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from matchwood.client import Client
from service.serving import Served, served, settings_in


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service whose events have other names for `host`."""
    folder: Path = tmp_path_factory.mktemp("renamed")
    aliases = {"host": ["Host Name", "computer"], "*": "Event.*"}
    schema = folder / "schema.toml"
    schema.write_text('[attributes]\nhost = "string"\nsize = "number"\n')
    with served(settings_in(folder, aliases=aliases, schema=str(schema))) as running:
        yield running


@pytest.mark.parametrize("event", [{"computer": "a"}, {"Event": {"host": "a"}}, {"host": "a"}])
def test_events_have_aliases(renamed: Served, event: dict[str, object]) -> None:
    http = renamed.http
    http.put("/rules/a", json={"rule": "host = 'a'"})
    subscription = renamed.subscribe("host = 'a'")
    [result] = http.post("/match", json={"event": event}).json()["results"]
    assert [match["id"] for match in result["matches"]] == ["a"]
    results = http.post("/match", json={"events": [event] * 5}).json()["results"]
    assert [len(one["matches"]) for one in results] == [1] * 5
    explained = http.post("/explain", json={"rule": "host = 'a'", "event": event}).json()
    assert explained["truth"] == "true"
    renamed.publish(event)
    [delivered] = renamed.fetch(subscription)
    assert delivered["event"] == event


def test_other_names_are_still_held_to_the_schema(renamed: Served) -> None:
    answer = renamed.http.post("/match", json={"event": {"Host": "a"}})
    assert answer.status_code == 422
    assert "Host" in answer.text


# Bodies of `POST /match`, and the status and the problem, or the ids, that answer them.
BODIES: dict[str, tuple[int, object]] = {
    '{"event":{"x":1}}': (200, [["one"]]),
    ' {\t"limit" : 1 ,"event":\n{ "x" : 1 , "y": [ 1 , {"z":"}"} ] } } ': (200, [["one"]]),
    '{"event":{"x":1,"x":2}}': (200, [[]]),
    '{"event":{"\\u0078":1,"t":"\\"]}"}}': (200, [["one"]]),
    '{"events":[]}': (200, []),
    '{"events":[ {"x":1} , {"x":2},{}, {"x":1.0}]}': (200, [["one"], [], [], ["one"]]),
    '{"events":[{"x":2}],"events":[{"x":1}]}': (200, [["one"]]),
    '{"events":null,"event":{"x":1}}': (200, [["one"]]),
    '{"event":{"x":1,"\\u0061":2}}': (200, [["one"]]),
    '{"\\u0065vent":{"x":1}}': (200, [["one"]]),
    '{"event":{"x":1' + ',"y":1' * 5 + '},"limit":10,"tags":null}': (200, [["one"]]),
    '{"event":{"x":' + "1" + "0" * 700 + "}}": (200, [[]]),
    '{"event":{"x":1,"y":' + "[" * 80 + "]" * 80 + "}}": (200, [["one"]]),
    '{"events":[{"x":1}],"events":5}': (422, "invalid-request"),
    '{"event":{"x":01}}': (400, "bad-request"),
    '{"event":{"x":1}\x0b}': (400, "bad-request"),
    "": (400, "bad-request"),
    "{": (400, "bad-request"),
    '{"event":{"x":1}} {}': (400, "bad-request"),
    '{"event":{"x":1},}': (400, "bad-request"),
    '{"event":{"x":NaN}}': (400, "bad-request"),
    '{"events":[{"x":1},]}': (400, "bad-request"),
    '{"events":[{"x":1} {"x":1}]}': (400, "bad-request"),
    '{"event":' + '{"x":' * 9_000 + "1" + "}" * 9_001: (400, "bad-request"),
    "[]": (422, "invalid-request"),
    "{}": (422, "invalid-request"),
    '{"event":{},"events":[]}': (422, "invalid-request"),
    '{"event":[]}': (422, "invalid-request"),
    '{"events":[{},5]}': (422, "invalid-request"),
    '{"event":{},"limit":"1"}': (422, "invalid-request"),
    '{"event":{},"more":1}': (422, "invalid-request"),
    '{"event":{"a":{"b":1},"a.b":2}}': (422, "invalid-event"),
    '{"events":[{},{"a":{"b":1},"a.b":2},{},{},{}]}': (422, "invalid-event"),
    '{"event":{"x":"\\ud800"}}': (422, "invalid-event"),
    '{"event":{"x":' + "[" * 101 + "]" * 101 + "}}": (422, "invalid-event"),
}


def test_bodies_are_read_as_json_says(service: Served) -> None:
    service.http.put("/rules", json=[{"id": "one", "rule": "x = 1"}]).raise_for_status()
    for body, (status, expected) in BODIES.items():
        headers = {"Content-Type": "application/json"}
        answer = service.http.post("/match", content=body.encode(), headers=headers)
        assert answer.status_code == status, (body[:80], answer.text)
        if status == 200:
            found = [[one["id"] for one in of["matches"]] for of in answer.json()["results"]]
        else:
            found = answer.json()["type"].removeprefix("urn:matchwood:problem:")
        assert found == expected, body[:80]
    spelt_twice = b'{"events":[{},{"a":{"b":1},"a.b":2},{},{},{}]}'
    bad = service.http.post("/match", content=spelt_twice, headers=headers).json()
    assert bad["index"] == 1
    refused = service.http.post("/match", content=b"{}", headers={"Content-Type": "text/plain"})
    assert refused.status_code == 415


def test_answers_follow_the_rules(service: Served) -> None:
    """What is told of a rule is remembered, but only until the rules change."""
    http = service.http

    def told() -> list[object]:
        matches = http.post("/match", json={"event": {"x": 1}}).json()["results"][0]["matches"]
        return [(one["id"], one["tags"], one["priority"], one["data"]) for one in matches]

    for tags, priority, data in ((["a", "é"], 2.5, {"n": 1}), (["b"], -1, None), ([], 1e30, "x")):
        rule = {"rule": "x = 1", "tags": tags, "priority": priority, "data": data}
        http.put("/rules", json=[{"id": 'say "é"\n', **rule}]).raise_for_status()
        assert told() == told() == [('say "é"\n', tags, priority, data)]
    http.put("/rules", json=[]).raise_for_status()


def test_rules_carry_data(service: Served) -> None:
    http = service.http
    http.put("/rules", json=[]).raise_for_status()  # other tests share this service
    data = {"owner": "ann", "levels": [1, None, "é"]}
    stored = http.put("/rules/a", json={"rule": "x = 1", "data": data})
    assert stored.json()["rule"]["data"] == data
    assert http.get("/rules/a").json()["data"] == data
    [result] = http.post("/match", json={"event": {"x": 1}}).json()["results"]
    assert [(match["id"], match["data"]) for match in result["matches"]] == [("a", data)]
    rules = [{"id": "a", "rule": "x = 1", "data": 5}, {"id": "b", "rule": "x = 1"}]
    assert http.put("/rules", json=rules).json()["ids"]["changed"] == ["a"]
    assert http.put("/rules", json=rules).json()["changed"] == 0
    results = http.post("/match", json={"events": [{"x": 1}] * 5}).json()["results"]
    assert {(m["id"], m["data"]) for one in results for m in one["matches"]} == {
        ("a", 5),
        ("b", None),
    }
    assert http.put("/rules/a", json={"rule": "x = 1", "data": "\u0000"}).status_code == 422
    large = http.put("/rules/a", json={"rule": "x = 1", "data": "x" * 100_000})
    assert large.status_code in (413, 422)
    with Client(service.url) as client:
        client.rules.add("c", "x = 2", data=[data])
        assert client.rules.details("c").data == [data]
        assert client.rules.details("b").data is None
