"""ABE-Gen has the shape, the sharing and the matches that the A-Tree paper reports."""

from itertools import chain

import pytest

from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import evaluate, parse
from matchwood.language.tree import And, Node, Not, Or, Xnor, Xor

INNER = (And, Or, Not, Xor, Xnor)


def depth(rule: Node) -> int:
    return 1 + max(map(depth, rule.operands), default=0)


def nodes(rule: Node) -> list[Node]:
    return [rule, *chain.from_iterable(nodes(operand) for operand in rule.operands)]


def test_same_seed_same_rules_and_events():
    assert AbeGen(rules=500).texts() == AbeGen(rules=500).texts()
    assert AbeGen(rules=500).events(5) == AbeGen(rules=500).events(5)
    assert AbeGen(rules=500, seed=2).texts() != AbeGen(rules=500).texts()
    assert AbeGen(rules=500, seed=2).events(5) != AbeGen(rules=500).events(5)


def test_chunks_are_the_texts():
    workload = AbeGen(rules=1000)
    assert list(chain.from_iterable(workload.chunks(300))) == workload.texts()


@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_every_text_parses_to_the_depth_asked_for(levels: int):
    rules = [parse(text) for text in AbeGen(rules=300, depth=levels).texts()]
    assert len(rules) == 300
    assert {depth(rule) for rule in rules} == {levels}


def test_nodes_have_the_operators_and_operands_asked_for():
    workload = AbeGen(rules=2000, operators=(0.2, 0.3, 0.3, 0.1, 0.1), operands=6)
    rules = [parse(text) for text in workload.texts()]
    inner = [node for rule in rules for node in nodes(rule) if node.operands]
    assert {(type(node), len(node.operands)) for node in inner} == {
        (And, 6),
        (Or, 6),
        (Not, 1),
        (Xor, 2),
        (Xnor, 2),
    }
    for kind, share in zip(INNER, workload.operators, strict=True):
        assert sum(type(rule) is kind for rule in rules) / 2000 == pytest.approx(share, abs=0.04)


def test_all_nine_operators_are_used():
    predicates = AbeGen(rules=2000, depth=1).texts()
    words = {" ".join(word for word in text.split()[1:3] if word.isalpha()) for text in predicates}
    assert words == {"", "in", "not in", "between"}
    assert {text.split()[1] for text in predicates} == {
        *("=", "!=", "<", "<=", ">", ">="),
        *("in", "not", "between"),
    }


@pytest.mark.parametrize("rules", [5_000, 50_000])
def test_sharing_is_the_papers_at_every_size(rules: int):
    sharing = AbeGen(rules=rules).sharing()
    assert sharing["predicates"] == pytest.approx(18.35, rel=0.1)
    assert sharing["subexpressions"] == pytest.approx(4.33, rel=0.05)


def test_sharing_is_that_of_the_texts():
    workload = AbeGen(rules=2000)
    below = [part for text in workload.texts() for part in nodes(parse(text))[1:]]
    predicates = [node for node in below if not node.operands]
    assert workload.sharing()["predicates"] == len(predicates) / len(set(predicates))
    subexpressions = [(type(n), frozenset(n.operands)) for n in below if n.operands]
    shared = len(subexpressions) / len(set(subexpressions))
    assert workload.sharing()["subexpressions"] == shared


def test_sharing_by_level_counts_the_rules_too():
    workload = AbeGen(rules=2000)
    levels = workload.sharing_by_level()
    assert list(levels) == [1, 2, 3]
    assert levels[1] == workload.sharing()["predicates"]
    assert levels[2] == workload.sharing()["subexpressions"]
    rules = [parse(text) for text in workload.texts()]
    assert levels[3] == len(rules) / len({(type(r), frozenset(r.operands)) for r in rules})
    assert list(AbeGen(rules=100, depth=1).sharing_by_level()) == [1]


def test_sharing_grows_with_alpha_from_none():
    sharing = [AbeGen(rules=5000, alpha=alpha).sharing() for alpha in (0, 0.4, 0.8)]
    for part in ("predicates", "subexpressions"):
        shared = [measured[part] for measured in sharing]
        assert shared == sorted(shared)
        assert shared[0] == pytest.approx(1, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("distribution", "share"), [("uniform", 0.027), ("zipf", 0.069)])
def test_the_share_of_rules_that_match_is_as_measured_before(distribution, share):
    # Measured of this generator; the paper does not say how many rules an event matches.
    workload = AbeGen(rules=20_000)
    rules = [parse(text) for text in workload.texts()[::80]]
    events = workload.events(50, distribution)
    matches = sum(evaluate(rule, event) is True for rule in rules for event in events)
    assert matches / (len(rules) * len(events)) == pytest.approx(share, rel=0.25)


@pytest.mark.parametrize("distribution", ["uniform", "zipf"])
def test_events_have_distinct_attributes_and_values_of_the_domain(distribution):
    workload = AbeGen(attributes=50, cardinality=7, event_size=12)
    events = workload.events(200, distribution)
    assert {len(event) for event in events} == {12}
    assert {name for event in events for name in event} == {f"a{i}" for i in range(50)}
    assert {value for event in events for value in event.values()} == set(range(7))


def test_zipf_events_have_the_attributes_that_rules_have():
    workload = AbeGen()
    uniform, zipf = (
        sum("a0" in event for event in workload.events(300, distribution)) / 300
        for distribution in ("uniform", "zipf")
    )
    assert uniform == pytest.approx(0.02, abs=0.03)
    assert zipf > 0.25


@pytest.mark.parametrize(
    "setting", [{"cardinality": 1}, {"cardinality": 3}, {"attributes": 30}, {"rules": 1}]
)
def test_small_settings_parse(setting):
    workload = AbeGen(**{"rules": 100, **setting})
    assert len([parse(text) for text in workload.texts()]) == workload.rules
    assert len(workload.events(3)) == 3


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rules": 0}, "rules is 0, expected at least 1"),
        ({"operands": 1}, "operands is 1, expected at least 2"),
        ({"attributes": 10}, "event_size is 20, expected at most attributes, 10"),
    ],
)
def test_impossible_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        AbeGen(**setting)


def test_unknown_distribution_is_refused():
    with pytest.raises(ValueError, match="expected 'uniform' or 'zipf'"):
        AbeGen().events(1, "normal")


@pytest.mark.parametrize("setting", [{}, {"alpha": 0.0}, {"depth": 1}, {"depth": 5}])
def test_a_part_is_made_without_the_rest(setting):
    workload = AbeGen(rules=3000, **setting)
    texts = workload.texts()
    assert workload.texts(1000, 1300) == texts[1000:1300]
    assert workload.texts(2900, 4000) == texts[2900:]
    events = workload.events(2500)
    assert workload.events(100, start=1950) == events[1950:2050]
