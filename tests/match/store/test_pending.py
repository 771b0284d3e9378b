"""Rules that are in no index yet do not delay events."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest

from matchwood import Matcher, Schema
from matchwood.language.events import Event
from matchwood.match.search.batch_search import match_slice
from matchwood.match.search.event_slices import EventSlice
from matchwood.match.store import part_store as store


def test_rules_over_long_lists_that_were_just_added_are_as_good_as_built():
    matcher = Matcher()
    for i in range(500):
        matcher.add(i, f"l > {i} or l < -{i} or m = {i}")
    event = {"l": list(range(-10_000, 10_000)), "m": list(range(20_000))}
    started = time.process_time()
    assert sorted(matcher.match(event)) == list(range(500))
    assert time.process_time() - started < 5  # it took over 7 s on a quiet machine
    matcher.join()
    assert sorted(matcher.match(event)) == list(range(500))


def test_rules_that_took_events_long_are_built(monkeypatch):
    monkeypatch.setattr(store, "PENDING_SECONDS", 0.0)
    matcher = Matcher({"old": "a = 1"})
    matcher.add("new", "a = 2")
    assert len(matcher.store.snapshot.pending) == 1
    assert matcher.match({"a": 2}) == ["new"]
    matcher.join()
    assert not matcher.store.snapshot.pending
    assert matcher.match({"a": 2}) == ["new"]
    matcher.add("newest", "a = 2")
    assert sorted(matcher.match_batch([{"a": 2}])["rule_id"].to_pylist()) == ["new", "newest"]
    matcher.join()
    assert not matcher.store.snapshot.pending


def test_rules_that_took_no_time_stay_pending(monkeypatch):
    monkeypatch.setattr(store, "PENDING_SECONDS", 1e9)
    matcher = Matcher()
    matcher.add("new", "a = 2")
    for _ in range(10):
        matcher.match({"a": 2})
    assert len(matcher.store.snapshot.pending) == 1


def test_long_rules_are_built_when_they_are_added():
    matcher = Matcher()
    matcher.add("long", " or ".join(f"a = {n}" for n in range(10_000)))
    assert not matcher.store.snapshot.pending
    assert matcher.match({"a": 9_999}) == ["long"]


def test_no_rule_is_evaluated_for_each_of_many_events():
    matcher = Matcher({"old": "a = 1"})
    matcher.add("new", "a = 2 or b > 3", tags=["t"], priority=2)
    events = [{"a": n % 4, "b": n % 5} for n in range(2_000)]
    alone = [(n, "old") for n, event in enumerate(events) if event["a"] == 1]
    alone += [(n, "new") for n, event in enumerate(events) if event["a"] == 2 or event["b"] > 3]
    for given in (events, iter(events)):
        found = matcher.match_batch(given)
        assert sorted(zip(*found.to_pydict().values(), strict=True)) == sorted(alone)
    assert matcher.match_batch(events, tags=["t"])["rule_id"].unique().to_pylist() == ["new"]
    assert matcher.store.decider.waited == 0.0
    assert len(matcher.store.snapshot.pending) == 1


def test_what_a_batch_builds_serves_until_rules_change(monkeypatch):
    matcher = Matcher({"old": "a = 1"})
    matcher.add("new", "a = 2")
    builds = []
    usual = store.build
    monkeypatch.setattr(store, "build", lambda *given: builds.append(1) or usual(*given))
    events = [{"a": n % 4} for n in range(400)]
    for _ in range(3):
        assert matcher.match_batch(events).num_rows == 200
    assert len(builds) == 1
    matcher.add("newest", "a = 3")
    assert matcher.match_batch(events).num_rows == 300
    matcher.remove(["new"])
    assert matcher.match_batch(events).num_rows == 200
    assert len(builds) == 3


@pytest.mark.parametrize("form", [list, iter, pa.Table.from_pylist])
def test_events_that_are_held_to_a_schema_do_not_wait_for_pending_rules(form):
    form_of = {"attributes": {"a": "number"}, "types": {"any": {"a": "optional"}}}
    schema = Schema.from_dict(form_of)
    matcher = Matcher({"old": "a = 1"}, schema=schema, enforce=True)
    matcher.add("new", "a = 2")
    assert (
        matcher.match_batch(form([{"a": n % 4, "event_type": "any"} for n in range(400)])).num_rows
        == 200
    )
    assert matcher.store.decider.waited == 0.0


def test_readers_and_writers_go_on_where_no_thread_can_be_started(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(store, "PENDING_SECONDS", 0.0)
    matcher = Matcher({"old": "a = 1"})
    matcher.add("new", "a = 2")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert matcher.match({"a": 2}) == ["new"]
    assert matcher.match_batch([{"a": 2}])["rule_id"].to_pylist() == ["new"]
    for number in range(60):
        matcher.add(f"more {number}", "a = 2")
    assert len(matcher.match({"a": 2})) == 61


def test_an_event_is_read_once_for_all_pending_rules():
    matcher = Matcher()
    for i in range(10):
        matcher.add(i, f"a >= {i}")
    read = []

    def row(number: int) -> Event:
        read.append(number)
        return Event({"a": number})

    pending, decider = matcher.store.snapshot.pending, matcher.store.decider
    piece = EventSlice(None, row, None, 5)
    [(events, rules)] = match_slice([], pending, [], 0, piece, None, decider)
    assert read == [0, 1, 2, 3, 4]
    found = sorted(zip(events.tolist(), rules.tolist(), strict=True))
    assert found == [(event, rule) for event in range(5) for rule in range(event + 1)]
