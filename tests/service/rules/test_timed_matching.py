"""No rule and no event keeps others waiting: costly rules are suspended, and say so."""

import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from matchwood.match.store.part_store import PartStore
from matchwood.matcher import Matcher
from matchwood.service.rules.timed_matching import (
    MatchTimeout,
    Suspension,
    TimedEvent,
    TimedMatching,
)
from matchwood.service.settings import Limits
from service.serving import Served, served, settings_in

LIMITS = {"match_seconds": 0.2, "rule_seconds": 0.1}
# Patterns without a rare part, and strings that almost match all of them: over a second when they
# are compiled, many seconds when they are evaluated.
COSTLY = " or ".join(
    f"words like '%{a}%{b}%{c}%{d}%z'"
    for a, b, c, d in itertools.product("abcdefgq", "abcdef", "abcd", "abcd")
)
RANDOM = random.Random(1)
WORDS = ["".join(RANDOM.choices("abcdefgq", k=14)) for _ in range(6_000)]
EVENT = {"words": WORDS, "big": 1}


@pytest.fixture
def timed(tmp_path) -> Iterator[Served]:
    with served(settings_in(tmp_path, limits=LIMITS)) as running:
        yield running


def until_suspended(service: Served, path: str, headers: dict[str, str]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while True:
        found: dict[str, Any] = service.http.get(path, headers=headers).json()
        if found["suspended"]:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


@pytest.mark.slow
def test_a_costly_rule_is_suspended_and_the_others_are_matched(timed: Served, tmp_path) -> None:
    plain = timed.subscribe("big = 1")
    costly = timed.subscribe(COSTLY)
    slowest = 0.0
    ended = threading.Event()

    def others() -> None:
        nonlocal slowest
        with httpx.Client(base_url=timed.url, timeout=60) as http:
            while not ended.is_set():
                began = time.monotonic()
                assert http.post("/events", json={"plain": 1}).status_code == 202
                slowest = max(slowest, time.monotonic() - began)

    beside = threading.Thread(target=others)
    beside.start()
    answer = timed.http.post("/events", json=EVENT, timeout=120)
    assert answer.status_code == 202, answer.text
    assert answer.json()["matched"] == 1
    path, headers = f"/subscriptions/{costly['id']}", timed.as_subscriber(costly)
    shown = until_suspended(timed, path, headers)
    ended.set()
    beside.join()
    assert slowest < 10  # on a busy machine: others were not held up
    assert "over 0.1 s of processor time with one event" in shown["suspended"]
    assert timed.http.get("/status").json()["suspended_subscriptions"] == 1
    assert "matchwood_suspended_subscriptions 1.0" in timed.http.get("/metrics").text
    assert timed.publish(EVENT)["matched"] == 1
    batch = timed.publish([{"words": "abcdz"}] * 3 + [EVENT, {"big": 1}])["results"]
    assert [one["matched"] for one in batch] == [0, 0, 0, 1, 1]
    assert len(timed.fetch(plain)) == 4
    changed = timed.http.patch(path, json={"rule": "words is not null"}, headers=headers).json()
    assert changed["suspended"] is None
    assert timed.publish({"words": "x"})["matched"] == 1


@pytest.mark.slow
def test_operators_do_not_count_and_switch_no_limit_off(tmp_path) -> None:
    """One rule that called an operator left every rule of the store without a limit."""
    settings = settings_in(tmp_path, limits=LIMITS, operators="service.boats")
    event = {"words": WORDS[:2_500], "image": "boat"}
    with served(settings) as running:
        counted = running.subscribe("counted_boats(image)")
        running.http.put("/rules/seen", json={"rule": "boats(image, ?n)"}).raise_for_status()
        running.http.put("/rules/counted", json={"rule": "counted_boats(image)"}).raise_for_status()
        costly = running.subscribe(f"{COSTLY} or counted_boats(image)")
        running.http.put("/rules/costly", json={"rule": COSTLY}).raise_for_status()
        for _ in range(2):
            running.publish(event)
            found = running.http.post("/match", json={"event": event}, timeout=120).json()
            until_suspended(
                running, f"/subscriptions/{costly['id']}", running.as_subscriber(costly)
            )
            until_suspended(running, "/rules/costly", {})
        matches = {one["id"]: one["bindings"] for one in found["results"][0]["matches"]}
        assert matches == {"seen": [{"n": 4}], "counted": None}
        path = f"/subscriptions/{counted['id']}"
        shown = running.http.get(path, headers=running.as_subscriber(counted)).json()
        assert shown["suspended"] is None  # though each call takes longer than a rule may
        assert len(running.fetch(counted)) == 2
        assert running.http.get("/status").json()["suspended_subscriptions"] == 1


@pytest.mark.slow
def test_a_costly_event_is_found_among_many_that_are_not_large(tmp_path) -> None:
    """Such a batch of `/match` was not timed, and one of `/events` by the mean of its events."""
    limits = {"match_seconds": 0.05, "rule_seconds": 0.02}
    event = {"words": WORDS[:850]}
    assert 1_024 < len(json.dumps(event)) < 16 << 10
    events = [*[{"words": "abcdz"}] * 50, event]
    with served(settings_in(tmp_path, limits=limits)) as running:
        costly = running.subscribe(COSTLY)
        running.http.put("/rules/costly", json={"rule": COSTLY}).raise_for_status()
        running.http.put("/rules/plain", json={"rule": "words is not null"}).raise_for_status()
        running.publish(events)
        asked = {"events": events}
        results = running.http.post("/match", json=asked, timeout=120).json()["results"]
        assert [len(one["matches"]) for one in results] == [2] * 50 + [1]
        until_suspended(running, "/rules/costly", {})
        until_suspended(running, f"/subscriptions/{costly['id']}", running.as_subscriber(costly))
        results = running.http.post("/match", json=asked, timeout=120).json()["results"]
        assert [[match["id"] for match in one["matches"]] for one in results] == [["plain"]] * 51


def test_what_python_evaluates_is_interrupted(tmp_path) -> None:
    """Comparisons of attributes are evaluated on demand, and the time is checked between them."""
    limits = {"match_seconds": 0.002, "rule_seconds": 0.002}
    names = [f"other{n}" for n in range(2_000)]
    rule = " or ".join(f"contains(words, {name})" for name in names)
    event = {"words": WORDS[:100], "big": 1, **dict.fromkeys(names, "absent")}
    with served(settings_in(tmp_path, limits=limits)) as running:
        plain = running.subscribe("big = 1")
        costly = running.subscribe(rule)
        index = running.service.index
        with pytest.raises(MatchTimeout):
            index.matcher.store.snapshot.match(TimedEvent(event, None, 0.002))
        assert running.publish(event)["matched"] == 1
        path, headers = f"/subscriptions/{costly['id']}", running.as_subscriber(costly)
        assert running.http.get(path, headers=headers).json()["suspended"]
        assert len(running.fetch(plain)) == 1


def test_what_is_inside_any_is_interrupted_and_so_are_explanations(timed: Served) -> None:
    indexed = f"any(words, {COSTLY.replace('words', 'it')})"
    # A threshold is evaluated as a whole, element by element.
    inside = f"any(words, at_least(1, {COSTLY.replace('words', 'it')}))"
    costly = timed.subscribe(inside)
    short = {"words": WORDS[:100]}  # too small for a large event, large enough to take long
    for event, matched in ((short, "words is not null"), (EVENT, "big = 1"), (EVENT, "big = 1")):
        plain = timed.subscribe(matched)
        assert timed.publish(event)["matched"] == 1
        assert len(timed.fetch(plain)) == 1
        path, headers = f"/subscriptions/{costly['id']}", timed.as_subscriber(costly)
        until_suspended(timed, path, headers)
        then = inside if event is short else indexed
        timed.http.patch(path, json={"rule": then}, headers=headers).raise_for_status()
        timed.http.delete(f"/subscriptions/{plain['id']}", headers=timed.as_subscriber(plain))
    timed.http.put("/rules/costly", json={"rule": COSTLY}).raise_for_status()
    for path, body in (
        ("/explain", {"rule": inside, "event": EVENT}),
        ("/explain", {"rule": COSTLY, "event": EVENT}),
        ("/match", {"event": EVENT, "why_not": 5}),
        ("/match", {"events": [{"big": 1}, EVENT], "why_not": 5}),
    ):
        answer = timed.http.post(path, json=body)
        assert answer.status_code == 503, answer.text
        assert "could not be explained within 0.2 s" in answer.json()["detail"]


def test_an_event_that_no_single_rule_makes_costly_is_refused(tmp_path) -> None:
    limits = {"match_seconds": 0.0001, "rule_seconds": 10.0}
    names = [f"other{n}" for n in range(200)]
    event = {"words": WORDS[:2_000], **dict.fromkeys(names, "absent")}
    with served(settings_in(tmp_path, limits=limits)) as running:
        running.subscribe(" or ".join(f"contains(words, {name})" for name in names))
        answer = running.http.post("/events", json=event)
        assert (answer.status_code, answer.json()["type"]) == (
            503,
            "urn:matchwood:problem:matching-timeout",
        )
        assert running.publish({"small": 1})["matched"] == 0


@pytest.mark.slow
def test_suspensions_outlive_a_restart(tmp_path) -> None:
    with served(settings_in(tmp_path, limits=LIMITS)) as running:
        costly = running.subscribe(COSTLY)
        running.http.put("/rules/costly", json={"rule": COSTLY, "tags": ["t"]})
        running.http.put("/rules/plain", json={"rule": "big = 1"})
        running.publish(EVENT)
        matched = running.http.post("/match", json={"event": EVENT}, timeout=120).json()
        assert [one["id"] for one in matched["results"][0]["matches"]] == ["plain"]
        until_suspended(running, f"/subscriptions/{costly['id']}", running.as_subscriber(costly))
        until_suspended(running, "/rules/costly", {})
    with served(settings_in(tmp_path, limits=LIMITS)) as running:
        headers = running.as_subscriber(costly)
        path = f"/subscriptions/{costly['id']}"
        assert running.http.get(path, headers=headers).json()["suspended"]
        assert running.publish({"words": "abcdz"})["matched"] == 0
        assert running.http.get("/rules/costly").json()["suspended"]
        event = {"event": {"words": "abcdz"}}
        assert running.http.post("/match", json=event).json()["results"][0]["matches"] == []
        stored = running.http.put("/rules/costly", json={"rule": "words is not null"})
        assert stored.status_code == 200  # it is not new
        assert len(running.http.post("/match", json=event).json()["results"][0]["matches"]) == 1
        assert running.http.get("/rules/costly").json()["suspended"] is None


def test_suspended_rules_can_be_deleted_and_replaced(timed: Served) -> None:
    rules = timed.service.rules
    for name in ("a", "b", "c"):
        timed.http.put(f"/rules/{name}", json={"rule": "x = 1"})
    rules.suspend([(name, "a test") for name in ("a", "b")])  # type: ignore[misc]
    assert timed.http.delete("/rules/a").status_code == 200
    assert timed.http.get("/rules/a").status_code == 404
    upload = [{"id": name, "rule": "x = 1"} for name in ("b", "c")]
    replaced = timed.http.put("/rules", json=upload).json()
    assert (replaced["added"], replaced["changed"], replaced["removed"]) == (0, 1, 0)
    found = timed.http.post("/match", json={"event": {"x": 1}}).json()["results"][0]["matches"]
    assert sorted(one["id"] for one in found) == ["b", "c"]


def test_rules_are_suspended_while_others_are_set(timed: Served) -> None:
    """A change waits for a suspension or the other way round, but never each for the other."""
    service = timed.service
    timed.http.put("/rules/costly", json={"rule": "x = 1"}).raise_for_status()
    begin = threading.Event()

    def suspend() -> None:
        assert begin.wait(30)
        service.rules.suspend([Suspension("costly", "a test")])

    # What suspends are the threads that match: all of them are busy with it.
    suspending = [service.threads.submit(suspend) for _ in range(service.threads._max_workers)]
    changes: list[tuple[Callable[..., httpx.Response], str, Any]] = [
        (timed.http.put, "/rules/other", {"json": {"rule": "y = 1"}}),
        (timed.http.delete, "/rules/other", {}),
        (timed.http.put, "/rules", {"json": [{"id": "new", "rule": "z = 1"}]}),
    ]
    changed = [threading.Thread(target=do, args=(path,), kwargs=more) for do, path, more in changes]
    for thread in changed:
        thread.start()
    deadline = time.monotonic() + 30
    while not service.rules._in_order.locked():
        assert time.monotonic() < deadline
    begin.set()
    for future in suspending:
        future.result(30)
    for thread in changed:
        thread.join(30)
    assert not any(thread.is_alive() for thread in changed)


def test_a_search_for_costly_rules_waits_for_no_suspension() -> None:
    """Whoever waits for the search may hold what the suspension needs."""
    timed = TimedMatching(Limits(rule_seconds=1e-9), {})
    matcher = Matcher({"costly": "contains(words, 'x')"})
    event = {"words": "y" * 100}
    suspended = []

    def suspend(suspensions: list[Suspension]) -> None:
        suspended.append(suspensions[0].id)
        if len(suspended) == 1:
            other = threading.Thread(target=timed._search, args=(matcher.store.snapshot, event))
            other.start()
            other.join(30)
            assert not other.is_alive()

    timed.suspend = suspend
    timed._search(matcher.store.snapshot, event)
    assert suspended == ["costly", "costly"]
    timed.close()


def test_new_rules_are_built_before_a_large_event(timed: Served, monkeypatch) -> None:
    """Evaluating these patterns one by one for each string took over a minute."""
    built: list[int] = []
    build = PartStore.built

    def built_now(store: PartStore) -> Any:
        built.append(len(store.snapshot.pending))
        return build(store)

    monkeypatch.setattr(PartStore, "built", built_now)
    short = "words like '%a%b%c%d%' or words like '%e%f%g%h%'"
    for _ in range(5):
        timed.subscribe(short)
    timed.subscribe(" or ".join(f"words like '%x{n}%y%z%'" for n in range(1_000)))
    began = time.monotonic()
    timed.publish({"words": WORDS})
    assert time.monotonic() - began < 60
    assert built == [5]  # the long rule was built before it was live
    timed.publish({"words": "small"})
    assert built == [5]
