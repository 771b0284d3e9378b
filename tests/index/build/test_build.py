"""Segments are the same however many threads build them, and equal parts of rules are one."""

import random

import numpy as np
import pytest

from matchwood.index.build import threads as build_threads
from matchwood.index.build.segment import build
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import evaluate, parse
from matchwood.matcher import Matcher

ODD = [
    "city = 'Köln' and n in (3, 1, 3)",
    "a1 = 1.5 or a2 in (5)",
    "a1 = 1 -- a comment\n and a2 = 2",
    "name like '%x%' xor flag",
    "not (a1 = 1 and",
    "\ud800 = 1",
    "",
    "a1 between 1 and 2 and " * 40 + "a3 = 3",
]


def contents(rules, threads):
    built = build(rules, threads=threads)
    arrays = [*built.segment.tree, *built.segment.packed, built.order]
    slots = [(slot.attribute, slot.constants) for slot in built.segment.slots]
    refused = [(place, str(error)) for place, error in built.refused]
    return [array.tobytes() for array in arrays], slots, refused


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_do_not_change_what_is_built(monkeypatch, threads):
    monkeypatch.setattr(build_threads, "_WORTHWHILE", 100)
    rules = [*AbeGen(rules=1500, seed=3).texts(), *ODD, *AbeGen(rules=1500, seed=4).texts()]
    assert contents(rules, threads) == contents(rules, 1)


def test_pieces_are_worthwhile_and_complete():
    assert build_threads.pieces_of(9_999, 8) == [(0, 9_999)]
    assert build_threads.pieces_of(30_000, 8) == [(0, 10_000), (10_000, 20_000), (20_000, 30_000)]
    assert build_threads.pieces_of(0, 8) == [(0, 0)]


@pytest.mark.parametrize(
    "same",
    [
        ("a = 5", "a in (5)", "a in (5, 5)", "a = 5.0"),
        ("a in (3, 1, 2)", "a in (1, 2, 3, 3)", "a in (1.0, 2, 3)"),
        ("a between 1 and 2", "A_ = 1 and a between 1 and 2"),
    ],
)
def test_equal_predicates_are_one_however_they_are_written(same):
    for texts in (same, same[::-1]):
        atoms = build(list(texts)).segment.atoms
        assert np.unique(atoms.slot, return_counts=True)[1].max() == 1
    trees = [parse(text) for text in same]  # without the compiled reader
    assert len(build(trees).segment.atoms.slot) == len(build(list(same)).segment.atoms.slot)


def test_wide_nodes_are_sorted_and_shared():
    rng = random.Random(7)
    numbers = rng.sample(range(10_000), 300)
    one = " or ".join(f"a = {n}" for n in numbers)
    rng.shuffle(numbers)
    other = " or ".join(f"a = {n}" for n in numbers)
    segment = build([one, other]).segment
    assert segment.nodes == 1
    matcher = Matcher({1: one, 2: other})
    for value in (numbers[0], numbers[-1], 10_001):
        expected = [1, 2] if evaluate(parse(one), {"a": value}) else []
        assert sorted(matcher.match({"a": value})) == expected


def test_names_that_are_keywords_are_left_to_the_parser():
    refused = build(["between = 1", "a = 1", "and.b = 2"]).refused
    assert [place for place, _ in refused] == [
        place
        for place, text in enumerate(["between = 1", "a = 1", "and.b = 2"])
        if _is_refused(text)
    ]


def _is_refused(text):
    try:
        parse(text)
    except ValueError:
        return True
    return False


def test_rules_of_their_own_come_first_then_groups_then_what_is_never_true():
    rules = ["a = 1", "b = 2 and c = 3", "false", "a = 1", "true", "c = 5 or b = 1", "false"]
    built = build(rules)
    start = built.segment.tree.group_start
    assert start.tolist() == [3, 5]
    assert built.segment.tree.single == 3
    assert built.segment.tree.group_bounds().tolist() == [0, 1, 2, 3, 5]
    assert sorted(built.order[:3].tolist()) == [1, 4, 5]
    assert sorted(built.order[3:5].tolist()) == [0, 3]
    assert sorted(built.order[5:].tolist()) == [2, 6]
    assert build([]).segment.tree.single == 0
    assert build(["a = 1", "a = 1"]).segment.tree.single == 0
    matcher = Matcher(enumerate(rules))
    assert sorted(matcher.match({"a": 1, "b": 1})) == [0, 3, 4, 5]
