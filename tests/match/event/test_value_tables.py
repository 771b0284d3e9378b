"""Values that were seen before are found by name, type and value, and mean what `evaluate` says."""

import random
import threading
from decimal import Decimal

import numpy as np
import pytest

from matcher.expected import expected, singles
from matchwood import EventError, Matcher
from matchwood.match.event import value_tables
from matchwood.match.event.thread_scratch import ThreadScratch

RULES = dict(
    enumerate(
        f"{name} {test}"
        for name in ("a", "b", "c.d")
        for test in (
            *("= 1", "= 1.5", "= true", "= '1'", "= 0", "!= 'x'", "< 9007199254740993", "> 1e300"),
            *("is null", "is not null", "in ('x', 'y')", "between 0 and 2", "like '%x%'"),
            *("= 9007199254740993", "< '\U0010ffff'", "not like 'y%'"),
        )
    )
) | {
    100: "contains(a, 'x')", 101: "not contains(a, 'y')", 102: "b = date '2026-01-31'",
    103: "in_network(b, '10.0.0.0/8')", 104: "a = b", 105: "not (a < `c.d`)",
}  # fmt: skip
PLAIN = {number: rule for number, rule in RULES.items() if number < 104}
VALUES = [
    1, 1.0, True, "1", 0, 0.0, -0.0, False, "", None, float("nan"), 1.5, 2, 2.0, 2**53, 2.0**53,
    2**53 + 1, float("inf"), 10**400, "x", "y", "xx", "É", "\U0010ffff", "\ue000", "2026-01-31",
    "10.1.2.3", "x" * 100, "y" * 64, [], ["x"], ["x", "x"], ["y", "x", "xx"], ["x", None], [1],
    [True], ["1", 1.0], ["2026-01-31", "10.1.2.3"], Decimal("1.5"), np.float64(1.0), np.str_("x"),
    b"x", {"d": 1}, ("x",),
]  # fmt: skip


def any_event(rng):
    names = ["a", "b", "c.d", "unknown", "größe", f"new {rng.randrange(100)}"]
    return {name: rng.choice(VALUES) for name in rng.sample(names, rng.randrange(5))}


@pytest.mark.parametrize("most", [2, value_tables.MOST_VALUES])
@pytest.mark.parametrize("rules", [RULES, PLAIN], ids=["lazy", "plain"])
def test_events_of_any_values(monkeypatch, rules, most):
    monkeypatch.setattr(value_tables, "MOST_VALUES", most)
    monkeypatch.setattr(value_tables, "MOST_NAMES", 10 * most)
    rng = random.Random(most)
    events = [any_event(rng) for _ in range(400)]
    matcher = Matcher(rules)
    right = expected(rules, events)
    assert singles(matcher, events) == right
    assert singles(matcher, events) == right  # now that some values are known
    [part] = matcher.store.snapshot.parts
    for tables in part.matcher._tables.values():
        assert all(len(table) <= most for table in tables.values() if isinstance(table, dict))


def test_plain_events_are_not_read_in_the_general_way(monkeypatch):
    """The tests above would prove little if the tables were never used."""
    monkeypatch.setattr("matchwood.match.event.event_matcher.encode", None)
    matcher = Matcher(PLAIN)
    event = {"a": ["x", "y"], "b": "2026-01-31", "c.d": 1.5, "unknown": ["z"], "other": None}
    assert 100 in matcher.match(event)
    assert 102 in matcher.match(event | {"a": True})


@pytest.mark.parametrize(
    "event",
    [
        {"a": "\ud800"}, {"a": ["x", "\ud800"]}, {"b": "\udfff"}, {"unknown\ud800": 1}, {1: 2},
        {"a": {"x": 1}, "a.x": 2},
    ],
)  # fmt: skip
def test_events_that_are_refused(event):
    matcher = Matcher(PLAIN)
    for _ in range(2):
        with pytest.raises(EventError):
            matcher.match(event)
        matcher.match({"a": "x", "b": ["x"]})


def test_lists_that_scratch_has_no_room_for():
    matcher = Matcher(PLAIN)
    long = [f"z{number}" for number in range(3_000)]
    for strategy in ("push, small index", "push, large index", "cells, all literals", "walk"):
        events = [{"a": ["x"]}, {"a": long}, {"a": [*long, "x"], "b": [*long, "y"]}, {"a": "x"}]
        for part in matcher.store.snapshot.parts:
            part.matcher.force(strategy)
        assert singles(matcher, events) == expected(PLAIN, events), strategy


def test_scratch_grows_only_if_it_must():
    matcher = Matcher(PLAIN)
    matcher.match({"a": ["x"] * 10})
    [part] = matcher.store.snapshot.parts
    [scratch] = part.matcher._free
    assert isinstance(scratch, ThreadScratch)
    room = scratch.room
    matcher.match({"a": ["x"] * room})
    assert scratch.room > room


def test_threads_share_the_tables(monkeypatch):
    monkeypatch.setattr(value_tables, "MOST_VALUES", 3)
    rng = random.Random(7)
    events = [any_event(rng) for _ in range(150)]
    matcher = Matcher(PLAIN)
    right = expected(PLAIN, events)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(singles(matcher, events))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [right] * 4
