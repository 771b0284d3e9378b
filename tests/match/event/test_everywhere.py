"""Patterns over `*`: the strings of an event are looked up once for all of them."""

import random

import pyarrow as pa

from matchwood import Matcher
from matchwood.language import evaluate, parse

RULES = {
    "any": "* ilike '%mimi%'",
    "none": "not * like '%a%'",
    "whole": "* like 'x'",
    "regular": "* rlike '^[0-9]+$'",
    "with": "* like '%b' and n = 5",
    "negative": "* not like 'x%'",
}
TREES = {name: parse(rule) for name, rule in RULES.items()}
VALUES = [
    *("x", "a", "Mimi", "ab", "", "12", 5, 5.5, True, None, float("nan"), b"a"),
    *(["x", "b"], [], [None], [["mimi"], 3], {"k": "a"}, [{"k": "12"}, "q"], {"k": ["xy", None]}),
]


def true_of(event):
    return sorted(name for name, tree in TREES.items() if evaluate(tree, event) is True)


def test_events_one_by_one_and_in_batches():
    source = random.Random(3)
    matcher = Matcher(RULES)
    matcher.compact()
    assert not matcher.store.snapshot.parts[0].segment.lazy
    events = [
        {name: source.choice(VALUES) for name in source.sample("nopq", source.randint(0, 4))}
        for _ in range(300)
    ]
    right = [true_of(event) for event in events]
    assert [sorted(matcher.match(event)) for event in events] == right
    found = [[] for _ in events]
    for row in matcher.match_batch(events).to_pylist():
        found[row["event"]].append(row["rule_id"])
    assert [sorted(names) for names in found] == right


def test_columns():
    matcher = Matcher(RULES)
    columns = {"n": [5, None, 7], "o": ["ab", None, "Mimi"], "p": [[], ["b"], ["x"]]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    found = [[] for _ in rows]
    for row in matcher.match_batch(pa.table(columns)).to_pylist():
        found[row["event"]].append(row["rule_id"])
    assert [sorted(names) for names in found] == [true_of(row) for row in rows]
