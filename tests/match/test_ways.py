"""Which way events take: what is built, tried, kept and dropped, by what it costs."""

import threading

import pytest

from matchwood import Matcher
from matchwood.bench.kernel import let_learn
from matchwood.match.cells import Taken
from matchwood.match.walk import Walk
from matchwood.match.ways import AGAIN, NEVER, SAMPLED, TOLD, Ways
from matchwood.workloads.conjunctions import HalfRanges
from matchwood.workloads.fontoura import Fontoura


class Cells:
    """Stands for cells."""

    bytes = 10


class Walking(Cells):
    bytes = 3


def ways_of(checked, cells=Cells, seconds=1e-4, walking=1.0):
    ways = Ways(cells, Walking, walking, True)
    for _ in range(TOLD):
        ways.learn_checked(checked, seconds)
    ways.settled()
    return ways


def test_few_records_build_nothing():
    ways = ways_of(10)
    assert ways.built is None
    assert ways.every == 2 * SAMPLED


def test_records_that_take_little_of_the_time_build_nothing():
    assert ways_of(10_000, seconds=1e-2).built is None
    assert ways_of(10_000, seconds=1e-4).built is not None


def test_small_segments_are_left_alone():
    assert Ways(Cells, Walking, 0.0, False).left == NEVER


def test_cells_that_take_less_time_are_kept():
    ways = ways_of(10_000)
    assert ways.taken is None
    assert ways.bytes == 10
    for _ in range(TOLD + 1):
        ways.learn(2.0, 1.0)
    assert ways.taken is ways.built is not None
    assert ways.every == SAMPLED * AGAIN
    for _ in range(TOLD):
        ways.learn(1.0, 2.0)  # events have changed
    assert ways.taken is None


def test_the_first_event_of_a_way_says_nothing():
    ways = ways_of(10_000)
    ways.learn(1.0, 100.0)
    for _ in range(TOLD):
        ways.learn(2.0, 1.0)
    assert ways.taken is not None


def test_cells_that_take_more_time_are_dropped():
    ways = ways_of(10_000)
    for _ in range(TOLD + 1):
        ways.learn(1.0, 1.0)
    assert ways.taken is None
    assert ways.bytes == 0
    ways.learn(2.0, 1.0)  # of a thread that had begun before
    assert ways.taken is None


def test_nothing_to_build():
    ways = ways_of(10_000, lambda: None)
    assert ways.built is None
    assert ways.left == NEVER


def test_a_walk_that_should_take_less_is_tried():
    ways = ways_of(10, seconds=1e-2, walking=6e-3)
    assert ways.bytes == 3
    for _ in range(TOLD + 1):
        ways.learn(1e-2, 6e-3)
    assert isinstance(ways.taken, Walking)


def test_a_walk_is_tried_where_cells_were_no_good():
    ways = ways_of(10_000, seconds=1e-4, walking=1e-5)
    assert ways.bytes == 10
    for _ in range(TOLD + 1):
        ways.learn(1e-4, 2e-4)
    ways.settled()
    assert ways.bytes == 3
    for _ in range(TOLD + 1):
        ways.learn(1e-4, 2e-4)
    assert ways.built is ways.taken is None
    assert ways.left == NEVER


def learnt(matcher, events):
    """The way of a matcher that has seen enough."""
    (part,) = matcher._snapshot.parts
    let_learn(matcher, events)
    return part.matcher.ways.taken


@pytest.mark.slow
def test_ranges_are_found_by_cells_and_trees_of_which_half_are_true_by_walks():
    ranges = HalfRanges(12_000, attributes=20, predicates=10, event_attributes=20, seed=3)
    taken = learnt(Matcher(enumerate(ranges.texts())), ranges.events(SAMPLED * TOLD))
    assert isinstance(taken, Taken)
    contracts = Fontoura(rules=4_000, depth=4)
    taken = learnt(Matcher(enumerate(contracts.texts())), contracts.events(SAMPLED * TOLD))
    assert isinstance(taken, Walk)


def test_threads_learn_together():
    workload = HalfRanges(12_000, attributes=20, predicates=10, event_attributes=20, seed=3)
    matcher = Matcher(enumerate(workload.texts()))
    (part,) = matcher._snapshot.parts
    one = part.matcher
    events = workload.events(2 * SAMPLED * TOLD)
    right = [matcher.match(event) for event in events[: SAMPLED * TOLD]]
    one.ways.settled()
    assert one.ways.built is not None
    found: list[list[set]] = []

    def match():
        found.append([set(matcher.match(event)) for event in events])

    threads = [threading.Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.ways.taken is one.ways.built is not None
    assert found[0] == found[1] == found[2]
    assert found[0][: len(right)] == [set(ids) for ids in right]
