"""`why_not`: the rules that came nearest to matching, and what each of them lacked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcher.random_rules import OPERATORS, events, examples, rules
from matchwood import Matcher, parse
from matchwood.language import evaluate
from matchwood.language.events import Event
from matchwood.match.parts.context import Context
from matchwood.match.search.near_misses import lacking


@given(st.lists(rules, max_size=12), events, st.integers(0, 5))
@examples(0.3)
def test_why_not_names_the_nearest(trees, event, n):
    known = dict(enumerate(trees))
    matcher = Matcher(known, operators=OPERATORS)
    near = matcher.why_not(event, n)
    seen = Event(event)
    matching = set(matcher.match(event))
    context = Context(OPERATORS, None, {})
    lacked = {i: len(lacking(tree, seen, context)) for i, tree in known.items()}
    assert {i for i, count in lacked.items() if count == 0} == matching
    others = sorted(count for i, count in lacked.items() if i not in matching)
    assert [len(miss.lacked) for miss in near] == others[:n]
    assert not matching & {miss.id for miss in near}
    for miss in near:
        assert len(miss.lacked) == lacked[miss.id]
        for text in miss.lacked:
            assert evaluate(parse(text), seen, operators=OPERATORS) is not True


def test_why_not_among_many_rules():
    """More rules than are compared one by one."""
    known = {n: " and ".join(f"a{i} = {n % (i + 2)}" for i in range(6)) for n in range(5000)}
    known[-1] = "a0 = 0 and a1 = 0 and x = 7"
    matcher = Matcher(known)
    event = {f"a{i}": 0 for i in range(6)}
    seen = Event(event)
    context = Context({}, None, {})
    lacked = {i: len(lacking(parse(text), seen, context)) for i, text in known.items()}
    near = matcher.why_not(event, 5)
    others = sorted(count for count in lacked.values() if count)
    assert [len(miss.lacked) for miss in near] == others[:5]
    assert all(lacked[miss.id] == len(miss.lacked) for miss in near)


def test_why_not_says_what_was_lacking():
    matcher = Matcher({"x": "a = 1 and b = 2", "y": "a = 1", "z": "a = 9 and b = 9 and c = 9"})
    first, second = matcher.why_not({"a": 1})
    assert (first.id, first.lacked) == ("x", ["b = 2"])
    assert (second.id, len(second.lacked)) == ("z", 3)
    assert "b = 2" in str(first)


@pytest.mark.parametrize(
    ("rule", "lacked"),
    [
        ("at_least(2, a = 1, b = 1, c = 1)", ["b = 1"]),
        ("at_least(3, a = 1, b = 1, c = 1)", ["b = 1", "c = 1"]),
        ("(a = 1 and b = 1) is true", ["b = 1"]),
        ("(a = 1 or b = 1) is not true", ["(a = 1 or b = 1) is not true"]),
        ("any(items, a = 1 and b = 1) and b = 2", ["any(items, a = 1 and b = 1)", "b = 2"]),
    ],
)
def test_thresholds_and_tests_of_truth(rule, lacked):
    [miss] = Matcher({"r": rule}).why_not({"a": 1, "items": [{"a": 1}, {"b": 1}]})
    assert sorted(miss.lacked) == lacked
