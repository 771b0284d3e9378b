"""Le Subscribe's rules and events are distributed as its section 4 says."""

from collections import Counter
from hashlib import sha256
from itertools import chain

import pytest

from matchwood.lab.workloads.le_subscribe import LeSubscribe
from matchwood.language import parse
from matchwood.language.tree import Comparison


def predicates(text: str) -> list[Comparison]:
    tree = parse(text)
    found = list(tree.operands) or [tree]
    assert all(isinstance(predicate, Comparison) for predicate in found)
    return found


def test_same_seed_same_bytes():
    texts = "\n".join(LeSubscribe(rules=500).texts())
    assert sha256(texts.encode()).hexdigest()[:16] == "26a77a2e0f22e873"
    events = repr(LeSubscribe().events(20))
    assert sha256(events.encode()).hexdigest()[:16] == "a4a363120d8ddfb7"
    assert LeSubscribe(rules=500, seed=2).texts() != LeSubscribe(rules=500).texts()


def test_a_part_is_made_without_the_rest():
    workload = LeSubscribe(rules=3000)
    texts = workload.texts()
    assert workload.texts(1000, 1300) == texts[1000:1300]
    assert list(chain.from_iterable(workload.chunks(700))) == texts
    assert workload.events(100, start=150) == workload.events(250)[150:]


@pytest.mark.parametrize("equality", [0, 0.5, 1])
def test_predicates_are_as_in_the_paper(equality):
    rules = [predicates(text) for text in LeSubscribe(rules=6000, equality=equality).texts()]
    assert all(rules)  # a rule that asks for nothing is drawn again
    asked = list(chain.from_iterable(rules))
    by_attribute = Counter(predicate.attribute for predicate in asked)
    assert sorted(by_attribute) == ["n0", "n1", "n2", "s0", "s1", "s2"]
    # 0.5, among the 63 of 64 draws that ask for something
    assert all(abs(n / len(rules) - 32 / 63) < 0.03 for n in by_attribute.values())
    strings = [p for p in asked if p.attribute.startswith("s")]
    assert {p.op for p in strings} == {"="}
    assert {p.value for p in strings} == {f"v{i}" for i in range(200)}
    compared = Counter(p.op for p in asked if p.attribute.startswith("n"))
    total = compared.total()
    assert abs(compared["="] / total - equality) < 0.03
    assert abs(compared["<="] / total - compared[">="] / total) < 0.03
    values = [p.value for p in asked if p.attribute.startswith("n")]
    assert min(values) >= 0
    assert max(values) < 5000
    assert len(set(values)) > 4000


def test_events_have_each_attribute_half_the_time():
    events = LeSubscribe().events(4000)
    seen = Counter(chain.from_iterable(events))
    assert all(abs(n / len(events) - 0.5) < 0.03 for n in seen.values())
    assert len(seen) == 6
    assert {} in events
    assert all(isinstance(v, str) == k.startswith("s") for e in events for k, v in e.items())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rules": 0}, "rules is 0, expected at least 1"),
        ({"equality": 1.5}, "equality is 1.5, expected a probability"),
        ({"present": 0}, "present is 0, expected a probability above 0"),
        ({"strings": 0, "numbers": 0}, "expected an attribute"),
    ],
)
def test_settings_are_checked(setting, message):
    with pytest.raises(ValueError, match=message):
        LeSubscribe(**setting)
