"""What is evaluated on demand is evaluated only for events that have the attributes."""

import random
from unittest import mock

import pytest

from matchwood import Matcher
from matchwood.language import evaluate, parse
from matchwood.language.named_lists import NamedList
from matchwood.match.event.lazy_atoms import LazyAtoms

PREDICATES = [
    "a < b",
    "not a = b",
    "a > 2 * b",
    "a in list 'some'",
    "a not in list 'some'",
    "contains(a, b)",
    "any(a, it > 3)",
    "not every(a, it > b)",
    "(a < b) is not true",
    "(a > 2 * b) is unknown",
]
LISTS = {"some": [1, "x"]}
VALUES = [1, 4, 9, "x", "xy", True, None, [], [1, 5], [None], {"b": 1}, [{"b": 5}], b"bytes"]


def rule_of(source, depth):
    if depth == 0 or source.random() < 0.2:
        return source.choice([*PREDICATES, "c = 1", "c is null"])
    operands = [rule_of(source, depth - 1) for _ in range(source.randint(2, 3))]
    kind = source.choice(["and", "or", "xor", "xnor", "not"])
    return f"(not {operands[0]})" if kind == "not" else "(" + f" {kind} ".join(operands) + ")"


@pytest.mark.slow  # without compiled kernels
def test_random_rules():
    source = random.Random(7)
    trees = dict(enumerate(parse(rule_of(source, 3)) for _ in range(150)))
    trees |= {len(trees) + i: parse(text) for i, text in enumerate(PREDICATES)}
    events = [
        {name: source.choice(VALUES) for name in "abc" if source.random() < 0.8} for _ in range(60)
    ]
    matcher = Matcher(trees, lists=LISTS)
    matcher.compact()
    named = {name: NamedList(values) for name, values in LISTS.items()}
    table = matcher.match_batch(events).to_pylist()
    for number, event in enumerate(events):
        right = [i for i, tree in trees.items() if evaluate(tree, event, lists=named) is True]
        assert sorted(matcher.match(event)) == right
        assert sorted(row["rule_id"] for row in table if row["event"] == number) == right


@pytest.mark.parametrize("predicate", PREDICATES[:9])
def test_nothing_is_evaluated_where_an_attribute_is_missing(predicate):
    matcher = Matcher({1: predicate, 2: f"c = 1 xor {predicate}"}, lists=LISTS)
    matcher.compact()
    with mock.patch.object(LazyAtoms, "evaluate", side_effect=AssertionError):
        for event in ({"c": 1}, {"a": None, "b": None}, {"c": 2, "b": 3}):
            matcher.match(event)
