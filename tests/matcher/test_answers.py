"""Answers other than all matches: tags, priorities, limits, counts, explanations, figures."""

import copy
import random

import pytest

from matcher.expected import STRATEGIES, assert_right, force, pairs
from matchwood import EventError, Matcher, parse
from matchwood.language import evaluate, explain

TAGS = ["eu", "us", "asia"]


@pytest.fixture(scope="module")
def tagged():
    """(matcher, {id: (rule, tags, priority)}): in parts, pending, replaced and removed."""
    some = random.Random(5)
    known = {}
    matcher = Matcher()

    def put(rule_id):
        tags = frozenset(some.sample(TAGS, some.randrange(3)))
        known[rule_id] = f"a >= {rule_id % 4}", tags, some.randrange(-3, 4)
        matcher.add(rule_id, known[rule_id][0], tags=tags, priority=known[rule_id][2])

    for rule_id in range(300):
        put(rule_id)
    for rule_id in range(0, 300, 7):
        put(rule_id)
    for rule_id in range(3, 300, 11):
        known.pop(rule_id, None)
        matcher.pop(rule_id, None)
    matcher.join()
    with matcher.store.lock:
        matcher.store.flush()
    matcher.join()
    put(300)  # these two are pending, however quick the background is
    put(10)
    assert matcher.store.snapshot.pending
    return matcher, known


def selected(known, event, tags):
    return {
        rule_id: priority
        for rule_id, (text, its, priority) in known.items()
        if evaluate(parse(text), event) is True and (tags is None or its & set(tags))
    }


@pytest.mark.parametrize("tags", [None, set(), {"eu"}, {"eu", "us"}, {"mars"}, ["asia"]])
@pytest.mark.parametrize("limit", [None, 0, 1, 7, 10_000])
def test_selection(tagged, tags, limit):
    matcher, known = tagged
    given_events = [{"a": value} for value in (-1, 0, 2, 9)] + [{}]
    for event in given_events:
        right = selected(known, event, tags)
        found = matcher.match(event, tags=tags, limit=limit)
        assert len(found) == len(set(found)) == min(len(right), limit or len(right)) * (limit != 0)
        assert set(found) <= set(right)
        assert matcher.count(event, tags=tags, limit=limit) == len(found)
        if limit is not None:
            best = sorted(right.values(), reverse=True)[:limit]
            assert [right[rule_id] for rule_id in found] == best
    for strategy in STRATEGIES:
        force(matcher, strategy)
        table = matcher.match_batch(given_events, tags=tags, limit=limit)
        pairs(table)
        for number, event in enumerate(given_events):
            right = selected(known, event, tags)
            rows = [
                rule_id
                for at, rule_id in zip(*table.to_pydict().values(), strict=True)
                if at == number
            ]
            assert set(rows) <= set(right)
            best = sorted(right.values(), reverse=True)[: len(right) if limit is None else limit]
            assert sorted((right[rule_id] for rule_id in rows), reverse=True) == best


def test_a_string_is_one_tag():
    matcher = Matcher()
    matcher.add("x", "a = 1", tags="eu")
    assert matcher.match({"a": 1}, tags="eu") == ["x"]
    assert matcher.match({"a": 1}, tags={"e"}) == []
    assert matcher.match_batch([{"a": 1}], tags="eu").num_rows == 1


def test_limits_and_priorities_that_are_refused():
    matcher = Matcher({1: "a = 1"})
    for ask in (matcher.match, matcher.count):
        with pytest.raises(ValueError, match="limit"):
            ask({"a": 1}, limit=-1)
    with pytest.raises(ValueError, match="limit"):
        matcher.match_batch([{"a": 1}], limit=-1)
    with pytest.raises(ValueError, match="priority"):
        matcher.add(2, "a = 1", priority=float("nan"))
    assert list(matcher) == [1]


def test_tags_and_priorities_outlive_merges_and_copies():
    matcher = Matcher()
    for number in range(100):
        tags = {TAGS[number % 3]}
        matcher.add(number, f"a = {number % 2}", tags=tags, priority=number)
    for _ in range(2):
        assert matcher.match({"a": 1}, tags={"eu"}, limit=2) == [99, 93]
        assert len(matcher.match({"a": 0}, tags={"us"})) == 16
        matcher.compact()
        matcher = copy.copy(matcher)
    assert matcher.match({"a": 1}, limit=3) == [99, 97, 95]


def test_replacing_a_rule_forgets_its_tags():
    matcher = Matcher()
    matcher.add(1, "a = 1", tags={"eu"}, priority=9)
    matcher[1] = "a = 1"
    matcher.add(2, "a = 1", priority=1)
    assert matcher.match({"a": 1}, tags={"eu"}) == []
    assert matcher.match({"a": 1}, limit=1) == [2]


# Reasons


def test_explain():
    rules = {"r": "a = 1 and not (b < 2 or f(c))", "1": "a = 2"}
    operators = {"f": lambda value: value > 3}
    matcher = Matcher(rules, operators=operators)
    for event in ({"a": 1, "b": 5, "c": 1}, {"a": 1}, {}, {"a": [1, 2], "c": 9}):
        right = str(explain(parse(rules["r"]), event, operators=operators))
        assert str(matcher.explain("r", event)) == right
        assert str(matcher.explain(rules["r"], event)) == right
    assert matcher.explain("a = 1", {"a": 1}).truth is True
    assert "<" in matcher.explain("r", {"a": 1})._repr_html_()
    with pytest.raises(EventError):
        matcher.explain("r", 5)


# Figures


def test_stats():
    matcher = Matcher({n: f"a = {n % 10} and (b = {n % 3} or c < {n})" for n in range(1000)})
    stats = matcher.stats()
    assert stats.rules == 1000
    assert stats.attributes == 3
    assert stats.predicates == 10 + 3 + 1000
    assert stats.segments == 1
    assert stats.bytes > 0
    assert stats.to_dict()["rules"] == 1000
    assert "1,000" in str(stats)
    assert "1,000" in stats._repr_html_()
    assert Matcher().stats().rules == 0
    assert "1,000" in repr(matcher)


def test_statistics_of_a_sample():
    known = {n: f"a = {n % 7} and b != {n % 3} and c like 'x%' or d is null" for n in range(200)}
    sample = [{"a": n % 3, "c": "x", "d": [1, n], "b": None} for n in range(50)]
    statistics = Matcher.profile(sample)
    assert statistics.events == 50
    matcher = Matcher(known, statistics=statistics)
    more = [*sample[:3], {"a": 6, "b": 1, "c": "xy"}, {}, {"a": "x", "d": 1}]
    assert_right(matcher, known, more)
    assert_right(Matcher(known, statistics=Matcher.profile([])), known, more)


# Hierarchies


class Furniture:
    """A schema of one hierarchy."""

    above = {"dining table": "table", "table": "furniture", "chair": "furniture"}  # noqa: RUF012

    def is_a(self, attribute, value, kind):
        while value is not None and value != kind:
            value = self.above.get(value)
        return value is not None


def test_isa():
    schema = Furniture()
    known = {
        1: "isa(a, 'furniture')", 2: "isa(a, 'table') and b = 1", 3: "not isa(a, 'table')",
        4: "isa(a, 'dining table') or a = 'chair'",
    }  # fmt: skip
    values = ["furniture", "table", "dining table", "chair", "car", "", None, 5]
    given_events = [{"a": value, "b": 1} for value in values]
    given_events += [{"a": ["chair", "dining table"]}, {"a": []}, {}]
    assert_right(Matcher(known, schema=schema), known, given_events, schema=schema)
