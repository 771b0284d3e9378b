"""Conjunctions of half-wide ranges match as arithmetic says."""

from itertools import chain

import pytest

from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.language import evaluate, parse
from matchwood.language.tree import And, Between


def test_same_seed_same_rules_and_events():
    assert HalfRanges(rules=100).texts() == HalfRanges(rules=100).texts()
    assert HalfRanges().events(5) == HalfRanges().events(5)
    assert HalfRanges(rules=100, seed=2).texts() != HalfRanges(rules=100).texts()


def test_chunks_are_the_texts():
    workload = HalfRanges(rules=25_000)
    chunks = list(workload.chunks(4_000))
    assert [len(chunk) for chunk in chunks] == [4_000] * 6 + [1_000]
    assert list(chain.from_iterable(chunks)) == workload.texts()


@pytest.mark.parametrize(("attributes", "predicates"), [(100, 5), (20, 10)])
def test_rules_are_half_wide_ranges_on_distinct_attributes(attributes: int, predicates: int):
    workload = HalfRanges(rules=500, attributes=attributes, predicates=predicates)
    for rule in map(parse, workload.texts()):
        assert isinstance(rule, And)
        assert all(isinstance(part, Between) for part in rule.operands)
        assert len({part.attribute for part in rule.operands}) == predicates
        for part in rule.operands:
            assert part.high - part.low == 4_999
            assert part.low >= 0
            assert part.high < 10_000


def test_each_range_halves_the_matches():
    # Four ranges rather than ten, so that a small sample has matches.
    workload = HalfRanges(rules=2_000, attributes=20, predicates=4)
    rules = [parse(text) for text in workload.texts()[::4]]
    events = workload.events(40)
    assert {len(event) for event in events} == {20}
    matches = sum(evaluate(rule, event) is True for rule in rules for event in events)
    assert matches / (500 * 40) == pytest.approx(0.5**4, rel=0.25)


@pytest.mark.parametrize("setting", [{"predicates": 101}, {"event_attributes": 0}])
def test_impossible_settings_are_refused(setting):
    with pytest.raises(ValueError, match="expected 1 to attributes, 100"):
        HalfRanges(**setting)


def test_a_domain_needs_two_halves():
    with pytest.raises(ValueError, match="cardinality is 1, expected at least 2"):
        HalfRanges(cardinality=1)
