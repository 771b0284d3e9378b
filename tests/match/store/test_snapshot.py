"""A snapshot answers without a matcher, never changes, and is the same after a file."""

import pytest

from matchwood import Matcher, RuleError
from matchwood.match.store.snapshot import Snapshot
from matchwood.operators.deciding import Decider
from matchwood.operators.geo import available

RULES = {"adults": "age >= 18", "teens": "age between 13 and 19", "vip": "tier = 'gold'"}
EVENTS = [{"age": 18}, {"age": 40, "tier": "gold"}, {}]
RIGHT = {(0, "adults"), (0, "teens"), (1, "adults"), (1, "vip")}


def pairs(snapshot, **options):
    ids = snapshot.ids().values.to_pylist()
    found = []
    low = 0
    for events, pieces in snapshot.pairs(EVENTS, **options):
        for numbers, rules in pieces:
            found += [(low + n, ids[r]) for n, r in zip(numbers, rules, strict=True)]
        low += events
    assert low == len(EVENTS)
    return found


@pytest.fixture
def matcher():
    matcher = Matcher({"adults": RULES["adults"], "teens": RULES["teens"]})
    matcher.add("vip", RULES["vip"], tags={"eu"}, priority=3)  # pending
    return matcher


def test_one_event_and_many(matcher):
    snapshot = matcher.store.snapshot
    for number, event in enumerate(EVENTS):
        ids = set(snapshot.match(event).ids())
        assert ids == {rule_id for event, rule_id in RIGHT if event == number}
    assert set(pairs(snapshot)) == RIGHT
    assert pairs(snapshot, tags={"eu"}) == [(1, "vip")]
    assert (1, "vip") in pairs(snapshot, limit=1)
    assert len(pairs(snapshot, limit=1)) == 2


def test_it_never_changes(matcher):
    snapshot = matcher.store.snapshot
    matcher.clear()
    assert snapshot.rule_count == 3
    assert set(pairs(snapshot)) == RIGHT
    assert {one.id: one.rule for one in snapshot.details()} == RULES


def test_priorities_are_in_the_order_of_ids(matcher):
    snapshot = matcher.store.snapshot
    by_id = dict(zip(snapshot.ids().values.to_pylist(), snapshot.priorities(), strict=True))
    assert by_id == {"adults": 0.0, "teens": 0.0, "vip": 3.0}
    assert Matcher(RULES).store.snapshot.priorities() is None


def test_files(matcher, tmp_path):
    with pytest.raises(ValueError, match="1 rules are pending"):
        matcher.store.snapshot.save(tmp_path / "pending.mw")
    matcher.store.flush()
    first, second = tmp_path / "first.mw", tmp_path / "second.mw"
    matcher.store.snapshot.save(first)
    Matcher({"any": "true"}).store.snapshot.save(second)
    decider = Decider(available(None), None)
    loaded = Snapshot.load([first, second], decider)
    assert set(pairs(loaded)) == RIGHT | {(number, "any") for number in range(3)}
    numbers = [part.number for part in loaded.parts]
    assert len(set(numbers)) == len(numbers)
    assert sorted(loaded.priorities()) == [0.0, 0.0, 0.0, 3.0]


def test_rules_that_nothing_could_answer_are_found(tmp_path):
    matcher = Matcher({1: "big(a)"}, operators={"big": lambda value: value > 10})
    matcher.store.snapshot.save(tmp_path / "rules.mw")
    loaded = Snapshot.load([tmp_path / "rules.mw"], Decider(available(None), None))
    with pytest.raises(RuleError, match="no operator is registered as 'big'"):
        loaded.check(None)


@pytest.mark.parametrize("pending", [True, False])
def test_a_rule_that_is_not_there_is_a_key_error(matcher, pending):
    if not pending:
        matcher.compact()
    assert matcher.store.details("vip").tags == {"eu"}
    with pytest.raises(KeyError):
        matcher.store.details("nobody")
