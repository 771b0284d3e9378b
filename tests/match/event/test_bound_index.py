"""Bounds give the same answers as push lists and as `evaluate`, whatever they are about."""

import numpy as np
import pytest

from match.event.kinds_of_predicates import all_kinds, events_of_all_kinds
from matcher.expected import EACH, batches, expected, force_single, singles
from matchwood import Matcher
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.lab.workloads.le_subscribe import LeSubscribe
from matchwood.match.event import bound_index as bound_index_module
from matchwood.match.event.bound_index import bound_index
from matchwood.match.event.bound_kernels import BETWEEN, BLOCK, ENTRY_WORDS, MOST_INTERVALS
from matchwood.match.event.strategies import bound_strategy

WORKLOADS = {
    "abe-gen": lambda n: AbeGen(rules=n, attributes=40, cardinality=20, seed=3),
    "sparse": lambda n: HalfRanges(n, attributes=40, predicates=3, event_attributes=15, seed=3),
    "dexin": lambda n: DexinConjunctions(rules=n, attributes=4, cardinality=200, seed=3),
    "le-subscribe": lambda n: LeSubscribe(rules=n, equality=0.5, seed=3),
}


def by_bounds(matcher, literals="all"):
    """Every part uses bounds where it can; whether any does."""
    return force_single(matcher, f"bounds, {literals} literals")


def index_of(matcher):
    (part,) = matcher.store.snapshot.parts
    one = part.matcher
    return bound_index(one.segment, one.index, 0.0, 1)


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads(name):
    workload = WORKLOADS[name](3_000)
    matcher = Matcher(enumerate(workload.texts()))
    events = [*workload.events(60), {}]
    force_single(matcher, "push")
    right = singles(matcher, events)
    for literals in ("all", "likely"):
        assert by_bounds(matcher, literals) or literals == "likely"
        assert singles(matcher, events) == right


def test_all_kinds_of_predicates_and_values():
    rules = {i: rule for i, rule in all_kinds(330).items() if "< a" not in rule}
    matcher = Matcher(rules)
    events = [*events_of_all_kinds(60), {}]
    assert by_bounds(matcher)
    assert singles(matcher, events) == expected(rules, events)
    assert batches(matcher, events, EACH) == expected(rules, events)


def test_several_predicates_on_one_attribute():
    many = ", ".join(map(str, range(0, 4 * MOST_INTERVALS, 2)))
    rules = dict(
        enumerate(
            [
                f"a in ({many}) and b > 1",
                f"a not in ({many}) and b > 1",
                "a > 2 and a <= 9 and a != 5",
                "a > 9 and a < 2",
                "a in (1, 3, 5, 8) and a > 2 and b < 9",
                "a not in (1, 3, 5) and a in (2, 3, 4)",
                "a != 4 and a != 7 and b >= 0",
                "a is null and b > 3",
                "a is not null and b is null",
                "a > 1 and b > 1 and (a < 5 or b < 5)",
                "a > 3 and b > 3",
                "b > 3 and a > 3",
            ]
        )
    )
    matcher = Matcher(rules)
    assert by_bounds(matcher)
    events = [{"a": a, "b": b} for a in [*range(-1, 12), 126, 127, "x", True] for b in (0, 2, 4, 9)]
    events += [{}, {"a": None}, {"b": 4}, {"a": 3}, {"a": [3, 4], "b": 2}, {"a": 5, "b": [1, 7]}]
    assert singles(matcher, events) == expected(rules, events)


@pytest.mark.parametrize("count", [0, 1, 2, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 1])
def test_blocks_that_are_full_or_not(count):
    rules = {i: f"a > {i % 50} and b < {(i * 7) % 60} and c != {i}" for i in range(count)}
    rules[-1] = "name = 'x'"
    matcher = Matcher(rules)
    assert by_bounds(matcher) == (count > 0)
    events = [{"a": a, "b": b, "c": 3} for a in (0, 20, 49, 70) for b in (-1, 30, 70)]
    events += [{"name": "x"}, {}]
    found = singles(matcher, events)
    force_single(matcher, "push")
    assert found == singles(matcher, events)
    assert len(found) > count


@pytest.mark.parametrize("most", [299, 300])
def test_no_more_boxes_than_a_directory_names(most, monkeypatch):
    """Beyond them push lists answer, even where bounds are forced."""
    monkeypatch.setattr(bound_index_module, "MOST_BOXES", most)
    monkeypatch.setattr(bound_strategy, "MOST_BOXES", most)
    rules = {i: f"a > {i % 7} and b < {i}" for i in range(300)}
    matcher = Matcher(rules)
    events = [{"a": a, "b": b} for a in range(9) for b in (0, 40, 150, 299)]
    (part,) = matcher.store.snapshot.parts
    assert part.matcher.segment.nodes == 300
    assert by_bounds(matcher) == (most == 300)
    assert singles(matcher, events) == expected(rules, events)


def test_updates_tags_and_limits():
    texts = WORKLOADS["dexin"](1_000).texts()
    matcher = Matcher(enumerate(texts[:600]))
    for i in range(600, 900):
        matcher.add(i, texts[i], tags={"late"})
    matcher.remove([7])
    matcher.add(900, texts[900])
    rules = {i: texts[i] for i in range(901) if i != 7}
    events = WORKLOADS["dexin"](1_000).events(10)
    assert by_bounds(matcher)
    right = expected(rules, events)
    assert singles(matcher, events) == right
    late = {pair for pair in right if 600 <= pair[1] < 900}
    assert singles(matcher, events, tags={"late"}) == late
    assert all(len(matcher.match(event, limit=3)) <= 3 for event in events)


def test_events_with_more_values_than_there_is_room_for():
    names = [f"a{i}" for i in range(400)]
    rules = {i: f"{name} > {i % 7} and a0 < 5" for i, name in enumerate(names)}
    matcher = Matcher(rules)
    assert by_bounds(matcher)
    events: list[dict] = [dict.fromkeys(names, value) for value in (4, [1, 4, 6])]
    assert singles(matcher, events) == expected(rules, events)


def test_rows_and_ends_say_the_same():
    """Each row is the one before it, with the ends in between turned over."""
    rules = {i: f"a between {i} and {i + 100} and b in (1, {i % 9}, 7)" for i in range(700)}
    bounds = index_of(Matcher(rules)).bounds
    entries = bounds.entries.reshape(-1, ENTRY_WORDS)
    assert len(entries) == bounds.block_entry[-1] == 2
    assert (bounds.places >= 0).all()
    rows = bounds.rows.view(np.uint8).reshape(-1, BLOCK // 8)
    bits = np.unpackbits(rows, axis=1, bitorder="little").astype(bool)
    assert bits[0].sum() == 700
    for _, first_end, ends, first_row, _, _, _ in entries.tolist():
        codes = bounds.end_code[first_end : first_end + ends]
        assert (np.diff(codes) >= 0).all()
        assert ends >= BETWEEN
        for j in range(ends // BETWEEN):
            boxes = bounds.end_box[first_end + j * BETWEEN : first_end + (j + 1) * BETWEEN]
            turned = np.bincount(boxes, minlength=BLOCK) % 2 == 1
            assert (bits[first_row + j] ^ turned == bits[first_row + j + 1]).all()
        assert bits[first_row].sum() == 700  # nothing is inside before the first end


def test_rules_that_are_true_are_named_without_their_records():
    matcher = Matcher({1: "a > 1 and b > 1", 2: "(a > 2 and b > 2) or c = 1"})
    places = index_of(matcher).bounds.places
    assert len(places) == 2
    assert sorted(places >= 0) == [False, True]  # that of the second is an operand of an `or`
    assert index_of(Matcher({1: "name like '%x'"})) is None
