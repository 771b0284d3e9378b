"""Tests of truth, pushed down to predicates: rules stay true of the same events."""

import json
import random

import pytest

from matchwood import Matcher
from matchwood.language import evaluate, parse
from matchwood.language.tree import LikeMany, TruthTest, walk
from matchwood.rewrite.pattern_lists import expand_patterns
from matchwood.rewrite.truth_tests import push_truth_tests

LEAVES = [
    "a like '%x'",
    "a ilike 'X%'",
    "a = 'x'",
    "a != 'x'",
    "a in ('x', 'y%')",
    "a not in ('x', 'zx')",
    "b like '%y%'",
    "not b ilike '%Y'",
    "b is null",
    "a is not null",
    "c > 5",
    "c != 3",
    "startswith(a, 'x')",
    "not endswith(b, 'y')",
    "contains(a, 'x')",
    "a = b",
    "b > a",
    "lower(b) <= a",
    "a < 'y'",
    "true",
    "c rlike '^x+$'",
    "a like any ('%x', 'y_')",
    "lower(a) = 'x'",
]
VALUES = ["x", "y", "xx", "zx", "X", "y%", "", None, 5, 3, True, 7.5]
LISTS = [["x", "q"], ["q", 5], [], [None], {"z": 1}]
TESTS = ["true", "not true", "true", "not true", "false", "not false", "unknown", "not unknown"]


def rule_of(source, depth):
    dice = source.random()
    if depth == 0 or dice < 0.25:
        return source.choice(LEAVES)
    inner, other = rule_of(source, depth - 1), rule_of(source, depth - 1)
    if dice < 0.65:
        return f"({inner} {source.choice(['and', 'or'])} {other})"
    if dice < 0.75:
        return f"(not {inner})"
    if dice < 0.8:
        return f"({inner} xor {other})"
    if dice < 0.83:
        return f"at_least({source.randint(1, 2)}, {inner}, {other})"
    return f"(({inner}) is {source.choice(TESTS)})"


def event_of(source):
    names = source.sample("abc", source.randint(0, 3))
    return {name: source.choice(VALUES + LISTS) for name in names}


@pytest.mark.parametrize("seed", range(3))
def test_random_rules(seed):
    source = random.Random(seed)
    trees = {number: parse(rule_of(source, 4)) for number in range(60)}
    events = [event_of(source) for _ in range(60)]
    matcher = Matcher(trees)
    table = matcher.match_batch(events).to_pylist()
    for number, event in enumerate(events):
        true = sorted(i for i, tree in trees.items() if evaluate(tree, event) is True)
        pushed = {i: push_truth_tests(expand_patterns(tree)) for i, tree in trees.items()}
        assert sorted(i for i, tree in pushed.items() if evaluate(tree, event) is True) == true
        assert sorted(matcher.match(event)) == true
        assert sorted(row["rule_id"] for row in table if row["event"] == number) == true
        assert sorted(matcher.match_json(json.dumps(event).encode())) == true


def test_what_is_tested_is_one_predicate():
    text = "a = 1 and (p like '%x' or q in ('y', 'z') and startswith(r, '_')) is not true"
    tree = push_truth_tests(parse(text))
    tested = [node.operands[0] for node in walk(tree) if isinstance(node, TruthTest)]
    assert sorted(map(str, tested)) == [
        "p like '%x'",
        "q in ('y', 'z')",
        "startswith(r, '_')",
    ]


def test_rules_with_such_tests_need_no_events():
    rule = "name = 'x' and (path ilike any ('%a', '%b') and user = 'ann') is not true"
    matcher = Matcher({"a": rule}, operators={})
    matcher.compact()
    [part] = matcher.store.snapshot.parts
    assert not part.segment.lazy
    assert part.json is not None


def test_comparisons_of_the_same_attributes_share_the_literal_that_says_they_are_defined():
    """Beside it there is one literal for `a < b` and its negation, and one for `a = b`."""
    rules = ["a < b", "(a < b) is not true", "(b = a and c) is unknown", "(a >= b) is not false"]
    matcher = Matcher(enumerate(rules))
    matcher.compact()
    [part] = matcher.store.snapshot.parts
    lazy = [str(part.segment.opaque[number]) for number in part.segment.lazy]
    assert sorted(lazy) == ["(a = b) is unknown", "a < b", "a >= b", "b = a"]


def test_nested_tests_of_unknown_do_not_grow():
    text = "a = 1"
    for _ in range(60):
        text = f"({text}) is unknown"
    tree = push_truth_tests(parse(f"({text}) is unknown"))
    assert sum(1 for _ in walk(tree)) < 500
    assert not any(isinstance(node, LikeMany) for node in walk(tree))


def deep(levels, text="a < b"):
    for number in range(levels):
        text = f"({text}) and c = {number} or d = {number}"
    return text


LONG = "(at_least(5, {})) is not true".format(
    ", ".join(f"a{n}<{'b' * 250}{n}" for n in range(1_500))
)
LARGE = {
    "long": f"({LONG})",
    "long texts": "(at_least(5, {})) is not false".format(
        ", ".join(f"s{n} like '%{'x' * 9_000}'" for n in range(60))
    ),
    "deep": f"(at_least(5, {deep(198)}, {', '.join(f'y{n} = 0' for n in range(40))})) is not true",
    "in a parity": f"x = 1 xor at_least(5, ({LONG}), {', '.join(f'y{n} = 0' for n in range(40))})",
    "negated": f"not at_least(5, ({LONG}), {', '.join(f'y{n} = 0' for n in range(40))})",
}


@pytest.mark.parametrize("rule", LARGE.values(), ids=LARGE)
def test_large_thresholds_can_be_saved(rule, tmp_path):
    matcher = Matcher({1: rule})
    matcher.compact()
    matcher.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw")
    events = [
        {"x": 1, "a": 1, "b": 2} | {f"{name}{n}": 0 for n in range(40) for name in "ay"},
        {f"a{n}": n % 2 for n in range(1_500)} | {f"{'b' * 250}{n}": 1 for n in range(1_500)},
        {f"s{n}": "y" for n in range(60)},
        {"x": 1} | {f"y{n}": 1 for n in range(40)},
    ]
    for event in events:
        right = [1] if evaluate(parse(rule), event) is True else []
        assert matcher.match(event) == right
        assert loaded.match(event) == right
    assert any(matcher.match(event) for event in events)
