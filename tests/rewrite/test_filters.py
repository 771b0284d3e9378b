"""Long thresholds: the index rules out most events, and the rest is evaluated."""

import random
from unittest import mock

import pytest

from matchwood import Matcher
from matchwood.index.build.index_form import index_form
from matchwood.language import evaluate, parse
from matchwood.language.tree import AtLeast, walk
from matchwood.match.event.lazy_atoms import LazyAtoms

LEAVES = [f"a{i} = {i}" for i in range(9)] + ["b > 2", "c like 'x%'", "d is null", "a1 in (1, 'x')"]
LEAVES += ["not a2 = 2", "a1 < a2", "(c like '%y') is not true", "any(e, it > 2)"]

FORMS = ["{}", "not {}", "b = 3 and {}", "not (b = 3 or {})", "({} xor b > 2)", "({} is not true)"]
FORMS += ["({} is unknown)", "not ({} is false)", "at_least(2, b > 2, c like '%y', {})"]


def long_of(source, width=24):
    count = source.randint(1, width)
    return f"at_least({count}, {', '.join(source.choice(LEAVES) for _ in range(width))})"


def rule_of(source):
    text = long_of(source)
    form = source.choice(FORMS)
    return form.format(text)


def event_of(source):
    event = {f"a{i}": i if source.random() < 0.6 else source.choice([0, "x"]) for i in range(9)}
    event |= {"b": source.choice([1, 3, [2, 5]]), "c": source.choice(["x", "xy", 5]), "e": [1, 5]}
    return {name: value for name, value in event.items() if source.random() < 0.8}


@pytest.mark.slow  # without compiled kernels
def test_random_long_thresholds():
    source = random.Random(4)
    trees = {number: parse(rule_of(source)) for number in range(70)}
    assert (
        sum(any(isinstance(n, AtLeast) for n in walk(index_form(t))) for t in trees.values()) > 35
    )
    events = [event_of(source) for _ in range(30)]
    matcher = Matcher(trees)
    matcher.compact()
    table = matcher.match_batch(events).to_pylist()
    for number, event in enumerate(events):
        right = [i for i, tree in trees.items() if evaluate(tree, event) is True]
        assert [i for i in trees if evaluate(index_form(trees[i]), event) is True] == right
        assert sorted(matcher.match(event)) == right
        assert sorted(row["rule_id"] for row in table if row["event"] == number) == right


def test_only_candidates_are_evaluated():
    twenty = ", ".join(f"a{i} = 1" for i in range(20))
    matcher = Matcher({1: f"at_least(10, {twenty})", 2: f"not at_least(10, {twenty}) and b = 1"})
    matcher.compact()
    [part] = matcher.store.snapshot.parts
    assert part.segment.lazy
    with mock.patch.object(LazyAtoms, "evaluate", side_effect=AssertionError):
        assert matcher.match({"a15": 1, "a19": 1}) == []  # one of the first eleven has to be true
    assert matcher.match({f"a{i}": 1 for i in range(5, 20)}) == [1]
    assert matcher.match({f"a{i}": 0 for i in range(20)} | {"b": 1}) == [2]


def test_filters_do_not_multiply_where_thresholds_nest():
    text = "a0 = 0"
    for level in range(1, 150):
        text = f"at_least(1, b = {level}, {text})"
    for level in range(30):
        text = f"at_least(12, {', '.join(f'a{i} = {level}' for i in range(24))}, {text})"
    tree = parse(text)
    assert index_form(tree).size < 8 * tree.size
