"""Audiences read well, parse, and are matched by few events."""

import pytest

from matchwood.lab.workloads.audiences import Audiences
from matchwood.language import evaluate, parse
from matchwood.language.tree import Node


def predicates(rule: Node) -> int:
    return sum(map(predicates, rule.operands)) if rule.operands else 1


def test_same_seed_same_rules_and_events():
    assert Audiences(100).texts() == Audiences(100).texts()
    assert Audiences(1).events(10) == Audiences(1).events(10)
    assert Audiences(100, seed=2).texts() != Audiences(100).texts()
    assert Audiences(1, seed=2).events(10) != Audiences(1).events(10)


def test_rules_parse_and_have_three_to_ten_predicates():
    sizes = {predicates(parse(text)) for text in Audiences(3000).texts()}
    assert sizes == set(range(3, 11))


def test_events_have_about_twenty_attributes():
    events = Audiences(1).events(500)
    assert {len(event) for event in events} <= {18, 19, 20, 21}
    assert all(isinstance(event["interests"], list) for event in events)
    assert any("age" not in event for event in events)


@pytest.mark.slow
def test_an_event_matches_tens_of_a_hundred_thousand():
    rules = [parse(text) for text in Audiences(1000).texts()]
    events = Audiences(1).events(50)
    matches = sum(evaluate(rule, event) is True for rule in rules for event in events)
    assert 20 <= matches / len(events) * (100_000 / len(rules)) <= 60


def test_a_part_is_made_without_the_rest():
    workload = Audiences(3500)
    assert workload.texts(900, 2100) == workload.texts()[900:2100]
    assert workload.texts(3400, 9000) == workload.texts()[3400:]
    assert workload.events(1200, start=950) == workload.events(2150)[950:]
