"""Which strategy is chosen: what is prepared, tried, kept and dropped, by what it costs."""

import threading
from types import SimpleNamespace

import pytest

from match.event.stub_strategies import StubStrategy, choice_of
from matchwood import Matcher
from matchwood.lab.bench.kernel import let_learn
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions
from matchwood.lab.workloads.fontoura import Fontoura
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.match.event.event_strategies import EVENT_STRATEGIES, NAMED_STRATEGIES
from matchwood.match.event.strategies.cell_strategy import CellStrategy
from matchwood.match.event.strategies.walk_strategy import WORD_SECONDS, WalkStrategy
from matchwood.match.event.strategy import PushSample
from matchwood.match.event.strategy_choice import (
    MEASURED_EVERY,
    MEASURED_LATER_EVERY,
    MEASURES_NEEDED,
    NEVER_MEASURED,
)

CELLS, WALK = 10, 3  # bytes that the stubs hold, by which they are told apart

# Measured events until a strategy has been tried: one that loads kernels, and twice those needed.
TRIED = 1 + 2 * MEASURES_NEEDED


def choice_after(checked, seconds=1e-4, walking=1.0, prepare_cells=None):
    """The choice after some events that checked so many records, and took so long."""
    cells = StubStrategy("cells", CELLS, lambda p: CellStrategy().pays(None, p), prepare_cells)
    records = SimpleNamespace(tree=SimpleNamespace(records=range(round(walking / WORD_SECONDS))))
    walk = StubStrategy("walk", WALK, lambda p: WalkStrategy().pays(records, p))
    choice = choice_of(cells, walk)
    choice.learn_push(checked, 1.0)  # the first one loads kernels
    for _ in range(MEASURES_NEEDED):
        choice.learn_push(checked, seconds)
    choice.settled()
    return choice


def test_few_records_prepare_nothing():
    choice = choice_after(10)
    assert choice.prepared is None
    assert choice.every == 2 * MEASURED_EVERY


def test_records_that_take_little_of_the_time_prepare_nothing():
    assert choice_after(10_000, seconds=1e-2).prepared is None
    assert choice_after(10_000, seconds=1e-4).prepared is not None


def test_small_segments_are_left_alone():
    assert choice_of(StubStrategy("cells"), tries=False).left == NEVER_MEASURED


def test_cells_that_take_less_time_are_kept():
    choice = choice_after(10_000)
    assert choice.taken is choice.pushing
    assert choice.bytes == CELLS
    for _ in range(TRIED):
        choice.learn(2.0, 1.0)
    assert choice.taken is choice.prepared is not None
    assert choice.every == MEASURED_EVERY * MEASURED_LATER_EVERY
    for _ in range(MEASURES_NEEDED):
        choice.learn(1.0, 2.0)  # events have changed
    assert choice.taken is choice.pushing


def test_the_first_events_of_a_strategy_say_nothing():
    choice = choice_after(10_000)
    for _ in range(TRIED - MEASURES_NEEDED):
        choice.learn(1.0, 100.0)
    for _ in range(MEASURES_NEEDED):
        choice.learn(2.0, 1.0)
    assert choice.taken is not choice.pushing


def test_cells_that_take_more_time_are_dropped():
    choice = choice_after(10_000)
    for _ in range(TRIED):
        choice.learn(1.0, 1.0)
    assert choice.taken is choice.pushing
    assert choice.bytes == 0
    choice.learn(2.0, 1.0)  # of a thread that had begun before
    assert choice.taken is choice.pushing


def test_nothing_to_prepare():
    choice = choice_after(10_000, prepare_cells=lambda: None)
    assert choice.prepared is None
    assert choice.left == NEVER_MEASURED


def test_a_strategy_that_cannot_be_prepared_is_reported(caplog):
    def fail():
        raise MemoryError("too large")

    choice = choice_after(10_000, prepare_cells=fail)
    assert choice.prepared is None
    assert "'cells' cannot be prepared" in caplog.text


def test_a_walk_that_should_take_less_is_tried():
    choice = choice_after(10, seconds=1e-2, walking=6e-3)
    assert choice.bytes == WALK
    for _ in range(TRIED):
        choice.learn(1e-2, 6e-3)
    assert choice.taken.name == "walk"


def test_a_walk_is_tried_where_cells_were_no_good():
    choice = choice_after(10_000, seconds=1e-4, walking=1e-5)
    assert choice.bytes == CELLS
    for _ in range(TRIED):
        choice.learn(1e-4, 2e-4)
    choice.settled()
    assert choice.bytes == WALK
    for _ in range(TRIED):
        choice.learn(1e-4, 2e-4)
    assert choice.prepared is None
    assert choice.taken is choice.pushing
    assert choice.left == NEVER_MEASURED


def test_the_best_of_several_is_kept():
    choice = choice_after(10_000, seconds=1e-4, walking=1e-5)
    for share, kept in ((0.8, "cells"), (0.2, "walk")):
        for _ in range(TRIED):
            choice.learn(1.0, share)
        assert choice.taken.name == kept
        choice.settled()
    assert choice.bytes == WALK
    assert choice.every == MEASURED_EVERY * MEASURED_LATER_EVERY


def test_one_that_is_worse_than_the_best_is_dropped():
    choice = choice_after(10_000, seconds=1e-4, walking=1e-5)
    for share in (0.2, 0.8):
        for _ in range(TRIED):
            choice.learn(1.0, share)
        choice.settled()
    assert choice.taken.name == "cells"
    assert choice.bytes == CELLS


def test_names_are_distinct_and_only_pushing_never_pays():
    variants = [v for s in EVENT_STRATEGIES for v in (s, *s.variants())]
    assert len(NAMED_STRATEGIES) == len(variants)
    many = PushSample(events=1, records=1_000_000, seconds=1e-2)
    segment = SimpleNamespace(tree=SimpleNamespace(records=range(10)), nodes=10, slots=range(3))
    assert [s.name for s in EVENT_STRATEGIES if not s.pays(segment, many)] == ["push"]


def learnt(matcher, events):
    """The strategy of a matcher that has seen enough."""
    (part,) = matcher.store.snapshot.parts
    let_learn(matcher, events)
    return part.matcher.choice.taken.name


@pytest.mark.slow
def test_ranges_are_found_by_cells_or_bounds_and_trees_of_which_half_are_true_by_jumps():
    count = MEASURED_EVERY * MEASURES_NEEDED
    ranges = HalfRanges(12_000, attributes=20, predicates=10, event_attributes=20, seed=3)
    assert learnt(Matcher(enumerate(ranges.texts())), ranges.events(count)) in ("cells", "bounds")
    few = DexinConjunctions(rules=6_000, attributes=2)
    # Cells take little longer there, so that a busy machine may decide otherwise once.
    chosen = (learnt(Matcher(enumerate(few.texts())), few.events(count)) for _ in range(3))
    assert "bounds" in chosen
    contracts = Fontoura(rules=4_000, depth=4)
    assert learnt(Matcher(enumerate(contracts.texts())), contracts.events(count)) == "jumps"


def test_threads_learn_together():
    workload = HalfRanges(12_000, attributes=20, predicates=10, event_attributes=20, seed=3)
    matcher = Matcher(enumerate(workload.texts()))
    (part,) = matcher.store.snapshot.parts
    choice = part.matcher.choice
    events = workload.events(2 * MEASURED_EVERY * MEASURES_NEEDED)
    learning = MEASURED_EVERY * (MEASURES_NEEDED + 1)
    right = [matcher.match(event) for event in events[:learning]]
    choice.settled()
    assert choice.prepared is not None
    found: list[list[set]] = []

    def match():
        found.append([set(matcher.match(event)) for event in events])

    threads = [threading.Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert choice.taken is not choice.pushing
    assert found[0] == found[1] == found[2]
    assert found[0][: len(right)] == [set(ids) for ids in right]
