"""Cells give the same answers as push lists and as `evaluate`, whatever is in them."""

import numpy as np
import pytest

from match.event.kinds_of_predicates import all_kinds, events_of_all_kinds
from matcher.expected import EACH, batches, expected, force_single, singles
from matchwood import Matcher
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.lab.workloads.le_subscribe import LeSubscribe
from matchwood.lab.workloads.string_rules import StringRules
from matchwood.match.event import strategy_choice
from matchwood.match.event.cell_index import CELLS, cell_index
from matchwood.match.event.cell_tree_kernels import LEAF
from matchwood.match.event.strategies import (
    bound_strategy,
    cell_strategy,
    jump_strategy,
    walk_strategy,
)

WORKLOADS = {
    "abe-gen": lambda n: AbeGen(rules=n, attributes=40, cardinality=20, seed=3),
    "audiences": lambda n: Audiences(n, seed=3),
    "dense": lambda n: HalfRanges(n, attributes=20, predicates=4, event_attributes=20, seed=3),
    "sparse": lambda n: HalfRanges(n, attributes=40, predicates=3, event_attributes=15, seed=3),
    "dexin": lambda n: DexinConjunctions(rules=n, attributes=4, cardinality=200, seed=3),
    "le-subscribe": lambda n: LeSubscribe(rules=n, equality=0.5, seed=3),
    "strings": lambda n: StringRules(n, seed=3),
}
NOTHING = {"strings"}  # workloads of patterns alone, which have nothing to put into cells


def segment_matchers(matcher):
    return [part.matcher for part in matcher.store.snapshot.parts]


def by_cells(matcher, literals="all"):
    """Every part uses cells where it can; whether any does."""
    return force_single(matcher, f"cells, {literals} literals")


def by_push_lists(matcher):
    force_single(matcher, "push")


@pytest.mark.parametrize("literals", ["all", "likely"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads(name, literals):
    workload = WORKLOADS[name](3_000)
    matcher = Matcher(enumerate(workload.texts()))
    events = [*workload.events(60), {}]
    by_push_lists(matcher)
    right = singles(matcher, events)
    in_cells = by_cells(matcher, literals)
    assert in_cells == (name not in NOTHING) or literals == "likely"
    assert singles(matcher, events) == right


@pytest.mark.parametrize("name", WORKLOADS)
def test_walks(name):
    workload = WORKLOADS[name](1_000)
    matcher = Matcher(enumerate(workload.texts()))
    events = [*workload.events(30), {}]
    by_push_lists(matcher)
    right = singles(matcher, events)
    assert all(one.force("walk") for one in segment_matchers(matcher))
    assert singles(matcher, events) == right


@pytest.mark.parametrize("name", WORKLOADS)
def test_against_evaluate(name):
    workload = WORKLOADS[name](200)
    rules = dict(enumerate(workload.texts()))
    matcher = Matcher(rules)
    events = workload.events(20)
    assert by_cells(matcher) == (name not in NOTHING)
    right = expected(rules, events)
    assert singles(matcher, events) == right
    assert batches(matcher, events, EACH) == right


def test_all_kinds_of_predicates_and_values():
    rules = all_kinds(1_200)
    matcher = Matcher(rules)
    events = [*events_of_all_kinds(60), {}]
    by_push_lists(matcher)
    pushed = singles(matcher, events)
    assert by_cells(matcher)
    assert singles(matcher, events) == pushed
    some = dict(list(rules.items())[:320])
    few = Matcher(some)
    assert by_cells(few)
    assert singles(few, events) == expected(some, events)


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 511, 512, 513, 1024, 1025])
def test_leaves_that_are_full_or_not(count):
    rules = {i: f"a > {i % 50} and b < {(i * 7) % 60} and c != {i}" for i in range(count)}
    rules[-1] = "name = 'x'"
    matcher = Matcher(rules)
    assert by_cells(matcher) == (count > 0)
    events = [{"a": a, "b": b, "c": 3} for a in (0, 20, 49, 70) for b in (-1, 30, 70)]
    by_rule = singles(matcher, [*events, {"name": "x"}, {}])
    by_push_lists(matcher)
    assert by_rule == singles(matcher, [*events, {"name": "x"}, {}])
    assert len(by_rule) > count


def test_what_is_left_of_a_push_list_that_has_more_than_ands():
    rules = {
        1: "a > 5",
        2: "a > 5 and b > 5",
        3: "(a > 5 or c = 1) and d > 5",
        4: "(a > 5 or c = 1) and e > 5",
    }
    matcher = Matcher(rules)
    assert by_cells(matcher)
    events = [{"a": a, "b": 6, "c": c, "d": 6} for a in (5, 6, [1, 9]) for c in (1, 2)]
    assert singles(matcher, events) == expected(rules, events)


def test_updates_tags_and_limits():
    workload = WORKLOADS["dense"](1_000)
    texts = workload.texts()
    matcher = Matcher(enumerate(texts[:600]))
    for i in range(600, 900):
        matcher.add(i, texts[i], tags={"late"})
    matcher.remove([7])
    matcher.add(900, texts[900])
    rules = {i: texts[i] for i in range(901) if i != 7}
    events = workload.events(10)
    assert by_cells(matcher)
    assert singles(matcher, events) == expected(rules, events)
    late = {pair for pair in expected(rules, events) if 600 <= pair[1] < 900}
    assert singles(matcher, events, tags={"late"}) == late
    assert all(len(matcher.match(event, limit=3)) <= 3 for event in events)


def test_copies_and_pickles_start_without_cells():
    import pickle

    workload = WORKLOADS["dense"](300)
    matcher = Matcher(enumerate(workload.texts()))
    events = workload.events(5)
    without = matcher.stats().bytes
    assert by_cells(matcher)
    assert matcher.stats().bytes > without
    again = pickle.loads(pickle.dumps(matcher))
    assert again.stats().bytes == without
    assert singles(again, events) == singles(matcher, events)


def test_rows_hold_what_they_say():
    """Each leaf's rows, read by hand: a node is in a cell if one of its codes may satisfy it."""
    matcher = Matcher({i: f"a between {i} and {i + 100} and b > {i % 9}" for i in range(700)})
    (one,) = segment_matchers(matcher)
    taken = cell_index(one.segment, one.index, 0.0, 1)
    cells = taken.cells
    assert len(cells.places) % LEAF == 0
    assert sorted(cells.places[cells.places >= 0]) == sorted(set(cells.places) - {-1})
    assert (cells.places >= 0).sum() == 700
    entries = cells.entries.reshape(-1, 4)
    assert (entries[:, 2] >> 8).max() <= CELLS
    last = entries[-1]
    many = last[2] >> 8
    assert len(cells.rows) == 8 * (last[3] + (1 if many == 1 else many + 1))
    assert taken.bytes > cells.bytes > 0


def test_tests_of_null_alone():
    """`is null` on the first attribute of an index is the word 0, which used to mean no word."""
    rules = {"w": "a = 10", "r": "a is null and z is null", "x": "a is null xor z is not null"}
    matcher = Matcher(rules)
    assert by_cells(matcher)
    events = [{"a": 14}, {"a": 10}, {"z": 1}, {"a": 1, "z": 1}, {"a": None}, {"a": [1]}, {}]
    assert singles(matcher, events) == expected(rules, events)
    assert batches(matcher, events, EACH) == expected(rules, events)


def test_cells_that_were_learnt_to_be_worth_it(monkeypatch):
    """In ordinary use, cells are built in the background once events have shown that they pay."""
    monkeypatch.setattr(cell_strategy, "LEAST_SHARE", 0.0)  # however little time records take
    monkeypatch.setattr(strategy_choice, "WORTHWHILE_SHARE", 1e9)  # however long cells take
    for other in (bound_strategy, jump_strategy, walk_strategy):
        monkeypatch.setattr(other, "EXPECTED_SHARE", 0.0)  # so that it is not tried
    random = np.random.default_rng(1)

    def between(name):
        low = random.integers(12)
        return f"{name} between {low} and {low + random.integers(4, 9)}"

    rules = {i: " and ".join(map(between, "abcd")) for i in range(12_000)}
    matcher = Matcher(rules | {-1: "a is null and z is null", -2: "a is null xor z is not null"})
    (one,) = segment_matchers(matcher)
    for _ in range(2_000):
        event = {name: int(random.integers(22)) for name in "abcd"}
        found = matcher.match(event)
        assert -1 not in found
        assert -2 not in found
        if one.choice.taken.name == "cells":
            break
        one.choice.settled()
    assert one.choice.taken.name == "cells"
    for _ in range(200):
        event = {name: int(random.integers(22)) for name in "abcd"}
        assert not {-1, -2} & set(matcher.match(event))
