"""The outbox against plain lists, across chunks."""

import random
import time

import numpy as np
import pytest

from matchwood.service.delivery import outbox as module
from matchwood.service.delivery.outbox import Outbox, RecentBodies, StoredEvent
from matchwood.service.rules.subscription_roster import SubscriptionRoster

FUTURE = time.time() + 1_000_000  # a suite may take a while until it is here


def stored(number: int, matches: list[int], at: float | None = None) -> StoredEvent:
    return StoredEvent(number, at or time.time(), "{}", np.array(sorted(matches), np.uint32))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_EVENTS", 10)
    monkeypatch.setattr(module, "CHUNK_PAIRS", 50)


def roster_of(numbers: range) -> SubscriptionRoster:
    roster = SubscriptionRoster()
    for number in numbers:
        roster.enter(number, FUTURE, 0)
    return roster


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("restored", [True, False])
def test_events_of_a_subscription_are_found_in_order(restored: bool) -> None:
    chance = random.Random(1)
    box = Outbox(roster_of(range(20)))
    plain: dict[int, list[int]] = {number: [] for number in range(20)}
    for event in range(1, 300):
        matches = [number for number in range(20) if chance.random() < 0.2]
        for number in matches:
            plain[number].append(event)
        one = stored(event, matches)
        if restored:
            box.restore(one.number, one.at, one.matches)
        else:
            box.add([one])
    assert box.events == 299
    assert box.pairs == sum(map(len, plain.values()))
    for number, events in plain.items():
        for after in (0, 7, 150, 290, 299):
            for limit in (1, 5, 1_000):
                expected = [event for event in events if event > after][:limit]
                assert box.after(number, after, limit) == expected


@pytest.mark.usefixtures("small")
def test_what_all_have_acknowledged_is_dropped() -> None:
    roster = roster_of(range(1, 4))
    box = Outbox(roster)
    for event in range(1, 41):
        box.add([stored(event, [1, 2])])
    now = time.time()
    assert box.collect(now, now - 100) == []
    roster.acknowledge(1, 40)
    roster.acknowledge(2, 25)
    assert [(one.first, one.last) for one in box.collect(now, now - 100)] == [(1, 10), (11, 20)]
    assert box.after(2, 25, 1) == [26]
    roster.leave(2)
    assert [(one.first, one.last) for one in box.collect(now, now - 100)] == [(21, 30), (31, 40)]
    assert box.events == 0


@pytest.mark.usefixtures("small")
def test_pairs_that_are_acknowledged_go_though_one_keeps_their_events() -> None:
    roster = roster_of(range(1, 6))
    box = Outbox(roster)
    for event in range(1, 11):
        box.add([stored(event, [1, 2, 3, 4, 5] if event > 4 else [1, 2, 3, 4])])
    before = box.bytes
    for number in range(1, 5):
        roster.acknowledge(number, 10)
    now = time.time()
    assert box.collect(now, now - 100) == []  # 5 has six events to fetch
    assert (box.pairs, box.events) == (6, 6)
    assert box.bytes < before / 5
    assert box.after(5, 0, 100) == [5, 6, 7, 8, 9, 10]
    roster.acknowledge(5, 10)
    assert [(one.first, one.last) for one in box.collect(now, now - 100)] == [(1, 10)]


@pytest.mark.usefixtures("small")
def test_collections_look_through_many_chunks_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNKS_PER_COLLECTION", 2)
    roster = roster_of(range(1, 2))
    box = Outbox(roster)
    for event in range(1, 51):
        box.add([stored(event, [1])])
    roster.acknowledge(1, 50)
    now = time.time()
    found = [[one.first for one in box.collect(now, now - 100)] for _ in range(4)]
    assert found == [[1, 11], [21, 31], [41], []]


def test_numbers_that_are_far_apart_share_a_chunk() -> None:
    box = Outbox(roster_of(range(1, 3)))
    box.add([stored(1, [1]), stored(1_000_000, [1, 2])])
    box.collect(time.time() + 100, 0.0)  # the tail is old enough to be sealed
    assert box.after(1, 0, 10) == [1, 1_000_000]
    assert box.bytes == 3 * 8


@pytest.mark.usefixtures("small")
def test_what_is_too_old_is_dropped_and_who_missed_it_is_told() -> None:
    roster = roster_of(range(1, 3))
    box = Outbox(roster)
    old = time.time() - 1_000
    for event in range(1, 11):
        box.add([stored(event, [1, 2], old)])
    roster.acknowledge(1, 8)
    (dropped,) = box.collect(time.time(), time.time() - 500)
    numbers, counts = np.unique(dropped.missed_by, return_counts=True)
    assert dict(zip(numbers.tolist(), counts.tolist(), strict=True)) == {1: 2, 2: 10}


def test_only_those_that_are_watched_are_woken() -> None:
    woken: list[int] = []
    box = Outbox(roster_of(range(10)), woken.extend)
    box.watch(3)
    box.watch(5_000)
    box.add([stored(1, [2, 3, 4]), stored(2, [3, 9]), stored(3, [5_000]), stored(4, [9_999])])
    assert woken == [3, 5_000]
    box.watch(3, False)
    box.add([stored(5, [3])])
    assert woken == [3, 5_000]


def test_recent_bodies_are_kept_within_their_bytes() -> None:
    recent = RecentBodies(most=1_250)
    for number in range(10):
        recent.add(StoredEvent(number, 1.0, "x" * 100, np.empty(0, np.uint32)))
    assert [number for number in range(10) if recent.get(number)] == [7, 8, 9]
    recent.add(StoredEvent(10, 1.0, "\U0001f980" * 100, np.empty(0, np.uint32)))  # four bytes each
    assert [number for number in range(11) if recent.get(number)] == [9, 10]
