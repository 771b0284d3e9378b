"""Thresholds written with `and` and `or`: the same truth, in the index too."""

import json
import random

import pytest

from matchwood import Matcher
from matchwood.index.build.index_form import index_form
from matchwood.language import evaluate, parse
from matchwood.language.tree import AtLeast, walk
from matchwood.rewrite import counts
from matchwood.rewrite.counts import MAX_NODES, expand_counts

LEAVES = ["a = 1", "b > 2", "c like 'x%'", "d is null", "not a = 2", "(b = 3 or c = 'xy')"]
LEAVES += ["a < b", "(a = 1 xor b = 3)", "any(e, it > 2)", "(c like '%y') is not true"]
VALUES = {"a": [1, 2, None, "x"], "b": [1, 3, 4, [2, 3]], "c": ["x", "xy", "y", 5], "d": [1, None]}


def rule_of(source, depth=2):
    operands = [
        rule_of(source, depth - 1) if depth and source.random() < 0.2 else source.choice(LEAVES)
        for _ in range(source.randint(2, 6))
    ]
    counted = f"at_least({source.randint(1, len(operands))}, {', '.join(operands)})"
    dice = source.random()
    if dice < 0.2:
        return f"({counted} is {source.choice(('not true', 'unknown', 'false'))})"
    return f"(not {counted})" if dice < 0.35 else counted


def event_of(source):
    event = {name: source.choice(VALUES[name]) for name in VALUES if source.random() < 0.8}
    return event | {"e": source.choice(([1, 5], [], 3))}


@pytest.mark.slow  # without compiled kernels
@pytest.mark.parametrize("most", [MAX_NODES, 0])
def test_random_thresholds(most, monkeypatch):
    """Written out, or evaluated as wholes as large ones are."""
    monkeypatch.setattr(counts, "MAX_NODES", most)
    source = random.Random(most)
    trees = {number: parse(rule_of(source)) for number in range(80)}
    events = [event_of(source) for _ in range(40)]
    matcher = Matcher(trees)
    matcher.compact()
    expanded = {number: expand_counts(tree) for number, tree in trees.items()}
    kept = [tree for tree in expanded.values() if any(isinstance(n, AtLeast) for n in walk(tree))]
    assert len(kept) == len(trees) if most == 0 else len(kept) < 20
    table = matcher.match_batch(events).to_pylist()
    for number, event in enumerate(events):
        truths = {i: evaluate(tree, event) for i, tree in trees.items()}
        assert {i: evaluate(tree, event) for i, tree in expanded.items()} == truths
        true = [i for i, truth in truths.items() if truth is True]
        assert sorted(matcher.match(event)) == true
        assert sorted(row["rule_id"] for row in table if row["event"] == number) == true
        assert sorted(matcher.match_json(json.dumps(event).encode())) == true


def test_the_smaller_of_both_ways_is_written():
    assert str(expand_counts(parse("at_least(1, a, b)"))) == "a or b"
    assert str(expand_counts(parse("at_least(2, a, b)"))) == "a and b"
    assert expand_counts(parse("at_least(9, a, b, c, d, e, f, g, h, i, j)")).size < 150


@pytest.mark.parametrize(("count", "of"), [(2, 200), (500, 1_000), (5_000, 10_000)])
def test_large_thresholds_stay(count, of):
    tree = parse(f"at_least({count}, {', '.join(['a = 1'] * of)})")
    assert expand_counts(tree) is tree


def test_thresholds_make_no_rule_much_larger():
    """Below a test of truth the nodes of a threshold are copied, and a rule may have many."""
    nine = ", ".join(f"a{n} = 1" for n in range(9))
    for form in ("({}) is unknown", "{} xor b", "{}"):
        rules = [form.format(f"at_least(3, {nine})")] * 500
        tree = parse(" or ".join(f"({rule})" for rule in rules))
        assert index_form(tree).size < 12 * tree.size
    short = parse("(at_least(2, a, b, c)) is not true")
    assert not any(isinstance(node, AtLeast) for node in walk(index_form(short)))


def test_rules_with_thresholds_need_no_evaluation():
    matcher = Matcher(
        {"a": "at_least(2, a = 1, b > 2, c like 'x%') and (a = 1 xor b = 2) is not true"}
    )
    matcher.compact()
    [part] = matcher.store.snapshot.parts
    assert not part.segment.lazy
    assert part.json is not None


def test_long_thresholds_of_thresholds_stay_within_the_limits_of_rules():
    long = parse(f"at_least(3, {', '.join(['at_least(2, a, b, c, d)'] * 600)})")
    assert expand_counts(long) is long
    assert expand_counts(long.operands[0]) is not long.operands[0]
