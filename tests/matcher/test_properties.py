"""Any rules, any events: every strategy agrees with `evaluate`."""

from hypothesis import given
from hypothesis import strategies as st

from matcher.expected import STRATEGIES, assert_right, batches, expected, singles
from matcher.random_rules import (
    LISTS,
    OPERATORS,
    coded_rules,
    events,
    examples,
    rules,
    whole_rules,
)
from matchwood import Matcher


@given(st.lists(coded_rules, max_size=20), st.lists(events, max_size=8))
@examples(0.6)
def test_rules_that_codes_decide(trees, given_events):
    known = dict(enumerate(trees))
    assert_right(Matcher(known), known, given_events)


@given(st.lists(rules, max_size=12), st.lists(events, max_size=6))
@examples(0.6)
def test_rules_with_comparisons_and_calls(trees, given_events):
    known = dict(enumerate(trees))
    matcher = Matcher(known, operators=OPERATORS)
    assert_right(matcher, known, given_events, OPERATORS)


@given(st.lists(whole_rules, max_size=8), st.lists(events, max_size=5))
@examples(0.6)
def test_rules_that_are_evaluated_in_part(trees, given_events):
    known = dict(enumerate(trees))
    matcher = Matcher(known, operators=OPERATORS, lists=LISTS)
    assert_right(matcher, known, given_events, OPERATORS, lists=LISTS)


@given(st.lists(rules, max_size=12), st.lists(events, max_size=6), st.lists(events, max_size=6))
@examples(0.3)
def test_statistics_change_no_answer(trees, sample, given_events):
    known = dict(enumerate(trees))
    matcher = Matcher(known, statistics=Matcher.profile(sample), operators=OPERATORS)
    assert_right(matcher, known, given_events, OPERATORS)


@given(st.lists(coded_rules, max_size=12), st.lists(events, min_size=1, max_size=4), st.data())
@examples(0.2)
def test_masks_of_many_words(trees, some, data):
    """Events repeat, so that masks are full, but in no order that a kernel could rely on."""
    known = dict(enumerate(trees))
    size = data.draw(st.sampled_from([63, 64, 65, 130, 1025]))
    order = data.draw(st.lists(st.integers(0, len(some) - 1), min_size=7, max_size=7))
    many = [some[order[i % 7]] for i in range(size)]
    once = expected(known, some)
    right = {(i, rule) for i in range(size) for event, rule in once if event == order[i % 7]}
    matcher = Matcher(known)
    for strategy in STRATEGIES:
        assert batches(matcher, many, strategy) == right


@given(st.lists(rules, max_size=8), events)
@examples(0.3)
def test_pending_rules(trees, event):
    matcher = Matcher(operators=OPERATORS)
    for rule_id, tree in enumerate(trees):
        matcher[rule_id] = tree
    known = dict(enumerate(trees))
    assert singles(matcher, [event]) == expected(known, [event], OPERATORS)
