"""Small events are matched at once, with the same answers, and only if that cannot take long."""

import gc
import json
import random
import weakref
from typing import Any

import pytest

from matchwood.kernels.readiness import wait_for_kernels
from matchwood.language import evaluate, parse
from matchwood.language.events import Event
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.matcher import Matcher
from matchwood.service.problems import RequestProblem
from matchwood.service.rules import quick_matching
from matchwood.service.rules.quick_matching import MOST_IN_VAIN, QUICK_BYTES, QuickMatching
from matchwood.service.rules.written_rules import WrittenRules
from service.serving import Served

FORMS = ("a = {}", "b > {}", "a in ({}, 7)", "s like '%{}%'", "not (a = {}) and b < 4")


def prepared(matcher: Matcher) -> bool:
    quick = QuickMatching()
    snapshot = matcher.store.built()
    quick.prepare(snapshot)
    return quick.allows(snapshot, 10)


def test_only_what_is_bounded_is_matched_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_kernels()
    plain = Matcher({n: f"a = {n}" for n in range(10)})
    assert prepared(plain)
    assert not prepared(Matcher())
    assert not prepared(Matcher({1: "a = b"}))  # is evaluated on demand
    assert not prepared(Matcher({1: "any(list, x = 1)"}))
    assert not prepared(Matcher({1: "a = 1", 2: "s rlike 'a{900}'"}))  # which may be as large
    patterns = Matcher({n: f"s like '%{n}%x'" for n in range(10)})
    assert prepared(patterns)
    (part,) = patterns.store.snapshot.parts  # no event makes them on the event loop
    assert all(index._built is not None for index in part.matcher.patterns.values())
    monkeypatch.setattr(quick_matching, "MOST_PATTERNS", 9)
    assert not prepared(patterns)
    monkeypatch.setattr(quick_matching, "MOST_VISITED", 9)
    assert not prepared(plain)


def test_other_rules_have_to_be_matched_by_a_thread_first() -> None:
    wait_for_kernels()
    matcher = Matcher({n: f"a = {n}" for n in range(10)})
    quick, snapshot = QuickMatching(), matcher.store.built()
    assert not quick.allows(snapshot, 10)
    quick.prepare(snapshot)
    assert quick.allows(snapshot, QUICK_BYTES - 1)
    assert not quick.allows(snapshot, QUICK_BYTES)
    matcher.add(10, "a = 10")
    assert not quick.allows(matcher.store.snapshot, 10)


def test_threads_get_all_events_after_one_that_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_kernels()
    now = 1_000.0
    monkeypatch.setattr(quick_matching, "monotonic", lambda: now)
    snapshot = Matcher({1: "a = 1"}).store.built()
    took, in_vain = QuickMatching.took, QuickMatching.in_vain
    for disappoint, times, seconds in (
        (lambda quick: took(quick, 0.02), 1, quick_matching.STALL_PAUSE),
        (lambda quick: took(quick, 0.004), 9, quick_matching.PAUSE),
        (in_vain, MOST_IN_VAIN, quick_matching.PAUSE),
    ):
        quick = QuickMatching()
        quick.prepare(snapshot)
        for _ in range(times):
            assert quick.allows(snapshot, 10)
            disappoint(quick)
        assert not quick.allows(snapshot, 10)
        now += seconds
        assert quick.allows(snapshot, 10)


def test_answers_are_the_same_at_once_from_a_thread_and_in_a_batch(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_kernels()
    draw = random.Random(5)
    live = service.service.live_rules
    at_once = live.match_quickly
    found: list[bool] = []

    def counted(*asked: Any) -> Any:
        told = at_once(*asked)
        found.append(told is not None)
        return told

    def ids(body: dict[str, Any]) -> list[list[tuple[str, Any]]]:
        answer = service.http.post("/match", json=body).raise_for_status().json()
        return [[(one["id"], one["data"]) for one in of["matches"]] for of in answer["results"]]

    for _ in range(3):  # each time with other rules
        rules = {str(n): draw.choice(FORMS).format(draw.randrange(5)) for n in range(60)}
        rows = [
            {"id": name, "rule": rule, "priority": int(name), "data": draw.randrange(9)}
            for name, rule in rules.items()
        ]
        service.http.put("/rules", json=rows).raise_for_status()
        data = {row["id"]: row["data"] for row in rows}
        events = [
            {"a": draw.randrange(8), "b": draw.randrange(6), "s": str(draw.randrange(60))}
            for _ in range(12)
        ]
        trees = {name: parse(rule) for name, rule in rules.items()}
        for limit in (None, 3):
            expected = []
            for event in events:
                true = [n for n, tree in trees.items() if evaluate(tree, Event(event)) is True]
                best = sorted(true, key=int, reverse=True)[:limit]
                expected.append([(name, data[name]) for name in best])
            monkeypatch.setattr(live, "match_quickly", lambda *asked: None)
            threaded = [ids({"event": event, "limit": limit})[0] for event in events]
            monkeypatch.setattr(live, "match_quickly", counted)
            found.clear()
            quickly = [ids({"event": event, "limit": limit})[0] for event in events]
            assert all(found), found
            together = ids({"events": events, "limit": limit})
            for told in (threaded, quickly, together):
                if limit is None:
                    told = [sorted(one, key=lambda pair: -int(pair[0])) for one in told]
                assert told == expected, json.dumps(events)
    service.http.put("/rules", json=[]).raise_for_status()


def test_an_answer_that_gets_too_large_is_refused_before_all_of_it_is_written() -> None:
    written = []

    def write(rule: RuleDetails) -> bytes:
        written.append(rule.id)
        return b"x" * 100

    matcher = Matcher(dict.fromkeys(range(1000), "a = 1"))
    snapshot = matcher.store.built()
    for ask in (
        lambda rules: rules.texts(range(1_000)),
        lambda rules: rules.texts_at(snapshot, snapshot.ids().values, range(1_000)),
    ):
        written.clear()
        with pytest.raises(RequestProblem, match="over 1,000 bytes"):
            ask(WrittenRules(matcher, write, 1_000))
        assert len(written) == 11


def test_texts_of_rules_keep_no_snapshot() -> None:
    matcher = Matcher(dict.fromkeys(range(10), "a = 1"))
    snapshot = matcher.store.built()
    rules = WrittenRules(matcher, lambda rule: b"x", 1_000)
    rules.texts_at(snapshot, snapshot.ids().values, range(10))
    kept = weakref.ref(snapshot)
    matcher.add(10, "a = 2")
    matcher.compact()
    del snapshot
    gc.collect()
    assert kept() is None
