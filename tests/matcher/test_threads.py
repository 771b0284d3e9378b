"""Threads that read while one writes: each reader sees the rules of one moment."""

import threading
import time

import pytest

from matcher.expected import pairs
from matchwood import Matcher

SECONDS = 0.8


def run(writer, *readers, seconds=SECONDS):
    """Run each function again and again in a thread; the first exception is raised here."""
    errors = []
    rounds = dict.fromkeys(range(len(readers) + 1), 0)
    until = time.monotonic() + seconds

    def again(number, work):
        try:
            while time.monotonic() < until and not errors:
                work(rounds[number])
                rounds[number] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=again, args=item) for item in enumerate((writer, *readers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    assert all(rounds.values()), "a thread never ran"
    return rounds


def versions(number, base=0):
    return {base + i: f"a = 1 and v{number % 5} is null" for i in range(3)}


@pytest.fixture
def matcher():
    return Matcher({1000 + n: f"a = {n % 3} and b = {n}" for n in range(800)})


def test_a_bulk_update_is_seen_whole_or_not_at_all(matcher):
    """Of a pair of rules exactly one is true at every moment."""

    def swap(number):
        yes, no = ("left", "right") if number % 2 else ("right", "left")
        names = {"left": 1, "right": 2}
        matcher.update({names[yes]: "a = 1", names[no]: "a = 2"})

    swap(0)

    def one():
        found = [rule_id for rule_id in matcher.match({"a": 1}) if rule_id < 1000]
        assert len(found) == 1, found

    def batch():
        found = [r for _, r in pairs(matcher.match_batch([{"a": 1}] * 3)) if r < 1000]
        assert len(found) == 3, found
        assert len(set(found)) == 1, found

    run(swap, lambda _: one(), lambda _: batch())


def test_replacing_a_rule_never_hides_it(matcher):
    def replace(number):
        matcher[5] = f"a = 1 and c != {number}"

    replace(0)

    def read():
        assert 5 in matcher.match({"a": 1, "c": "x"}) or 5 in matcher.match({"a": 1, "c": -1})
        assert matcher.match({"a": 1, "c": -1}).count(5) == 1
        assert str(matcher[5]).startswith("a = 1 and c != ")
        assert 5 in matcher
        assert len(matcher) == 801

    run(replace, lambda _: read())


def test_rules_that_stay_are_always_there_while_others_come_and_go(matcher):
    staying = {rule_id for rule_id in matcher if (rule_id - 1000) % 3 == 1}
    matcher.update(dict.fromkeys(staying, "a = 1"))

    def churn(number):
        base = 10_000 + 100 * (number % 20)
        if number // 20 % 2 == 0:
            matcher.update({base + i: "a = 1 or b = 2" for i in range(100)})
        else:
            for i in range(100):
                matcher.pop(base + i, None)

    def read():
        assert staying <= set(matcher.match({"a": 1}))

    def iterate():
        assert staying <= set(matcher)
        for rule_id in list(staying)[:20]:
            assert str(matcher[rule_id]) == "a = 1"
        matcher.stats()

    run(churn, lambda _: read(), lambda _: iterate())
    while matcher.store._merging is not None:
        matcher.join()
    assert staying <= set(matcher.match({"a": 1}))


def test_a_batch_that_is_under_way_keeps_its_rules(matcher):
    matcher.update(dict.fromkeys(range(10), "a = 1"))
    slices = matcher.match_batches([{"a": 1}] * 4000)
    first = next(slices)
    matcher.clear()
    rest = list(slices)
    found = first.num_rows + sum(piece.num_rows for piece in rest)
    assert found == 4000 * 10
    assert matcher.match({"a": 1}) == []


def test_many_readers_of_one_segment():
    """Scratch is not shared: the same event at the same time gets the same answer."""
    rules = {n: f"a = {n % 7} and b != {n % 5} or name like '%{n % 9}%'" for n in range(500)}
    matcher = Matcher(rules)
    events = [{"a": n % 7, "b": n % 5, "name": str(n)} for n in range(50)]
    right = [sorted(matcher.match(event)) for event in events]
    whole = pairs(matcher.match_batch(events))

    def read(number):
        number %= len(events)
        assert sorted(matcher.match(events[number])) == right[number]

    def batch(number):
        for part in matcher.store.snapshot.parts:
            part.batch.force("sweep" if number % 2 else "one by one")
        assert pairs(matcher.match_batch(events)) == whole

    run(read, read, batch, batch, seconds=1)


def test_waiting_for_merges_while_rules_come() -> None:
    """A thread that waits never joins a merge that has not started."""
    matcher = Matcher()
    failures: list[BaseException] = []
    done = threading.Event()

    def wait() -> None:
        try:
            while not done.is_set():
                matcher.join()
        except BaseException as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    for number in range(400):
        matcher[number] = f"a = {number}"
    done.set()
    waiting.join(30)
    matcher.join()
    assert not failures
    assert matcher.store._merging is None
    assert matcher.match({"a": 7}) == [7]
