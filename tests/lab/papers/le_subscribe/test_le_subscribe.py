"""Le Subscribe's algorithms on its own workload, and what each of them is about."""

import random

import pytest

from matcher.expected import expected
from matchwood.lab.papers.le_subscribe.aguilera import Aguilera
from matchwood.lab.papers.le_subscribe.equality_preferred import EqualityPreferred
from matchwood.lab.papers.le_subscribe.fair_predicate import FairPredicate
from matchwood.lab.papers.le_subscribe.gough import Gough
from matchwood.lab.papers.le_subscribe.hanson import Hanson
from matchwood.lab.papers.le_subscribe.neon import Neon
from matchwood.lab.papers.le_subscribe.quarantining import Quarantining
from matchwood.lab.papers.shared.protocol import OverBudget, Unsupported
from matchwood.lab.workloads.le_subscribe import LeSubscribe

ALL = [FairPredicate, EqualityPreferred, Quarantining, Hanson, Aguilera, Neon, Gough]
every = pytest.mark.parametrize("kind", ALL)
every_but_gough = pytest.mark.parametrize("kind", ALL[:-1])


def small(equality, rules=200):
    """Few values, so that predicates are shared and events match."""
    return LeSubscribe(rules=rules, equality=equality, string_values=4, number_values=25)


def answers(algorithm, events):
    return {(i, rule) for i, event in enumerate(events) for rule in algorithm.match(event)}


@every
@pytest.mark.parametrize("equality", [0, 0.5, 1])
def test_all_find_the_same(kind, equality):
    workload = small(equality, rules=40 if kind is Gough else 200)
    rules, events = dict(enumerate(workload.texts())), workload.events(25)
    right = expected(rules, events)
    assert right
    assert answers(kind(rules), events) == right


@every_but_gough
def test_rules_come_and_go(kind):
    workload = small(0.5)
    rules, events = dict(enumerate(workload.texts())), workload.events(12)
    right = expected(rules, events)
    dice = random.Random(5)
    there = set(range(0, 200, 3))
    algorithm = kind({number: rules[number] for number in there})
    for step in range(500):
        number = dice.randrange(200)
        if number in there:
            algorithm.remove(number)
        else:
            algorithm.add(number, rules[number])
        there ^= {number}
        if step % 50 == 0:
            assert answers(algorithm, events) == {pair for pair in right if pair[1] in there}
    fresh = kind({number: rules[number] for number in there})
    assert algorithm.bytes < 6 * fresh.bytes
    for number in there:
        algorithm.remove(number)
    assert answers(algorithm, events) == set()


@every_but_gough
def test_what_is_gone_for_good_is_forgotten(kind):
    """Constants, predicates and nodes of rules that are gone do not pile up."""
    algorithm = kind({"stays": "a <= 5"})
    sizes = []
    for number in range(700):
        algorithm.add(number, f"a = {number} and b > {number}")
        algorithm.remove(number)
        sizes.append(algorithm.bytes)
    assert max(sizes[350:]) <= max(sizes[:350])
    assert algorithm.match({"a": 5, "b": 9}) == ["stays"]


@every_but_gough
def test_constants_that_arrive_in_order(kind):
    """Which crowds an axis, so that all codes are made anew, and makes a plain tree a list."""
    algorithm = kind({})
    for number in range(400):
        algorithm.add(number, f"a <= {number} and b >= 0")
    assert sorted(algorithm.match({"a": 390, "b": 0})) == list(range(390, 400))
    if kind is Hanson:
        assert algorithm.work.nodes <= 2 * 9 + 8 + 2


@every
def test_events_of_other_kinds(kind):
    rules = {
        "cheap": "price < 10", "toy": "kind = 'toy' and price <= 20", "both": "x > 1 and x < 3",
        "late": "day >= date '2026-01-31'", "text": "price = 'low'", "wide": "x between 1 and 9",
        "other": "x != 2", "none": "x > 3 and x < 2", "all": "true", "never": "false",
    }  # fmt: skip
    events = [
        {}, {"price": 5, "kind": "toy"}, {"price": "low"}, {"price": "9"}, {"x": [0, 4]}, {"x": 2},
        {"x": []}, {"day": "2026-02-01"}, {"price": 10.0}, {"x": {"y": 1}}, {"x": None}, {"x": 9.0},
        {"kind": ["toy", "car"], "price": [25, 3]}, {"x": True}, {"unknown": 1},
    ]  # fmt: skip
    algorithm = kind(rules)
    assert answers(algorithm, events) == expected(rules, events)


@every
def test_what_is_no_conjunction_is_refused(kind):
    with pytest.raises(Unsupported, match="rule 2 of 2: it is not a conjunction"):
        kind({"a": "x = 1", "b": "x = 1 or y = 2"})


def test_fewer_rules_are_asked_from_algorithm_to_algorithm():
    workload = small(0.5, rules=600)
    rules, events = dict(enumerate(workload.texts())), workload.events(20)
    fair, preferred, quarantining = (kind(rules) for kind in ALL[:3])
    for event in events:
        for algorithm in (fair, preferred, quarantining):
            algorithm.match(event)
        assert fair.work.candidates == 600
        assert preferred.work.candidates == quarantining.work.candidates < 300
        # Fewer bounds are counted: only those of rules in quarantine.
        assert quarantining.work.nodes <= preferred.work.nodes <= fair.work.nodes
    assert fair.bytes < preferred.bytes < quarantining.bytes


def test_equality_preferred_and_quarantining_are_one_without_bounds():
    workload = small(1)
    rules, events = dict(enumerate(workload.texts())), workload.events(20)
    preferred, quarantining = EqualityPreferred(rules), Quarantining(rules)
    for event in events:
        preferred.match(event)
        quarantining.match(event)
        assert preferred.work == quarantining.work
        assert preferred.work.nodes == 0


def test_equality_preferred_forgets_what_it_counted():
    preferred = EqualityPreferred({n: f"kind = {n} and price <= {n}" for n in range(100)})
    for price, kind in ((90, 95), (90, 95), (0, 5), (90, 95)):  # few bounds are true, or all
        assert preferred.match({"price": price, "kind": kind}) == [kind]
        assert preferred.work.nodes == 100 - price


def test_hanson_takes_the_most_selective_predicate():
    values = {f"v{n}": f"kind = 'k{n}' and price <= {n}" for n in range(50)}
    hanson = Hanson({**values, "narrow": "price between 30 and 31 and size > 1"})
    assert hanson.match({"price": 0, "kind": "k7"}) == ["v7"]
    assert hanson.work.candidates == 1  # not the fifty prices that are above
    assert hanson.work.predicates == 1  # the other one, not that by which the rule was found
    hanson.match({"price": 45, "size": 2})
    assert hanson.work.candidates == 0
    hanson.match({"price": 30})
    assert (hanson.work.candidates, hanson.work.predicates) == (1, 1)


def test_aguilera_does_not_depend_on_the_order_of_arrival():
    first = {"first": "s0 = '' and s1 = '' and s2 = '' and n0 = 0 and n1 = 0 and n2 = 0"}
    rules = list(enumerate(small(0.5).texts()))
    event = small(0.5).events(3)[2]
    built = Aguilera({**first, **dict(rules)})
    random.Random(2).shuffle(rules)
    arrived = Aguilera(first)  # attributes are in the order of their first rule
    for number, rule in rules:
        arrived.add(number, rule)
    assert sorted(built.match(event)) == sorted(arrived.match(event))
    assert built._node_count == arrived._node_count


def test_neon_evaluates_every_predicate_of_an_operation():
    neon = Neon({number: f"a = {number} and b > {number}" for number in range(50)})
    assert neon.match({"a": 7}) == []
    assert (neon.work.predicates, neon.work.nodes) == (50, 1)
    assert neon.match({"a": 7, "b": 8}) == [7]
    assert neon.work.predicates == 100


def test_gough_follows_one_path_and_explodes():
    workload = small(0.5, rules=40)
    rules = dict(enumerate(workload.texts()))
    gough = Gough(rules)
    for event in workload.events(10):
        gough.match(event)
        assert gough.work.nodes <= 6
    assert gough.bytes > 20 * FairPredicate(rules).bytes
    with pytest.raises(OverBudget, match=r"the tree of 40 rules takes more than 4,000 bytes"):
        Gough(rules, budget=4000)
    with pytest.raises(Unsupported, match="Gough is built once: it has no way to add a rule"):
        gough.add("new", "s0 = 'v1'")
    with pytest.raises(Unsupported, match="no way to remove a rule"):
        gough.remove(3)
