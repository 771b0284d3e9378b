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


def test_rules_carry_data(service: Served) -> None:
    http = service.http
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
