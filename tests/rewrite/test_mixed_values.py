"""`in` with literals of several families means the same as what the index looks up for it."""

from datetime import date, datetime
from itertools import combinations

import pytest

from matcher.expected import assert_right
from matchwood import Matcher, parse
from matchwood.language import evaluate
from matchwood.language.tree import In, walk
from matchwood.rewrite.mixed_values import expand_mixed_values

LITERALS = ["1", "'x'", "true", "date '2026-01-31'"]
MIXED = [", ".join(some) for n in (2, 3, 4) for some in combinations(LITERALS, n)]
VALUES = [
    *(1, 2.5, "x", "X", "2026-01-31", "2026-02-30", True, False, None, b"x", {"y": 1}),
    *(date(2026, 1, 31), datetime(2026, 1, 31, 10), [], [1], [2, "x"], [2, "y"], [None], [False]),
]
EVENTS = [{}, *({"a": value} for value in VALUES)]
# Where the rule counts as a whole, where only what is true counts, and where something is negated.
PLACES = [
    "{0}", "not ({0})", "a is null or {0}", "({0}) is true", "({0}) is not true", "({0}) is false",
    "({0}) is not false", "({0}) is unknown", "({0}) is not unknown", "{0} xor a = 1",
    "not (a = 1 and {0})", "at_least(1, {0}, a = 2.5)", "any(a, it in ({1}))",
    "every(a, it not in ({1}))",
]  # fmt: skip


@pytest.mark.parametrize("values", MIXED)
def test_it_is_true_of_the_same_events(values):
    for negation in ("", "not "):
        for place in PLACES:
            rule = parse(place.format(f"a {negation}in ({values})", values))
            written = expand_mixed_values(rule)
            for event in EVENTS:
                right = evaluate(rule, event) is True
                assert (evaluate(written, event) is True) is right, (str(rule), event)
            if "at_least" not in place:
                ins = [node for node in walk(written) if isinstance(node, In)]
                assert all(node.family is not None for node in ins)


@pytest.mark.slow  # all strategies
def test_the_index_looks_it_up():
    texts = [place.format(f"a {word}in ({MIXED[-1]})", MIXED[0]) for place in PLACES
             for word in ("", "not ")]  # fmt: skip
    texts += [f"{subject} in (1, 'x')" for subject in ("lower(a)", "*")]
    rules = dict(enumerate(texts))
    matcher = Matcher(rules)
    matcher.compact()
    assert_right(matcher, rules, EVENTS)
    plain = Matcher({1: "a in (1, 'x')", 2: "a not in (1, 'x') and b = 1"})
    plain.compact()
    assert not plain.store.snapshot.parts[0].segment.opaque
