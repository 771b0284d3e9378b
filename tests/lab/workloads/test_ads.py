"""The Ads profile has the figures that the A-Tree paper gives of its own advertisements."""

from collections import Counter
from hashlib import sha256
from itertools import chain

import numpy as np
import pytest

from matchwood.lab.workloads.ads import SHARING, Ads
from matchwood.language import parse
from matchwood.language.tree import And, Node


def levels(rule: Node) -> int:
    return 1 + max(map(levels, rule.operands), default=0)


def parts(rule: Node) -> list[Node]:
    return [rule, *chain.from_iterable(map(parts, rule.operands))]


@pytest.fixture(scope="module")
def rules() -> list[Node]:
    return [parse(text) for text in Ads(rules=2000).texts()]


def test_same_seed_same_bytes():
    texts = "\n".join(Ads(rules=200).texts())
    assert sha256(texts.encode()).hexdigest()[:16] == "11e4aa8fc464b5fe"
    assert sha256(repr(Ads().events(20)).encode()).hexdigest()[:16] == "4cabc6d4ad68b90b"
    assert Ads(rules=200, seed=2).texts() != Ads(rules=200).texts()


def test_a_part_is_made_without_the_rest():
    workload = Ads(rules=3000)
    texts = workload.texts()
    assert workload.texts(1000, 1300) == texts[1000:1300]
    assert list(chain.from_iterable(workload.chunks(700))) == texts
    events = workload.events(2500)
    assert workload.events(100, start=1950) == events[1950:2050]


def test_rules_have_the_papers_levels_and_predicates(rules):
    assert {levels(rule) for rule in rules} == set(range(1, 10))
    sizes = [sum(not part.operands for part in parts(rule)) for rule in rules]
    assert min(sizes) == 1
    assert max(sizes) == 56
    assert sum(sizes) / len(sizes) == pytest.approx(68.76 * 973_794 / 1_392_196, rel=0.05)
    attributes = {p.attribute for rule in rules for p in parts(rule) if not p.operands}
    assert len(attributes) == 122


def test_operators_take_turns(rules):
    for part in chain.from_iterable(map(parts, rules)):
        assert all(type(part) is not type(below) for below in part.operands)
    assert sum(type(rule) is And for rule in rules) / len(rules) == pytest.approx(0.94, abs=0.03)


@pytest.mark.parametrize(("count", "overlap"), [(2_000, 0), (20_000, 0), (20_000, 0.5)])
def test_sharing_falls_as_in_the_paper(count, overlap):
    measured = Ads(rules=count, overlap=overlap).sharing_by_level()
    assert list(measured) == list(range(1, 10))
    for level, shared in measured.items():
        assert shared == pytest.approx(SHARING[level - 1], rel=0.15 if overlap else 0.1)
    assert SHARING[0] == pytest.approx(68.76)
    assert SHARING[8] == pytest.approx(2.88)


def test_sharing_is_that_of_the_texts(rules):
    occurrences: Counter[int] = Counter()
    distinct: dict[int, set[object]] = {level: set() for level in range(1, 10)}

    def identity(node: Node) -> object:
        return (type(node), frozenset(map(identity, node.operands))) if node.operands else node

    for part in chain.from_iterable(map(parts, rules)):
        occurrences[levels(part)] += 1
        distinct[levels(part)].add(identity(part))
    measured = {level: occurrences[level] / len(distinct[level]) for level in distinct}
    assert Ads(rules=2000).sharing_by_level() == pytest.approx(measured)


def test_the_sharing_of_predicates_follows_zipf_s_law():
    """Figure 7(b): from once to very often, in a line where both axes are logarithmic."""
    uses = np.array(Ads(rules=20_000).uses_of_predicates())
    assert (np.diff(uses) <= 0).all()
    assert uses[-1] == 1
    assert uses[0] > 100 * uses.mean()
    ranks = np.arange(1, len(uses) + 1)
    some = np.unique(np.geomspace(1, len(uses) // 2, 50).astype(int)) - 1
    slope, _ = np.polyfit(np.log(ranks[some]), np.log(uses[some]), 1)
    spread = np.corrcoef(np.log(ranks[some]), np.log(uses[some]))[0, 1]
    assert -1.2 < slope < -0.6
    assert spread < -0.95


def test_nodes_contain_others_where_sets_overlap():
    """Among the rules themselves, so that one can be made of another in any order of arrival."""

    def contained(overlap):
        texts = Ads(rules=2000, overlap=overlap).texts()
        sets = {}
        for part in chain.from_iterable(parts(parse(text)) for text in texts):
            if part.operands:
                sets[type(part), frozenset(part.operands)] = levels(part)
        small = {key for key, level in sets.items() if level == 2}
        large = [key for key, level in sets.items() if level > 2]
        found = 0
        for kind, operands in large:
            predicates = frozenset(each for each in operands if not each.operands)
            found += (kind, predicates) in small
        return found / len(large)

    assert contained(0) == 0
    assert 0.3 < contained(0.5) < 0.5  # not all of the smaller ones are part of a rule


def test_events_have_about_twenty_distinct_attributes():
    events = Ads().events(300)
    assert {len(event) for event in events} == set(range(16, 25))
    assert {name for event in events for name in event} == {f"a{i}" for i in range(122)}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rules": 0}, "rules is 0, expected at least 1"),
        ({"overlap": 2}, "overlap is 2, expected a share"),
        ({"attributes": 20}, "event_size is 20, expected at most 4 below attributes, 20"),
    ],
)
def test_impossible_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        Ads(**setting)
