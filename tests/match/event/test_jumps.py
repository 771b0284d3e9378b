"""Jumps give the same answers as push lists and as `evaluate`."""

import pytest

from match.event.kinds_of_predicates import all_kinds, events_of_all_kinds
from matcher.expected import EACH, batches, expected, force_single, singles
from matchwood import Matcher
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.fontoura import Fontoura
from matchwood.match.event.jump_kernels import LANES, count_roots, expanded_sizes

WORKLOADS = {
    "abe-gen": lambda n: AbeGen(rules=n, attributes=40, cardinality=20, seed=3),
    "audiences": lambda n: Audiences(n, seed=3),
    "fontoura": lambda n: Fontoura(rules=n, depth=4, seed=3),
}


def steps_of(matcher):
    (part,) = matcher.store.snapshot.parts
    segment = part.segment
    sizes = expanded_sizes(segment.tree.records, segment.first)
    return count_roots(segment.tree.records, sizes)


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads(name):
    workload = WORKLOADS[name](400)
    matcher = Matcher(enumerate(workload.texts()))
    events = [*workload.events(30), {}]
    force_single(matcher, "push")
    right = singles(matcher, events)
    assert force_single(matcher, "jumps")
    assert singles(matcher, events) == right


def test_all_kinds_of_predicates_and_values():
    rules = {i: rule for i, rule in all_kinds(330).items() if "< a" not in rule}
    rules |= {-1: "true", -2: "name like 'x1%'", -3: "not (name like 'x1%')", -4: "a1 is null"}
    matcher = Matcher(rules)
    events = [*events_of_all_kinds(60), {}]
    assert force_single(matcher, "jumps")
    right = expected(rules, events)
    assert singles(matcher, events) == right
    assert batches(matcher, events, EACH) == right


@pytest.mark.parametrize("count", range(2 * LANES + 2))
def test_few_rules_over_all_lanes(count):
    rules = {i: f"a > {i} and (b = {i} or c != {i})" for i in range(count)}
    rules |= {-i: f"a = {i}" for i in range(1, count % 3)}
    matcher = Matcher(rules | {99: "a > 1 and a < 1"})
    events = [{"a": a, "b": b, "c": 2} for a in (0, 1, 9) for b in (0, 2)] + [{}, {"a": [1, 5]}]
    assert force_single(matcher, "jumps")
    assert singles(matcher, events) == expected(rules, events)


def test_tags():
    rules = {i: f"a > {i} or b < {i}" for i in range(40)}
    matcher = Matcher(rules)
    for i in range(40, 60):
        matcher.add(i, f"a > {i} or b < {i}", tags={"late"})
    matcher.compact()
    matcher.join()
    assert force_single(matcher, "jumps")
    assert sorted(matcher.match({"a": 50}, tags={"late"})) == list(range(40, 50))


def test_rules_that_have_too_much_in_common():
    """Each level has the one below it twice, so that it takes twice as many steps written out."""
    rule, counts = "x = 0 or y = 0", []
    for level in range(7):
        matcher = Matcher({1: rule})
        counts.append(steps_of(matcher))
        possible = force_single(matcher, "jumps")
        assert possible == (level < 6)
        events = [{"x": 0, "p0": 1, "q1": 1}, {"y": 0, "q0": 1, "p1": 1, "p2": 1, "q3": 1}]
        assert singles(matcher, events) == expected({1: rule}, events)
        rule = f"(p{level} = 1 and ({rule})) or (q{level} = 1 and ({rule}))"
    assert counts == [(1, 2 ** (level + 2) - 2) for level in range(7)]
