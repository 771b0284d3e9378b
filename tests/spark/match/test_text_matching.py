"""JSON texts in shards, or held to a schema, are matched as `json.loads` and `evaluate` say."""

import json

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from match.json.random_texts import ODD_RULES, RULES, TextMaker
from matchwood import EventError, Matcher, Schema
from matchwood.language import evaluate, parse
from matchwood.language.events import Event
from matchwood.match.search import json_search
from matchwood.spark.events.event_attributes import JSON, Reading
from matchwood.spark.match import sharded, text_matching
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.open_rules import Opened
from matchwood.spark.match.plan import EVENTS, REPLICATED, ROWS, SHARDED, Plan

MANY = 400
TREES = [parse(rule) for rule in (*RULES, *ODD_RULES)]


def shard(rules):
    matcher = Matcher()
    for number in rules:
        matcher.add(number, str(TREES[number]), priority=number % 7)
    matcher.compact()
    matcher.join()
    snapshot = matcher.store.snapshot
    return Opened(snapshot, snapshot.ids().values.cast(pa.int64()), snapshot.priorities(), {})


@pytest.fixture(scope="module")
def shards():
    """Rules in two segments, of which one has rules that need the event itself."""
    rest = [*range(1, len(RULES), 2), *range(len(RULES), len(TREES))]
    return {"even": shard(range(0, len(RULES), 2)), "rest": shard(rest)}


def plan_of(output=ROWS, limit=None, schema=None, layout=SHARDED):
    reading = Reading(JSON, (), None, ("key",), schema)
    return Plan(("even", "rest"), "bigint", reading, output, layout, True, None, limit, schema)


def in_shards(shards, monkeypatch, texts, plan):
    """(rules of each event that can be read, the events that cannot)."""
    monkeypatch.setattr(sharded, "open_segments", lambda names, _: shards[names[0]])
    batch = pa.record_batch([pa.array(texts), pa.array(range(len(texts)))], ["__event", "key"])
    return answers(sharded.match_sharded(plan, iter([batch])), len(texts))


def answers(batches, texts):
    rules, refused = {number: [] for number in range(texts)}, set()
    for batch in batches:
        for row in batch.to_pylist():
            if row["reason"] is not None:
                refused.add(row["key"])
            elif "rule_ids" in row:
                rules[row["key"]] += row["rule_ids"]
            else:
                rules[row["key"]].append(row["rule_id"])
    return {key: found for key, found in rules.items() if key not in refused}, refused


def event_of(text):
    """What `json.loads` and `Event` say; None for a text that is no event."""
    try:
        event = json.loads(text.decode().removeprefix("\ufeff"))
        seen = Event(event)
        for name in seen.raw:
            seen[name]
    except (ValueError, RecursionError, EventError):
        return None
    return event


def right(events):
    return {
        key: [number for number, tree in enumerate(TREES) if evaluate(tree, event) is True]
        for key, event in enumerate(events)
        if event is not None
    }


@pytest.mark.parametrize(("output", "limit"), [(ROWS, None), (EVENTS, None), (EVENTS, 3)])
def test_random_texts_in_shards(shards, monkeypatch, output, limit):
    maker = TextMaker(17)
    texts = [maker.text() for _ in range(MANY)]
    monkeypatch.setattr(text_matching, "TEXTS_AT_ONCE", 150)
    found, refused = in_shards(shards, monkeypatch, texts, plan_of(output, limit))
    events = [event_of(text) for text in texts]
    expected = right(events)
    assert refused == {key for key, event in enumerate(events) if event is None}
    assert 0.1 * MANY < len(refused) < 0.5 * MANY
    if limit is None:
        assert {key: sorted(rules) for key, rules in found.items()} == expected
    else:
        order = {key: sorted(rules, key=lambda n: (-(n % 7), n)) for key, rules in expected.items()}
        best = {key: [number % 7 for number in rules[:limit]] for key, rules in order.items()}
        assert {key: [number % 7 for number in rules] for key, rules in found.items()} == best
        assert all(set(rules) <= set(expected[key]) for key, rules in found.items())


def test_plain_texts_become_no_objects(shards, monkeypatch):
    monkeypatch.setattr(json_search, "event_of", None)  # which nobody may call
    texts = [json.dumps({"a": n % 4, "b": {"c": "x"}, "tags": ["red"]}) for n in range(50)]
    plain = {"even": shards["even"], "rest": shard(range(1, len(RULES), 2))}
    found, refused = in_shards(plain, monkeypatch, texts, plan_of())
    assert not refused
    expected = right(map(json.loads, texts))
    assert {key: sorted(rules) for key, rules in found.items()} == expected


@pytest.mark.parametrize("layout", [SHARDED, REPLICATED])
def test_texts_that_are_held_to_a_schema(shards, monkeypatch, layout):
    schema = Schema.from_dict(
        {
            "attributes": {"a": {"minimum": -5, "maximum": 5}, "s": "string", "flag": "boolean"},
            "types": {"visit": {"a": "mandatory", "s": "optional", "flag": "optional"}},
        }
    )
    events = [
        {"event_type": kind, "a": a, **more}
        for kind in ("visit", "other", None)
        for a in (1, 2.5, 7, "1", None)
        for more in ({}, {"s": "hello", "flag": True}, {"s": 3}, {"unknown": 1})
    ]
    texts = [json.dumps(event).encode() for event in events] + [b"[]", b'{"a": ', b'{"a": 01}']
    good = [event if not schema.check_event(Event(event)) else None for event in events] + [
        None
    ] * 3
    plan = plan_of(schema=schema, layout=layout)
    if layout == SHARDED:
        found, refused = in_shards(shards, monkeypatch, texts, plan)
    else:
        table = pa.table({"__event": texts, "key": range(len(texts))})
        mine = [
            text_matching.match_texts(plan, one, MatchWriter(plan), table)
            for one in shards.values()
        ]
        found, refused = answers((batch for some in mine for batch in some), len(texts))
    assert refused == {key for key, event in enumerate(good) if event is None}
    assert {key: sorted(rules) for key, rules in found.items()} == right(good)
    assert found
