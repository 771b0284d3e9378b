"""Every algorithm, with every switch, and the engine, say what `evaluate` says."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.papers.shared.conjunctive_rules import conjunctions, numeric_events
from matcher.expected import expected
from matcher.random_rules import coded_rules, events, examples, lazy, ordered, stringy, trees
from matchwood import Matcher
from matchwood.lab.papers.algorithms import ALGORITHMS
from matchwood.lab.papers.shared.protocol import Unsupported, Work
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import parse
from matchwood.language.tree import Not

# Switches beyond an algorithm's own choice, by its name
SWITCHES: dict[str, list[dict[str, object]]] = {
    "a-tree": [
        {"sharing": False},
        {"reorganize": False, "self_adjust": False},
        {"self_adjust": False, "on_demand": False},
        {"zero_suppression": False},
        {"zero_suppression": False, "binary": True},
        {"access": "estimated"},
        {"binary": True},
    ],
    "dewey": [{"walk": True, "share": False, "depth": 3}],
    "interval": [{"walk": True}, {"share": False, "depth": 2}],
    "scan-conjunctions": [{"depth": 1}],
    "translation": [{"walk": True}],
    "dexin": [
        {"planner": "optimal"},
        {"method": "exclusive", "ordered": False},
        {"method": "inclusive", "slots": 7},
    ],
    "be-tree": [{"capacity": 2}],
    "h-tree": [{"indexed": 2, "cells": 3, "parts": 9}],
}
# Those that take nothing but conjunctions: they are asked about more of them
OF_CONJUNCTIONS = (
    "dexin", "rein", "tama", "opindex", "be-tree", "h-tree", "bitmaps",
    "fair-predicate", "equality-preferred", "quarantining", "gough", "hanson", "aguilera", "neon",
)  # fmt: skip
CASES = [
    pytest.param(name, switches, id="-".join([name, *(f"{k}={v}" for k, v in switches.items())]))
    for name in ALGORITHMS
    for switches in [{}, *SWITCHES.get(name, [])]
]
every = pytest.mark.parametrize(("name", "switches"), CASES)
of_conjunctions = pytest.mark.parametrize(
    ("name", "switches"), [case for case in CASES if case.values[0] in OF_CONJUNCTIONS]
)
NO_OPERATORS = [ordered, stringy, lazy.filter(lambda text: "(" not in text or "contains" in text)]
any_rules = trees(*NO_OPERATORS, st.sampled_from(["true", "false"]))


def supported(name, given_rules):
    kind = ALGORITHMS[name]
    return {number: rule for number, rule in enumerate(given_rules) if kind.supports(rule)}


def within(name, texts):
    """Those that an algorithm supports; few of them for one that explodes."""
    kind = ALGORITHMS[name]
    rules = {number: text for number, text in texts.items() if kind.supports(parse(text))}
    return dict(list(rules.items())[:25]) if name == "gough" else rules


def answers(algorithm, given_events):
    found = set()
    for number, event in enumerate(given_events):
        ids = algorithm.match(event)
        assert len(ids) == len(set(ids)), "a rule is reported twice"
        found |= {(number, rule_id) for rule_id in ids}
        assert all(count >= 0 for count in algorithm.work)
    return found


def agrees(algorithm, found, right):
    """An approximate one may find more."""
    return found >= right if algorithm.approximate else found == right


@every
@given(st.lists(any_rules, max_size=12), st.lists(events, max_size=5))
@examples(0.15)
def test_built_from_any_rules(name, switches, given_rules, given_events):
    rules = supported(name, given_rules)
    algorithm = ALGORITHMS[name](rules, **switches)
    assert agrees(algorithm, answers(algorithm, given_events), expected(rules, given_events))
    assert algorithm.bytes > 0


@of_conjunctions
@pytest.mark.parametrize("never", ["x > 5 and x < 3 and y > 1", "y = 3 and x = 1 and x = 2"])
def test_conjunctions_that_are_never_true(name, switches, never):
    event = {"x": 4, "y": 3}
    assert ALGORITHMS[name]({1: never}, **switches).match(event) == []
    found = ALGORITHMS[name]({1: never, 2: "x = 4 and y > 2"}, **switches).match(event)
    assert found == [2] or ALGORITHMS[name].approximate


@of_conjunctions
@given(
    st.lists(conjunctions, max_size=8),
    st.lists(st.one_of(conjunctions, st.integers(0, 20)), max_size=14),
    st.lists(numeric_events, min_size=1, max_size=4),
)
@examples(0.15)
def test_conjunctions_come_and_go(name, switches, first, changes, given_events):
    """Free and missing attributes, open and closed ends, `!=` and `not between`."""
    rules = dict(enumerate(first))
    algorithm = ALGORITHMS[name](rules, **switches)
    right = expected(rules, given_events)
    assert agrees(algorithm, answers(algorithm, given_events), right)
    if not algorithm.updates:
        return
    for number, change in enumerate(changes, 100):
        if isinstance(change, int):
            if rules:
                gone = sorted(rules)[change % len(rules)]
                del rules[gone]
                algorithm.remove(gone)
        else:
            rules[number] = change
            algorithm.add(number, change)
        event = given_events[number % len(given_events)]
        assert agrees(algorithm, answers(algorithm, [event]), expected(rules, [event]))


@every
@given(
    st.lists(coded_rules, max_size=6),
    st.lists(st.one_of(coded_rules, st.integers(0, 20)), max_size=14),
    st.lists(events, min_size=1, max_size=3),
)
@examples(0.15)
def test_rules_come_and_go(name, switches, first, changes, given_events):
    """A rule among the changes is added; a number removes one of the rules that are there."""
    rules = supported(name, first)
    algorithm = ALGORITHMS[name](rules, **switches)
    if not algorithm.updates:
        with pytest.raises(Unsupported):
            algorithm.add("new", "a = 1")
        return
    for number, change in enumerate(changes, 100):
        if isinstance(change, int):
            if rules:
                gone = sorted(rules)[change % len(rules)]
                del rules[gone]
                algorithm.remove(gone)
        elif algorithm.supports(change):
            rules[number] = change
            algorithm.add(number, change)
        event = given_events[number % len(given_events)]
        assert agrees(algorithm, answers(algorithm, [event]), expected(rules, [event]))


@pytest.fixture(scope="module")
def abe_gen():
    workload = AbeGen(rules=600, attributes=12, cardinality=6, event_size=8, alpha=0.8)
    texts = dict(enumerate(workload.texts()))
    given_events = list(workload.events(25))
    return texts, given_events, expected(texts, given_events)


@every
def test_abe_gen(name, switches, abe_gen):
    texts, given_events, right = abe_gen
    kind = ALGORITHMS[name]
    rules = within(name, texts)
    algorithm = kind(rules, **switches)
    right = {pair for pair in right if pair[1] in rules}
    assert agrees(algorithm, answers(algorithm, given_events), right)
    assert isinstance(algorithm.work, Work)
    assert algorithm.work.predicates > 0
    assert algorithm.work.candidates <= len(rules)


@every
def test_abe_gen_in_any_order(name, switches, abe_gen):
    """Added one by one, removed one by one, and added again, in the order of dice."""
    texts, given_events, right = abe_gen
    kind = ALGORITHMS[name]
    if not kind.updates:
        pytest.skip("built once")
    dice = random.Random(3)
    rules = within(name, texts)
    algorithm = kind({number: rules[number] for number in list(rules)[:50]}, **switches)
    there, away = set(list(rules)[:50]), list(rules)[50:]
    for step in range(450):
        if away and (dice.random() < 0.6 or not there):
            number = away.pop(dice.randrange(len(away)))
            algorithm.add(number, rules[number])
            there.add(number)
        else:
            number = dice.choice(sorted(there))
            algorithm.remove(number)
            there.discard(number)
            away.append(number)
        if step % 30 == 0:
            at = dice.randrange(len(given_events))
            right_now = {pair[1] for pair in right if pair[0] == at and pair[1] in there}
            assert agrees(algorithm, set(algorithm.match(given_events[at])), right_now)
    for number in sorted(there):
        algorithm.remove(number)
    assert answers(algorithm, given_events) == set()


@every
def test_bytes_grow_with_rules(name, switches, abe_gen):
    kind = ALGORITHMS[name]
    rules = within(name, abe_gen[0])
    few = {number: rules[number] for number in list(rules)[:20]}
    assert 0 < kind(few, **switches).bytes < kind(rules, **switches).bytes


@every
def test_ids_are_checked(name, switches):
    algorithm = ALGORITHMS[name]({"x": "a = 1"}, **switches)
    if not algorithm.updates:
        pytest.skip("built once")
    with pytest.raises(KeyError):
        algorithm.remove("y")
    with pytest.raises(ValueError, match="'x' exists already"):
        algorithm.add("x", "a = 2")
    assert algorithm.match({"a": 1}) == ["x"]
    assert algorithm.match({"a": 2}) == [] or algorithm.approximate


@every
def test_constants_and_undefined(name, switches):
    rules = {
        "always": "true", "never": "false", "odd": "x = 1 xor y = 1", "even": "x = 1 xnor y = 1",
        "not both": "not (x = 1 and y = 1)", "either": "x = 1 or not (x = 1)",
        "same": "x = 1 xor x = 1", "three": "x = 1 xor y = 1 xnor z = 1", "null": "x is null",
        "not odd": "not (x = 1 xor y = 1)", "with true": "(x = 1 or true) and not (y = 1)",
        "twice": "(x = 1 or y = 1) and (x = 1 or z = 1)", "again": "x = 1 xor (y = 1 or z = 1)",
    }  # fmt: skip
    kind = ALGORITHMS[name]
    rules = {rule_id: text for rule_id, text in rules.items() if kind.supports(parse(text))}
    given_events = [{}, {"x": 1}, {"x": 0}, {"y": 0}, {"x": 1, "y": 1}, {"x": 0, "y": 0, "z": 1}]
    given_events += [{"x": 1, "y": 0, "z": 0}, {"x": [1, 2], "y": []}, {"x": "1", "y": 1}]
    right = expected(rules, given_events)
    algorithm = kind(rules, **switches)
    assert agrees(algorithm, answers(algorithm, given_events), right)
    negated = {rule_id: Not(parse(text)) for rule_id, text in rules.items()}
    negated = {rule_id: tree for rule_id, tree in negated.items() if kind.supports(tree)}
    algorithm = kind(negated, **switches)
    assert agrees(algorithm, answers(algorithm, given_events), expected(negated, given_events))


def test_the_engine_says_the_same(abe_gen):
    texts, given_events, right = abe_gen
    matcher = Matcher(texts)
    found = {(i, rule) for i, event in enumerate(given_events) for rule in matcher.match(event)}
    assert found == right
