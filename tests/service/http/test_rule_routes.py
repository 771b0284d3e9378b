"""Rules over HTTP: one by one, all at once, and matching."""

import json

import pytest

from matchwood.client import Client
from matchwood.service.http import rule_uploads
from service.serving import Served, served, settings_in


@pytest.fixture(autouse=True)
def _no_rules(service: Served) -> None:
    assert service.http.put("/rules", json=[]).status_code == 200


def test_a_rule_is_set_read_matched_and_deleted(service: Served) -> None:
    http = service.http
    made = http.put("/rules/adults", json={"rule": "age >= 18", "tags": ["eu"], "priority": 2})
    assert made.status_code == 201
    shown = {"id": "adults", "rule": "age >= 18", "tags": ["eu"], "priority": 2.0}
    shown |= {"data": None, "suspended": None}
    assert made.json()["rule"] == shown
    assert http.get("/rules/adults").json() == shown
    found = http.post("/match", json={"event": {"age": 20}}).json()
    assert [one["id"] for one in found["results"][0]["matches"]] == ["adults"]
    assert found["version"] == made.json()["version"]
    again = http.put("/rules/adults", json={"rule": "age >= 21"})
    assert (again.status_code, again.json()["version"]) == (200, found["version"] + 1)
    assert http.post("/match", json={"event": {"age": 20}}).json()["results"][0]["matches"] == []
    assert http.delete("/rules/adults").json() == {"version": found["version"] + 2}
    assert http.get("/rules/adults").status_code == 404
    assert http.delete("/rules/adults").status_code == 404


def test_an_upload_replaces_all_and_tells_the_difference(service: Served) -> None:
    http = service.http
    first = [{"id": name, "rule": f"x = '{name}'"} for name in "abc"]
    before = http.put("/rules", json=first).json()
    lines = [{"id": "b", "rule": "x = 'b'"}, {"id": "c", "rule": "y = 1"}, {"id": "d", "rule": "z"}]
    body = "\n".join(map(json.dumps, lines))
    headers = {"Content-Type": "application/x-ndjson"}
    dry = http.put("/rules?dry_run=true", content=body, headers=headers).json()
    assert dry["version"] == before["version"]
    answer = http.put("/rules", content=body, headers=headers).json()
    assert answer["ids"] == {"added": ["d"], "changed": ["c"], "removed": ["a"]} == dry["ids"]
    assert answer["version"] == before["version"] + 1 == answer["previous"] + 1
    listed = http.get("/rules").json()
    assert [rule["id"] for rule in listed["rules"]] == ["b", "c", "d"]
    latest = http.get("/rules/versions?limit=1").json()["versions"][0]
    assert (latest["version"], latest["added"]) == (answer["version"], 1)


def test_a_bad_rule_in_an_upload_changes_nothing(service: Served) -> None:
    http = service.http
    http.put("/rules", json=[{"id": "a", "rule": "x = 1"}])
    answer = http.put("/rules", json=[{"id": "b", "rule": "x = 1"}, {"id": "c", "rule": "x ="}])
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:matchwood:problem:invalid-rule"
    assert [one["id"] for one in answer.json()["errors"]] == ["c"]
    assert [rule["id"] for rule in http.get("/rules").json()["rules"]] == ["a"]


def test_a_change_of_rules_that_others_have_changed_is_refused(service: Served) -> None:
    http = service.http
    version = http.put("/rules/a", json={"rule": "x = 1"}).json()["version"]
    old = {"If-Match": f'"{version - 1}"'}
    assert http.put("/rules/a", json={"rule": "x = 2"}, headers=old).status_code == 412
    assert http.put("/rules", json=[], headers=old).status_code == 412
    assert http.delete("/rules/a", headers=old).status_code == 412
    assert http.delete("/rules/a", headers={"If-Match": str(version)}).status_code == 200


def test_matches_have_tags_limits_explanations_and_near_misses(service: Served) -> None:
    http = service.http
    rules = [
        {"id": "low", "rule": "a = 1", "priority": 1},
        {"id": "high", "rule": "a = 1", "priority": 9, "tags": ["t"]},
        {"id": "near", "rule": "a = 1 and b = 2", "tags": ["t"]},
    ]
    http.put("/rules", json=rules)
    asked = {"event": {"a": 1}, "limit": 1, "explain": True, "why_not": 1}
    result = http.post("/match", json=asked).json()["results"][0]
    assert [one["id"] for one in result["matches"]] == ["high"]
    assert result["matches"][0]["explanation"]["truth"] == "true"
    assert result["near"] == [{"id": "near", "lacked": ["b = 2"]}]
    batch = {"events": [{"a": 1}, {"a": 2}] * 5, "tags": ["t"]}
    results = http.post("/match", json=batch).json()["results"]
    ids = [[match["id"] for match in one["matches"]] for one in results]
    assert ids == [["high"], []] * 5


def test_pages_follow_each_other(service: Served) -> None:
    http = service.http
    http.put("/rules", json=[{"id": f"r{n}", "rule": f"x = {n}"} for n in range(7)])
    seen, after = [], ""
    while after is not None:
        page = http.get("/rules", params={"after": after, "limit": 3}).json()
        seen += [rule["id"] for rule in page["rules"]]
        after = page["next"]
    assert seen == [f"r{n}" for n in range(7)]
    found = http.get("/rules", params={"search": "x = 5"}).json()["rules"]
    assert [rule["id"] for rule in found] == ["r5"]


def test_rules_are_there_after_a_restart(tmp_path) -> None:
    with served(settings_in(tmp_path)) as running:
        running.http.put("/rules", json=[{"id": "a", "rule": "x = 1", "tags": ["t"]}])
        running.http.put("/rules/b", json={"rule": "x = 1", "priority": 3})
    for _ in range(2):  # the second time without its snapshot
        with served(settings_in(tmp_path)) as running:
            found = running.http.post("/match", json={"event": {"x": 1}}).json()
            matches = found["results"][0]["matches"]
            ids = {(one["id"], *one["tags"], one["priority"]) for one in matches}
            assert ids == {("a", "t", 0.0), ("b", 3.0)}
            assert found["version"] == 2
        snapshots = list(tmp_path.glob("rules-*.mw"))
        assert len(snapshots) == 1
        snapshots[0].unlink()


def test_a_rule_is_checked_and_explained(service: Served) -> None:
    http = service.http
    good = http.post("/check", json={"rule": "age >=18 and (tier='gold')"}).json()
    assert good["text"] == "age >= 18 and tier = 'gold'"
    assert good["attributes"] == ["age", "tier"]
    bad = http.post("/check", json={"rule": "age >= "}).json()
    assert (bad["valid"], bad["error"]["column"]) == (False, 8)
    why = http.post("/explain", json={"rule": "age >= 18", "event": {"age": 3}}).json()
    assert why["truth"] == "false"
    assert http.post("/explain", json={"rule": "age >", "event": {}}).status_code == 422


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a"},
        {"id": "", "rule": "x"},
        {"id": 3, "rule": "x"},
        {"id": "\0", "rule": "x"},
        {"id": "\ud800", "rule": "x"},
        {"id": "a", "rule": "x = '\ud800'"},
        {"id": "a", "rule": "x", "tags": "t"},
        {"id": "a", "rule": "x", "tags": ["\ud800"]},
        {"id": "a", "rule": "x", "priority": "high"},
        {"id": "a", "rule": "x", "priority": True},
        {"id": "a", "rule": "x", "typo": 1},
        {"id": "twice", "rule": "x"},
        "text",
    ],
)
def test_rows_of_an_upload_that_make_no_sense_are_named(service: Served, row: object) -> None:
    rows = [{"id": "twice", "rule": "y"}, row]
    answer = service.http.put("/rules", content=json.dumps(rows))
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == "urn:matchwood:problem:invalid-rule"
    assert len(answer.json()["errors"]) == 1


def test_an_upload_of_bad_rules_is_given_up(service: Served, monkeypatch) -> None:
    monkeypatch.setattr(rule_uploads, "MOST_INVALID", 5)
    body = json.dumps([{"id": "good", "rule": "x"}, *range(20)])
    for content in (body, body + "never read"):
        answer = service.http.put("/rules", content=content).json()
        assert answer["detail"] == "5 of the first 6 rules are invalid; nothing was changed"
        assert [error["line"] for error in answer["errors"]] == [2, 3, 4, 5, 6]


def test_a_list_of_rules_is_one_list(service: Served) -> None:
    rule = '{"id": "a", "rule": "x"}'
    for body in (f"[{rule}] x", f"[{rule},]", f"[{rule} {rule}]", f"[{rule}", rule, "[" * 5_000):
        answer = service.http.put("/rules", content=body)
        assert answer.status_code == 400, body[:60]
        assert answer.json()["detail"].startswith("the upload cannot be read: ")
    for body in (f" [ {rule} ]\n", f"[{rule}]".encode("utf-16")):
        assert service.http.put("/rules", content=body).status_code == 200
    assert service.http.put("/rules", content=" [ ] ").json()["removed"] == 1


def test_a_priority_that_is_no_number_of_json_is_refused(service: Served) -> None:
    for number in ("1e999", "NaN", "1" + "0" * 400):
        body = '[{"id": "a", "rule": "x", "priority": ' + number + "}]"
        assert service.http.put("/rules", content=body).status_code in (400, 422)


def test_rules_of_any_id_can_be_reached(service: Served) -> None:
    ids = ["versions", "..", ".", "a\nb", "a/b", "/", "../x", "a?b#c", "%2e%2e", "rule", "é ", "+"]
    service.http.put("/rules", json=[]).raise_for_status()
    with Client(service.url) as client:
        for number, rule_id in enumerate(ids):
            client.rules[rule_id] = f"n = {number}"
        assert sorted(client.rules) == sorted(ids)
        for number, rule_id in enumerate(ids):
            assert client.rules.details(rule_id).rule == f"n = {number}"
            assert client.match({"n": number}) == [rule_id]
            del client.rules[rule_id]
            with pytest.raises(KeyError):
                client.rules.details(rule_id)
        assert len(client.rules) == 0


WHOLE_LANGUAGE = {
    "not-true": "(a > 1 or b) is not true",
    "patterns": "p ilike any ('%.exe', '%.dll')",
    "any": "any(items, price > 10 and sku = 'x')",
    "every": "every(scores, it > 3)",
    "everything": "* ilike '%MIMI%'",
    "lower": "lower(name) = 'ann'",
    "at-least": "at_least(2, a > 0, name = 'Ann', c is not null)",
    "sum": "a * 2 > 3 * d",
    "families": "a in (1, 'x')",
}


def test_rules_of_the_whole_language(service: Served) -> None:
    http = service.http
    event = {
        "a": 1,
        "d": 0.5,
        "p": "c:\\mimi.EXE",
        "name": "Ann",
        "items": [{"price": 12, "sku": "x"}],
        "scores": [4, 5],
    }
    for rule_id, rule in WHOLE_LANGUAGE.items():
        assert http.put(f"/rules/{rule_id}", json={"rule": rule}).status_code in (200, 201)
        why = http.post("/explain", json={"rule": rule, "event": event}).json()
        assert why["truth"] == "true", rule
    found = http.post("/match", json={"event": event, "explain": True}).json()["results"][0]
    matches = {one["id"] for one in found["matches"]}
    assert matches & set(WHOLE_LANGUAGE) == set(WHOLE_LANGUAGE)


def test_a_rule_with_a_list_that_is_not_there(service: Served) -> None:
    refused = service.http.put("/rules/listed", json={"rule": "ip in list 'tor'"})
    assert refused.status_code == 422
    assert "no list is named 'tor'" in refused.text
