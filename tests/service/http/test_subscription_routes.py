"""Subscriptions over HTTP: who may touch them, and when events match them."""

import json
import time

import pytest

from matchwood.service.http import bulk_routes
from service.serving import Served, served, settings_in


def test_a_ticket_is_needed_to_read_change_renew_and_cancel(service: Served) -> None:
    made = service.subscribe("a = 1")
    path = f"/subscriptions/{made['id']}"
    requests = [
        ("GET", path, None),
        ("PATCH", path, {"rule": "a = 2"}),
        ("POST", f"{path}/renew", {}),
        ("POST", f"{path}/ack", {"event": 1}),
        ("GET", f"{path}/dead-letters", None),
        ("DELETE", path, None),
    ]
    other = service.subscribe("a = 1")
    for method, url, body in requests:
        assert service.http.request(method, url, json=body).status_code == 401
        for wrong in ("x", made["ticket"][:-1], other["ticket"]):
            headers = {"Authorization": f"Bearer {wrong}"}
            answer = service.http.request(method, url, json=body, headers=headers)
            assert answer.json()["type"] == "urn:matchwood:problem:forbidden"
    own = service.as_subscriber(made)
    for method, url, body in requests:
        answer = service.http.request(method, url, json=body, headers=own)
        assert answer.status_code in (200, 204), answer.text
    assert service.http.get(path, headers=own).status_code == 403  # it is gone


def test_only_a_hash_of_the_ticket_is_kept(service: Served) -> None:
    made = service.subscribe("a = 1")
    database = service.service.settings.data / "matchwood.db"
    kept = b"".join(path.read_bytes() for path in database.parent.glob("matchwood.db*"))
    assert b"a = 1" in kept
    assert made["ticket"].encode() not in kept


def test_a_changed_rule_matches_and_a_cancelled_one_does_not(service: Served) -> None:
    made = service.subscribe("change = 1")
    headers = service.as_subscriber(made)
    path = f"/subscriptions/{made['id']}"
    assert service.publish({"change": 1})["matched"] == 1
    changed = service.http.patch(path, json={"rule": "change = 2"}, headers=headers)
    assert changed.json()["rule"] == "change = 2"
    assert service.publish({"change": 1})["matched"] == 0
    assert service.publish({"change": 2})["matched"] == 1
    bad = service.http.patch(path, json={"rule": "change ="}, headers=headers)
    assert bad.json()["error"]["column"] == 9
    assert len(service.fetch(made)) == 2
    assert service.http.delete(path, headers=headers).status_code == 204
    assert service.publish({"change": 2})["matched"] == 0


def test_it_expires_on_time_unless_it_is_renewed(service: Served) -> None:
    short = service.subscribe("expiry = 1", validity=0.6)
    kept = service.subscribe("expiry = 1", validity=0.6)
    path = f"/subscriptions/{kept['id']}/renew"
    renewed = service.http.post(path, json={"validity": 60}, headers=service.as_subscriber(kept))
    assert renewed.json()["expires"] > kept["expires"]
    assert service.publish({"expiry": 1})["matched"] == 2
    time.sleep(0.65)
    assert service.publish({"expiry": 1})["matched"] == 1  # at once, before anything is removed
    gone = service.http.get(f"/subscriptions/{short['id']}", headers=service.as_subscriber(short))
    assert gone.status_code == 403
    time.sleep(0.5)
    assert int(short["id"][1:]) not in service.service.index.matcher


def test_many_come_as_lines_and_bad_ones_are_told(service: Served) -> None:
    lines = [json.dumps({"rule": f"bulk = {n % 10}", "subscriber": f"b{n}"}) for n in range(6_000)]
    lines[3] = '{"rule": "bulk =", "subscriber": "x"}'
    lines[4] = "not json"
    lines[5] = '{"rule": "bulk = 1"}'
    headers = {"Content-Type": "application/x-ndjson"}
    answer = service.http.post("/subscriptions/bulk", content="\n".join(lines), headers=headers)
    assert answer.status_code == 200
    *told, last = [json.loads(line) for line in answer.text.splitlines()]
    assert last == {"accepted": 5_997, "rejected": 3}
    assert [one["line"] for one in told] == list(range(1, 6_001))
    kinds = [one["problem"]["type"].rpartition(":")[2] for one in told[3:6]]
    assert kinds == ["invalid-rule", "bad-request", "invalid-request"]
    assert service.publish({"bulk": 0})["matched"] == 600
    assert service.fetch(told[10], limit=1)[0]["event"] == {"bulk": 0}


def test_an_upload_of_bad_lines_is_given_up(service: Served, monkeypatch) -> None:
    """A small body unfolds to any number of lines, and each is told why it is bad."""
    monkeypatch.setattr(bulk_routes, "MOST_REJECTED", 10)
    monkeypatch.setattr(bulk_routes, "LINES_AT_ONCE", 8)
    body = "\n".join(['{"rule": "given_up = 1", "subscriber": "x"}'] + ["1"] * 100)
    headers = {"Content-Type": "application/x-ndjson"}
    answer = service.http.post("/subscriptions/bulk", content=body, headers=headers)
    *told, last = [json.loads(line) for line in answer.text.splitlines()]
    assert last == {"accepted": 1, "rejected": 15, "stopped_after": 16}
    assert [one["line"] for one in told] == list(range(1, 17))
    assert service.publish({"given_up": 1})["matched"] == 1


def test_the_largest_rule_with_the_largest_data_fits_into_a_line(service: Served) -> None:
    limits = service.service.settings.limits
    most = limits.rule_bytes
    longest = bulk_routes.longest_line(limits)
    escaped = "\\u0061"  # six bytes for one
    rule = "long = '" + escaped * (most - len("long = ''")) + "'"
    data = escaped * (most - len('""'))
    line = f'{{"rule": "{rule}", "subscriber": "x", "data": "{data}"}}'
    larger = line.replace(data, data + escaped)
    spaced = line + " " * (longest + 1 - len(line))
    headers = {"Content-Type": "application/x-ndjson"}
    body = "\n".join((line, larger, spaced, spaced[:-1]))
    answer = service.http.post("/subscriptions/bulk", content=body, headers=headers)
    told = [json.loads(text) for text in answer.text.splitlines()]
    assert told[-1] == {"accepted": 2, "rejected": 2}
    assert {"id", "ticket"} <= set(told[0])
    assert {"id", "ticket"} <= set(told[3])
    for refused, limit in ((told[1], most), (told[2], longest)):
        assert refused["problem"]["limit"] == limit
        assert f"{limit:,} bytes" in refused["problem"]["detail"]
    assert service.publish({"long": "a" * (most - len("long = ''"))})["matched"] == 2


def test_administrators_see_pages_of_them(service: Served) -> None:
    made = [service.subscribe(f"page = {n}", subscriber=f"pager {n}") for n in range(5)]
    seen, after = [], ""
    while after is not None:
        asked = {"search": "PAGER", "limit": 2, "after": after}
        page = service.http.get("/subscriptions", params=asked).json()
        seen += [one["id"] for one in page["subscriptions"]]
        after = page["next"]
    assert seen == [one["id"] for one in made]
    assert "ticket" not in page["subscriptions"][0]


@pytest.mark.parametrize("with_snapshot", [True, False])
def test_a_restart_finds_those_that_are_there(tmp_path, with_snapshot: bool) -> None:
    with served(settings_in(tmp_path)) as running:
        made = [running.subscribe(f"n = {n}") for n in range(5)]
        running.http.delete(
            f"/subscriptions/{made[0]['id']}", headers=running.as_subscriber(made[0])
        )
    assert len(list(tmp_path.glob("subscriptions-*.mw"))) == 1
    if not with_snapshot:
        for path in tmp_path.glob("*.mw"):
            path.unlink()
    with served(settings_in(tmp_path)) as running:
        assert [running.publish({"n": n})["matched"] for n in range(5)] == [0, 1, 1, 1, 1]
        later = running.subscribe("n = 0")
        assert int(later["id"][1:]) == 6
        assert running.publish({"n": 0})["matched"] == 1
