"""The schema over HTTP: rules and events must fit it, and publishers extend it."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matchwood import Schema
from matchwood.client import Client
from service.postgres import new_database
from service.serving import Served, served, settings_in

pytestmark = pytest.mark.xdist_group("schema")  # one service for all of them

FORM = {
    "domains": {"size": {"values": ["s", "m", "l"], "order": "listed"}},
    "hierarchies": {"furniture": {"dining table": "table", "table": "furniture"}},
    "attributes": {"price": {"minimum": 0}, "size": "size", "category": "furniture"},
    "types": {"offer": {"price": "mandatory", "size": "optional", "category": "optional"}},
}
LAMPS = {
    "hierarchies": {"lamp": {"desk lamp": "lamp"}},
    "attributes": {"lamp": "lamp"},
    "types": {"offer": {"lamp": "optional"}},
}
OFFER = {"event_type": "offer", "price": 5}


@pytest.fixture
def strict(service: Served) -> Iterator[Served]:
    """The service with a schema, and without rules."""
    service.http.put("/rules", json=[]).raise_for_status()
    answer = service.http.put("/schema", json=FORM)
    assert answer.status_code == 200, answer.text
    yield service
    service.http.put("/rules", json=[]).raise_for_status()
    service.http.delete("/schema").raise_for_status()


def refused(answer: Any, status: int, kind: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    problem: dict[str, Any] = answer.json()
    assert problem["type"] == f"urn:matchwood:problem:{kind}"
    return problem


def test_without_a_schema_any_event_is_taken(service: Served) -> None:
    assert service.http.get("/schema").json()["schema"] is None
    service.publish({"whatever": [1, "x"]})
    refused(service.http.post("/schema/extensions", json=LAMPS), 404, "not-found")


def test_events_are_held_to_it(strict: Served) -> None:
    assert strict.publish(OFFER)["matched"] == 0
    for bad, rule, attribute in (
        ({"price": 5}, "R1", "event_type"),
        ({"event_type": "offer"}, "R2", "price"),
        ({**OFFER, "price": -1}, "R2", "price"),
        ({**OFFER, "colour": "red"}, "R3", "colour"),
    ):
        problem = refused(strict.http.post("/events", json=bad), 422, "invalid-event")
        assert rule in problem["detail"]
        assert problem["attribute"] == attribute
        problem = refused(strict.http.post("/events", json=[OFFER, bad]), 422, "invalid-event")
        assert problem["index"] == 1
        refused(strict.http.post("/match", json={"event": bad}), 422, "invalid-event")
    lines = "\n".join(map(json.dumps, [OFFER, {"price": 5}]))
    kind = {"Content-Type": "application/x-ndjson"}
    refused(strict.http.post("/events", content=lines, headers=kind), 422, "invalid-event")


def test_rules_are_held_to_it(strict: Served) -> None:
    for rule in (
        "size = 'xl'",
        "size > 's'",
        "colour = 'red'",
        "price = 'x'",
        "isa(category, 'x')",
    ):
        for answer in (
            strict.http.put("/rules/a", json={"rule": rule}),
            strict.http.put("/rules", json=[{"id": "a", "rule": rule}]),
            strict.http.post("/subscriptions", json={"rule": rule, "subscriber": "ann"}),
        ):
            refused(answer, 422, "invalid-rule")
        assert strict.http.post("/check", json={"rule": rule}).json()["valid"] is False
    error = strict.http.post("/check", json={"rule": "price > 1 and\n size > 's'"}).json()["error"]
    assert (error["line"], error["column"]) == (2, 2)
    assert "write size in ('m', 'l')" in error["reason"]
    made = strict.subscribe("isa(category, 'table') and price < 10")
    change = {"rule": "size = 'xl'"}
    headers = strict.as_subscriber(made)
    path = f"/subscriptions/{made['id']}"
    refused(strict.http.patch(path, json=change, headers=headers), 422, "invalid-rule")
    bulk = (
        '{"rule": "size = \'xl\'", "subscriber": "a"}\n{"rule": "price = 1", "subscriber": "a"}\n'
    )
    kind = {"Content-Type": "application/x-ndjson"}
    told = strict.http.post("/subscriptions/bulk", content=bulk, headers=kind).text.splitlines()
    assert json.loads(told[-1]) == {"accepted": 1, "rejected": 1}
    assert strict.publish({**OFFER, "category": "dining table"})["matched"] == 1
    strict.http.delete(path, headers=headers)


def test_publishers_extend_it(strict: Served) -> None:
    before = strict.http.get("/schema").json()["version"]
    rule = {"rule": "isa(lamp, 'lamp')"}
    refused(strict.http.put("/rules/lamps", json=rule), 422, "invalid-rule")
    answer = strict.http.post("/schema/extensions", json=LAMPS)
    assert answer.json()["version"] == before + 1
    assert answer.json()["schema"] == Schema.from_dict(FORM).extend(LAMPS).to_dict()
    assert strict.http.put("/rules/lamps", json=rule).status_code == 201
    found = strict.http.post("/match", json={"event": {**OFFER, "lamp": "desk lamp"}}).json()
    assert [one["id"] for one in found["results"][0]["matches"]] == ["lamps"]
    again = strict.http.post("/schema/extensions", json=LAMPS)
    assert "already" in refused(again, 422, "invalid-schema")["detail"]
    old = strict.http.post("/schema/extensions", json={}, headers={"If-Match": str(before)})
    refused(old, 412, "version-conflict")


def test_another_schema_is_taken_only_if_all_rules_fit(strict: Served) -> None:
    made = strict.subscribe("isa(category, 'table')")
    strict.http.put("/rules/small", json={"rule": "size = 's'"}).raise_for_status()
    without = {**FORM, "attributes": {"price": "number"}, "types": {"offer": {"price": "optional"}}}
    problem = refused(strict.http.put("/schema", json=without), 409, "schema-conflict")
    assert [next(iter(one)) for one in problem["errors"]] == ["rule", "subscription"]
    assert strict.http.get("/schema").json()["schema"] == Schema.from_dict(FORM).to_dict()
    refused(strict.http.delete("/schema"), 409, "schema-conflict")
    refused(strict.http.put("/schema", json={"types": 5}), 422, "invalid-schema")
    sofas = {"dining table": "table", "table": "furniture", "low sofa": "table"}
    wider = {**FORM, "hierarchies": {"furniture": sofas}}
    event = {**OFFER, "category": "low sofa"}
    refused(strict.http.post("/events", json=event), 422, "invalid-event")
    strict.http.put("/schema", json=wider).raise_for_status()
    assert strict.publish(event)["matched"] == 1  # also by a rule that was there before
    strict.http.delete(f"/subscriptions/{made['id']}", headers=strict.as_subscriber(made))


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_it_is_there_after_a_restart(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    Schema.from_dict(FORM).save(tmp_path / "schema.toml")
    settings = settings_in(tmp_path / "data", schema=str(tmp_path / "schema.toml"))
    if database == "postgresql":
        url = new_database(request.getfixturevalue("postgres"), "schema")
        settings = settings.changed(database=url)
    with served(settings) as running:
        assert running.http.get("/schema").json()["version"] == 1
        running.http.post("/schema/extensions", json=LAMPS).raise_for_status()
        made = running.subscribe("isa(lamp, 'lamp') and isa(category, 'table')")
    event = {**OFFER, "lamp": "desk lamp", "category": "table"}
    with served(settings) as running:
        assert running.http.get("/schema").json()["version"] == 2
        assert running.publish(event)["matched"] == 1
        assert len(running.fetch(made)) == 1
        refused(running.http.post("/events", json={}), 422, "invalid-event")


def test_roles_and_the_client(tmp_path: Path) -> None:
    keys = [
        {"name": role, "role": role, "sha256": hashlib.sha256(role.encode()).hexdigest()}
        for role in ("admin", "publisher", "subscriber")
    ]
    with served(settings_in(tmp_path, keys=keys)) as running:
        clients = {role: Client(running.url, role) for role in ("admin", "publisher", "subscriber")}
        with pytest.raises(Exception, match="requires a key of role admin"):
            clients["publisher"].set_schema(FORM)
        assert clients["subscriber"].schema() is None
        clients["admin"].set_schema(FORM)
        with pytest.raises(Exception, match="requires a key of role publisher"):
            clients["subscriber"].extend_schema(LAMPS)
        assert clients["publisher"].extend_schema(LAMPS) == clients["subscriber"].schema()
        clients["admin"].set_schema(None)
        assert clients["subscriber"].schema() is None
        for client in clients.values():
            client.close()
