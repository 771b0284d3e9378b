"""Events with other names, by every way in, against `evaluate`."""

import json
import random

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from matchwood import EventError, Matcher, Schema
from matchwood.language import evaluate, parse
from matchwood.language.events import Event

ALIASES = {
    "host": ["Host Name", "computer"],
    "size": "bytes",
    "*": ["Event.EventData.*", "winlog.*"],
}
PREDICATES = [
    "host = 'a'",
    "host != 'a'",
    "host ilike '%B%'",
    "host in ('a', 'bb')",
    "computer = 'a'",
    "size > 10",
    "size is null",
    "bytes <= 10",
    "user like 'a%'",
    "`Host Name` is not null",
]
LAZY = ["host = user", "* = 'bb'", "lower(host) = 'a'", "size + 1 > 11", "(host = 'a') is not true"]
NAMES = ["host", "Host Name", "computer", "size", "bytes", "user", "other"]
PLACES = ["", "", "", "Event.EventData.", "winlog."]
VALUES = ["a", "A", "bb", "ab", "", 10, 11, 10.5, True, None, float("nan")]
MORE = [["a", "bb"], [], [None], [11, "a"], {"x": 1}, [{"x": "a"}]]


def rules_of(source, predicates):
    rules = {}
    for number in range(12):
        some = source.sample(predicates, source.randint(1, 3))
        joined = f" {source.choice(['and', 'or'])} ".join(some)
        rules[f"r{number}"] = f"not ({joined})" if source.random() < 0.3 else joined
    return rules


def event_of(source, values, most=5):
    event = {}
    for _ in range(source.randint(0, most)):
        name = source.choice(NAMES)
        place = source.choice(PLACES)
        value = source.choice(values)
        if place and source.random() < 0.5:  # nested instead of dotted
            outer, _, inner = place[:-1].partition(".")
            holder = event.setdefault(outer, {})
            if inner:
                holder = holder.setdefault(inner, {})
            holder[name] = value
        else:
            event[place + name] = value
    return event


def readable(event, aliases):
    try:
        return Event(event, aliases)
    except EventError:  # one attribute that is spelt two ways
        return None


def expected(matcher, rules, events):
    trees = {rule_id: parse(rule) for rule_id, rule in rules.items()}
    return [
        sorted(k for k, tree in trees.items() if evaluate(tree, Event(e, matcher.aliases)) is True)
        for e in events
    ]


def by_event(table, count):
    found = [[] for _ in range(count)]
    for row in table.to_pylist():
        found[row["event"]].append(row["rule_id"])
    return [sorted(ids) for ids in found]


@pytest.mark.parametrize("predicates", [PREDICATES, PREDICATES + LAZY], ids=["codes", "lazy"])
@pytest.mark.parametrize("values", [VALUES, VALUES + MORE], ids=["plain", "nested"])
def test_dicts_and_json_mean_what_evaluate_says(predicates, values):
    source = random.Random(19)
    for _ in range(8):
        rules = rules_of(source, predicates)
        matcher = Matcher(rules, aliases=ALIASES)
        events = [event_of(source, values) for _ in range(60)]
        events = [event for event in events if readable(event, matcher.aliases) is not None]
        answers = expected(matcher, rules, events)
        assert [sorted(matcher.match(event)) for event in events] == answers
        assert by_event(matcher.match_batch(events), len(events)) == answers
        texts = [json.dumps(event).encode() for event in events]
        assert [sorted(matcher.match_json(text)) for text in texts] == answers
        assert by_event(matcher.match_json_batch(texts), len(events)) == answers


@pytest.mark.parametrize("predicates", [PREDICATES, PREDICATES + LAZY], ids=["codes", "lazy"])
def test_columns_mean_what_their_rows_do(predicates):
    source = random.Random(7)
    strings, numbers = ["a", "A", "bb", None], [9, 10, 11, None]
    for _ in range(8):
        rules = rules_of(source, predicates)
        matcher = Matcher(rules, aliases=ALIASES)
        names = source.sample([place + name for name in NAMES for place in set(PLACES)], 8)
        columns = {
            name: [source.choice(numbers if name.endswith(("size", "bytes")) else strings)
                   for _ in range(40)]
            for name in names
        }  # fmt: skip
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        answers = expected(matcher, rules, rows)
        table = pa.table(columns)
        for events in (table, pl.from_arrow(table), pd.DataFrame(rows), table.to_batches()[0]):
            assert by_event(matcher.match_batch(events), 40) == answers
        mixed = pd.DataFrame([event_of(source, VALUES, 3) for _ in range(40)], dtype=object)
        mixed = mixed[[name for name in mixed if name not in ("Event", "winlog")]]
        answers = expected(matcher, rules, mixed.to_dict("records"))
        assert by_event(matcher.match_batch(mixed), 40) == answers


def test_columns_of_objects_and_of_several_types():
    rules = {"a": "host = 'a'", "b": "size > 10", "c": "size is null"}
    matcher = Matcher(rules, aliases=ALIASES)
    table = pa.table(
        {
            "Event": [{"EventData": {"host": h, "size": n}} for h, n in [("a", 11), ("b", None)]],
            "computer": pa.array([None, "a"]).dictionary_encode(),
            "bytes": pa.array([None, "x"]),
        }
    )
    answers = expected(matcher, rules, table.to_pylist())
    assert answers == [["a", "b"], ["a"]]
    assert by_event(matcher.match_batch(table), 2) == answers


def test_events_of_one_source_after_another():
    matcher = Matcher({"a": "host = 'a'"}, aliases=ALIASES)
    for name in ("host", "Host Name", "computer", "winlog.computer", "other", "host"):
        assert matcher.match({name: "a"}) == (["a"] if name != "other" else [])
        assert matcher.match({name: "a", "user": 1}) == (["a"] if name != "other" else [])


def test_pending_rules_copies_and_files(tmp_path):
    matcher = Matcher(aliases=ALIASES)
    matcher["a"] = "host = 'a'"
    assert matcher.match({"computer": "a"}) == ["a"]
    assert by_event(matcher.match_batch([{"computer": "a"}]), 1) == [["a"]]
    import copy

    assert copy.copy(matcher).match({"computer": "a"}) == ["a"]
    matcher.save(tmp_path / "rules.mw")
    assert Matcher.load(tmp_path / "rules.mw", aliases=ALIASES).match({"computer": "a"}) == ["a"]
    assert Matcher.load(tmp_path / "rules.mw").match({"computer": "a"}) == []


def test_why_not_and_explain():
    matcher = Matcher({"a": "host = 'a' and size > 5"}, aliases=ALIASES)
    event = {"computer": "a", "bytes": 3}
    assert [near.lacked for near in matcher.why_not(event)] == [["size > 5"]]
    assert "host: 'a'" in str(matcher.explain("a", event))


def test_operators_are_asked_about_the_value_that_counts():
    matcher = Matcher({"a": "big(size)"}, operators={"big": lambda n: n > 5}, aliases=ALIASES)
    assert matcher.match({"bytes": 7}) == ["a"]
    assert by_event(matcher.match_batch([{"bytes": 7}, {"size": 1, "bytes": 7}]), 2) == [["a"], []]


def test_an_enforced_schema_knows_aliases():
    schema = Schema.from_dict({"attributes": {"host": "string", "size": "number"}})
    matcher = Matcher({"a": "host = 'a'"}, schema=schema, enforce=True, aliases=ALIASES)
    assert matcher.match({"computer": "a", "bytes": 5}) == ["a"]
    with pytest.raises(EventError, match="size"):
        matcher.match({"computer": "a", "bytes": "5"})
    with pytest.raises(EventError, match="no such attribute"):
        matcher.match({"compute": "a"})
