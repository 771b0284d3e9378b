"""Fontoura's contracts have the shape of the paper's generator, and the selectivity asked for."""

from hashlib import sha256
from itertools import chain

import pytest

from matchwood.lab.workloads.fontoura import Fontoura
from matchwood.language import evaluate, parse
from matchwood.language.tree import And, Comparison, Node, Or


def leaves(rule: Node) -> list[Node]:
    return list(chain.from_iterable(map(leaves, rule.operands))) if rule.operands else [rule]


def matched(workload: Fontoura) -> float:
    rules = [parse(text) for text in workload.texts()]
    events = workload.events(40)
    return sum(evaluate(r, e) is True for r in rules for e in events) / len(rules) / len(events)


def test_same_seed_same_bytes():
    texts = "\n".join(Fontoura(rules=500, depth=3).texts())
    assert sha256(texts.encode()).hexdigest()[:16] == "9fc1ad0fd3ae5340"
    events = repr(Fontoura().events(20))
    assert sha256(events.encode()).hexdigest()[:16] == "809e81cfe303df42"
    assert Fontoura(rules=500, seed=2).texts() != Fontoura(rules=500).texts()


@pytest.mark.parametrize("setting", [{}, {"depth": 4}, {"depth": 2, "selectivity": 0.3}])
def test_a_part_is_made_without_the_rest(setting):
    workload = Fontoura(rules=3000, **setting)
    texts = workload.texts()
    assert workload.texts(1000, 1300) == texts[1000:1300]
    assert list(chain.from_iterable(workload.chunks(700))) == texts
    events = workload.events(2500)
    assert workload.events(100, start=1950) == events[1950:2050]


def test_rules_alternate_and_end_in_conjunctions():
    # Without nodes of one child, and with conjunctions of two, every level can be seen.
    workload = Fontoura(
        rules=300, depth=3, children=(0.0, 0.0, 0.5, 0.5), sizes=(0.0, 1.0), attributes=60
    )
    kinds = [And, Or, And, And]
    for text in workload.texts():
        level = [parse(text)]
        for kind in kinds:
            assert all(type(node) is kind for node in level)
            below = [node.operands for node in level]
            assert {len(operands) for operands in below} <= {2, 3}
            level = list(chain.from_iterable(below))
        assert all(type(leaf) is Comparison and leaf.op == "=" for leaf in level)
        for operands in below:
            assert len({leaf.attribute for leaf in operands}) == 2


def test_depths_lie_between_the_least_and_the_greatest():
    setting = {"children": (0.5, 0.0, 0.5), "sizes": (1.0,)}

    def depth(rule: Node) -> int:
        return 1 + max(map(depth, rule.operands), default=-1)

    for least in (1, 2):
        workload = Fontoura(rules=400, depth=3, minimum_depth=least, **setting)
        assert {depth(parse(text)) for text in workload.texts()} == set(range(least, 4))


def test_counts_are_drawn_as_asked():
    workload = Fontoura(rules=4000, depth=1, sizes=(1.0,))
    counts = [max(1, len(parse(text).operands)) for text in workload.texts()]
    for count, share in enumerate(workload.children):
        assert counts.count(count) / 4000 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(("depth", "paper"), [(1, 0.2285), (2, 0.5797), (3, 0.1097), (4, 0.4923)])
def test_selectivity_is_near_the_papers(depth, paper):
    assert Fontoura(rules=2000, depth=depth).measured_selectivity() == pytest.approx(paper, rel=0.3)


@pytest.mark.parametrize("selectivity", [None, 0.25, 0.05, 0.0])
def test_selectivity_is_what_was_asked_for(selectivity):
    workload = Fontoura(rules=200, selectivity=selectivity)
    expected = workload.unfilled_selectivity if selectivity is None else selectivity
    assert workload.measured_selectivity() == pytest.approx(expected, abs=0.03)
    assert matched(workload) == pytest.approx(workload.measured_selectivity(), abs=0.03)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"depth": 0}, "depth is 0, expected at least 1"),
        ({"attributes": 20}, "attributes is 20, expected at least event_size, 50"),
        ({"children": (0.5, 0.2)}, "expected probabilities whose sum is 1"),
        ({"children": (1.0,)}, "children says that no node has any"),
    ],
)
def test_impossible_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        Fontoura(**setting)


def test_more_selectivity_than_there_is_is_refused():
    with pytest.raises(ValueError, match=r"selectivity is 0.9, expected 0 to 0\.5"):
        Fontoura(rules=1000, selectivity=0.9).texts()
