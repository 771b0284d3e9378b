"""DEXIN's methods agree, its plans are those of Algorithm 4, and the best plan costs least."""

from itertools import combinations

import numpy as np
import pytest

from matchwood.lab.papers.boxes.dexin import EXHAUSTIVE, Dexin
from matchwood.lab.papers.boxes.dexin_kernels import (
    best_plan as _best,
)
from matchwood.lab.papers.boxes.dexin_kernels import (
    first_fit as _first_fit,
)
from matchwood.lab.papers.boxes.dexin_kernels import (
    plan_cost as _cost,
)
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions as Workload
from matchwood.lab.workloads.half_ranges import HalfRanges

RULES = 3000


@pytest.fixture(scope="module")
def workload():
    made = Workload(rules=RULES, attributes=6, cardinality=500)
    return dict(enumerate(made.texts())), made.events(15)


def test_all_ways_find_the_same(workload):
    rules, events = workload
    one = Dexin(rules)
    right = [sorted(one.match(event)) for event in events]
    assert sum(map(len, right)) > 0
    for switches in [
        {"method": "exclusive"}, {"method": "inclusive"}, {"planner": "optimal"},
        {"ordered": False}, {"slots": 3},
    ]:  # fmt: skip
        other = Dexin(rules, **switches)
        assert [sorted(other.match(event)) for event in events] == right


def test_a_method_alone_is_the_plan_of_all(workload):
    rules, events = workload
    for method in ("exclusive", "inclusive"):
        dexin = Dexin(rules, method=method)
        dexin.match(events[0])
        assert [how for _, how in dexin.plan] == [method] * 6


def test_rates_are_those_of_the_rules(workload):
    """The cost of the exclusive method alone is Formula 8, to the ends in the slots of values."""
    rules, events = workload
    dexin = Dexin(rules, method="exclusive")
    for event in events:
        dexin.match(event)
        met = dexin.work.nodes / len(rules)
        assert met <= dexin.cost <= met + 0.05


def test_counts_follow_the_rules_that_come_and_go(workload):
    """What is counted beyond each slot is what a dexin that is made anew counts."""
    rules, events = workload
    dexin = Dexin({i: rules[i] for i in range(0, RULES, 2)}, slots=50)
    dexin.match(events[0])
    for i in range(0, RULES, 3):
        if i % 2:
            dexin.add(i, rules[i])
        else:
            dexin.remove(i)
    dexin.add("new", "a0 > 400 and other < 3")
    there = {i: dexin._rules[i] for i in dexin._rules}
    counted = dexin._slots.beyond.copy()
    dexin._slots._changed.update(range(len(counted)))
    assert (dexin._slots.beyond == counted).all()
    assert counted.shape == (7, 50)
    fresh = Dexin(there, slots=50)
    assert [sorted(map(str, dexin.match(event))) for event in events] == [
        sorted(map(str, fresh.match(event))) for event in events
    ]


def test_low_matching_rate_first_fit():
    # After the first, 0.2 is left: below 0.7 that does not match the second.
    assert _first_fit(np.array([0.2, 0.3, 0.9])) == 1
    # 0.8 is more than the 0.1 of the second, 0.72 more than the 0.05 of the third.
    assert _first_fit(np.array([0.8, 0.9, 0.95])) == 3
    # 0.5 is more than 0.4 of the second, 0.3 is not more than 0.35 of the third.
    assert _first_fit(np.array([0.5, 0.6, 0.65])) == 2


def test_the_best_plan_costs_least():
    random = np.random.default_rng(3)
    for count in range(1, 8):
        rate = np.sort(random.random(count))
        costs = {}
        for size in range(1, count + 1):
            for chosen in combinations(range(count), size):
                order = [*chosen, *(k for k in range(count) if k not in chosen)]
                costs[chosen] = _cost(rate[order], size)
        best = int(_best(rate))
        found = tuple(k for k in range(count) if best >> k & 1)
        assert costs[found] == pytest.approx(min(costs.values()))
        near = _cost(rate, _first_fit(rate))
        assert near >= costs[found] - 1e-9


def test_the_best_plan_is_for_few_attributes():
    wide = HalfRanges(rules=50, attributes=EXHAUSTIVE + 6, predicates=5, event_attributes=20)
    dexin = Dexin(enumerate(wide.texts()), planner="optimal")
    with pytest.raises(ValueError, match='take planner="near"'):
        dexin.match(wide.events(1)[0])
