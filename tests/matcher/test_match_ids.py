"""`match_ids` names the rules that `match` names, as an Arrow array of one type."""

import random

import pyarrow as pa
import pytest

from matchwood import Matcher

RULES = {number: f"a = {number % 7} or b < {number % 11}" for number in range(300)}


def texts(rules):
    return {f"rule {number}": text for number, text in rules.items()}


def states(rules):
    """Rules in one part; and in two, with some that are removed, and one that is pending."""
    whole = Matcher(rules)
    whole.compact()
    changed = Matcher(rules)
    changed.compact()
    ids = list(rules)
    changed.update(dict.fromkeys(ids[:70], "b >= 0 and a = 1"))
    assert changed.stats().segments == 2
    changed.remove(ids[::5])
    changed[ids[0]] = "a >= 0"
    return whole, changed


@pytest.mark.parametrize("rules", [RULES, texts(RULES)], ids=["integers", "strings"])
def test_the_ids_of_match(rules):
    kind = pa.array(list(rules)).type
    rng = random.Random(1)
    for matcher in states(rules):
        for _ in range(50):
            event = {name: rng.randrange(12) for name in "ab" if rng.random() < 0.8}
            ids = matcher.match_ids(event)
            assert ids.type == kind
            assert sorted(ids.to_pylist()) == sorted(matcher.match(event))
            numbers = matcher.match_ids(event, dictionary=True)
            assert numbers.type == pa.dictionary(pa.int32(), kind)
            assert sorted(numbers.to_pylist()) == sorted(matcher.match(event))


def test_tags_and_limit():
    matcher = Matcher()
    for number in range(20):
        tags = {"even"} if number % 2 == 0 else {"odd"}
        matcher.add(number, "a > 0", tags=tags, priority=number)
    for _ in range(2):  # pending, then built
        assert matcher.match_ids({"a": 1}, limit=3).to_pylist() == [19, 18, 17]
        assert matcher.match_ids({"a": 1}, tags={"even"}, limit=2).to_pylist() == [18, 16]
        assert len(matcher.match_ids({"a": 1}, tags={"odd"})) == 10
        assert matcher.match_ids({"a": 0}, limit=3).type == pa.int64()
        best = matcher.match_ids({"a": 1}, limit=3, dictionary=True)
        assert best.to_pylist() == [19, 18, 17]
        matcher.compact()
    with pytest.raises(ValueError, match="limit must be 0 or more, found -1"):
        matcher.match_ids({"a": 1}, limit=-1)


def test_rules_that_call_operators():
    rules = {1: "big(a)", 2: "big(a) and b = 1", 3: "a > 0"}
    matcher = Matcher(rules, operators={"big": lambda value: value > 10})
    for event in ({"a": 11}, {"a": 11, "b": 1}, {"a": 5}, {}):
        assert sorted(matcher.match_ids(event).to_pylist()) == sorted(matcher.match(event))


def test_the_type_when_nothing_matches():
    assert Matcher().match_ids({"a": 1}).type == pa.string()
    matcher = Matcher({7: "a > 1"})
    assert matcher.match_ids({"a": 1}).equals(pa.array([], pa.int64()))
    matcher.compact()
    assert matcher.match_ids({"a": 1}).equals(pa.array([], pa.int64()))
