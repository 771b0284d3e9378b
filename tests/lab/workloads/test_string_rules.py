"""Rules over text parse, are of the four kinds, and are matched by few events."""

import pytest

from matchwood.lab.workloads.string_rules import ATTRIBUTES, StringRules
from matchwood.language import evaluate, parse
from matchwood.language.tree import And, Call, Like, walk
from matchwood.match.patterns.pattern_index import PatternIndex


def predicates(rule):
    return [node for node in walk(rule) if isinstance(node, Like | Call)]


def test_same_seed_same_rules_and_events():
    assert StringRules(100).texts() == StringRules(100).texts()
    assert StringRules(1).events(10) == StringRules(1).events(10)
    assert StringRules(100, seed=2).texts() != StringRules(100).texts()
    assert StringRules(1, seed=2).events(10) != StringRules(1).events(10)


def test_rules_have_one_to_three_predicates_of_four_kinds_over_ten_attributes():
    rules = [predicates(parse(text)) for text in StringRules(3000).texts()]
    assert {len(rule) for rule in rules} == {1, 2, 3}
    kinds = {node.kind if isinstance(node, Like) else node.name for rule in rules for node in rule}
    assert kinds == {"like", "ilike", "contains", "endswith"}
    assert {name for rule in rules for node in rule for name in node.attributes} == {*ATTRIBUTES}


def test_events_are_ten_strings_that_repeat_as_their_kind_does():
    events = StringRules(1).events(2000)
    assert all(tuple(event) == ATTRIBUTES for event in events)
    assert all("{" not in text for event in events for text in event.values())
    distinct = {name: len({event[name] for event in events}) / 2000 for name in ATTRIBUTES}
    assert distinct["process"] < 0.2
    assert distinct["path"] < 0.8
    assert distinct["command_line"] > 0.95


@pytest.mark.slow
def test_an_event_matches_a_few_of_a_hundred_thousand():
    rules = [parse(text) for text in StringRules(10_000).texts()]
    events = StringRules(1).events(60)
    nodes = dict.fromkeys(node for rule in rules for node in predicates(rule))
    indexes = {
        name: PatternIndex([(i, node) for i, node in enumerate(nodes) if name in node.attributes])
        for name in ATTRIBUTES
    }
    matches = 0
    for event in events:
        hits = {i for name, index in indexes.items() for i in index.hits(event[name]).tolist()}
        true = {node for i, node in enumerate(nodes) if i in hits}
        found = [
            rule for rule in rules if true.intersection(predicates(rule)) and holds(rule, true)
        ]
        assert all(evaluate(rule, event) is True for rule in found)
        matches += len(found)
    assert 1 <= matches / len(events) * (100_000 / len(rules)) <= 10


def holds(rule, true):
    """Whether a rule is true, where these predicates are: its operands are at most two deep."""
    if not rule.operands:
        return rule in true
    return (all if isinstance(rule, And) else any)(holds(part, true) for part in rule.operands)
