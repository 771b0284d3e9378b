"""Events in every form, batches of every awkward size, by every strategy for batches."""

from itertools import cycle, islice

import pandas
import polars
import pyarrow as pa
import pytest

from matcher.expected import STRATEGIES, batches, expected, force, pairs, singles
from matchwood import EventError, Matcher

RULES = {
    1: "age >= 18 and country in ('DE', 'FR')",
    2: "not (age < 65 or tags = 'x')",
    3: "name like 'a%' or name ilike '%Z' xor age = 30",
    4: "score > 0.5 and score <= 2 and seen >= date '2026-01-01'",
    5: "address.city = 'Rom' and address.zip is not null",
    6: "age is null or country is null",
    7: "tags in ('x', 'y') xnor vip",
    8: "true",
    9: "false or age != 30",
    10: "endswith(name, 'z') and not contains(name, 'b')",
}
LAZY = RULES | {11: "age < score", 12: "contains(tags, country)"}
EVENTS = [
    {"age": 30, "country": "DE", "tags": ["x", "y"], "name": "abz", "score": 1.5, "vip": True},
    {"age": 70, "country": None, "tags": [], "name": "Z", "score": 0.5, "vip": False},
    {"age": None, "country": "FR", "tags": None, "name": "", "score": None, "vip": None},
    {"age": 17, "country": "IT", "tags": ["z", None], "name": None, "score": 2.0, "vip": True},
    {"age": 18, "country": "x", "tags": ["x"], "name": "caz", "score": 18.5, "vip": None},
]
for number, event in enumerate(EVENTS):
    event["seen"] = f"2026-0{number + 1}-01" if number != 2 else None
    event["address"] = {"city": "Rom", "zip": number or None} if number % 2 else None
SIZES = [0, 1, 64, 65, 1025]
MORE_SIZES = [63, 1000, 1023, 1024, 5000]


def repeated(size):
    return list(islice(cycle(EVENTS), size))


def answers(rules, size):
    once = expected(rules, EVENTS)
    return {
        (row, rule_id)
        for row in range(size)
        for number, rule_id in once
        if number == row % len(EVENTS)
    }


def reader(rows):
    table = pa.Table.from_pylist(rows, pa.Table.from_pylist(EVENTS).schema)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700))


def arrow(rows):
    return pa.Table.from_pylist(rows, pa.Table.from_pylist(EVENTS).schema)


FORMS = {
    "dicts": lambda rows: rows,
    "iterator": iter,
    "table": arrow,
    "chunks": lambda rows: pa.Table.from_batches(
        arrow(rows).to_batches(max_chunksize=100), arrow(rows).schema
    ),
    "batch": lambda rows: pa.RecordBatch.from_pylist(rows, arrow([]).schema),
    "reader": reader,
    "pandas": lambda rows: arrow(rows).to_pandas(),
    "polars": lambda rows: polars.from_arrow(arrow(rows)),
    "slice": lambda rows: arrow([*EVENTS[:3], *rows]).slice(3),
}


@pytest.fixture(scope="module")
def matcher():
    return Matcher(RULES)


@pytest.fixture(scope="module")
def lazy():
    return Matcher(LAZY)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "size", [*SIZES, *(pytest.param(size, marks=pytest.mark.slow) for size in MORE_SIZES)]
)
def test_batches(matcher, form, size, strategy):
    assert batches(matcher, FORMS[form](repeated(size)), strategy) == answers(RULES, size)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 64, 65, 1025])
def test_batches_with_comparisons_of_attributes(lazy, form, size):
    assert pairs(lazy.match_batch(FORMS[form](repeated(size)))) == answers(LAZY, size)


def test_one_by_one(matcher, lazy):
    assert singles(matcher, EVENTS) == expected(RULES, EVENTS)
    assert singles(lazy, EVENTS) == expected(LAZY, EVENTS)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threads_give_the_same_in_the_same_order(matcher, strategy):
    force(matcher, strategy)
    table = arrow(repeated(5000))
    one = matcher.match_batch(table)
    two = matcher.match_batch(table, threads=2)
    assert one.column("event").to_pylist() == two.column("event").to_pylist()
    assert pairs(one) == pairs(two)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_slices_are_the_same_pairs(matcher, strategy):
    force(matcher, strategy)
    pieces = list(matcher.match_batches(repeated(3000)))
    assert len(pieces) > 1
    assert all(piece.num_rows for piece in pieces)
    assert pairs(pa.Table.from_batches(pieces)) == answers(RULES, 3000)


def test_a_batch_of_more_pairs_than_a_buffer_holds():
    rules = dict.fromkeys(range(3000), "a >= 0") | {-1: "a = 1 and b is null"}
    matcher = Matcher(rules)
    for strategy in STRATEGIES:
        force(matcher, strategy)
        table = matcher.match_batch([{"a": row % 2} for row in range(1024)])
        assert table.num_rows == 1024 * 3000 + 512, strategy


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_sweep_leaves_nothing_for_the_next(strategy):
    """Scratch is used again: nothing of one batch must be left for the next."""
    rules = {1: "name like '%a%'", 2: "name not like '%a%' and b = 1", 3: "tags = 1 or b is null"}
    matcher = Matcher(rules)
    full = [{"name": "a", "tags": [1], "b": 1}] * 100
    bare = [{"name": "x"}, {"b": 1, "name": "b"}, {}] * 20
    for events in (full, bare, full[:3], bare[:1], []):
        assert batches(matcher, events, strategy) == expected(rules, events)


def test_more_events_than_states_have_epochs(lazy):
    for _ in range(70):
        assert set(lazy.match(EVENTS[0])) == {r for n, r in expected(LAZY, EVENTS[:1])}


# Keys


def test_keys_name_events():
    matcher = Matcher({"r": "a = 1"})
    rows = [{"a": 1, "k": "x"}, {"a": 2, "k": "y"}, {"a": 1, "k": "z"}]
    for events in (rows, pa.Table.from_pylist(rows), pandas.DataFrame(rows)):
        assert matcher.match_batch(events, key="k")["event"].to_pylist() == ["x", "z"]


def test_keys_keep_their_type_where_nothing_matches():
    matcher = Matcher({"r": "a = 5"})
    for rows in ([], [1]):
        table = pa.table({"a": pa.array(rows, pa.int64()), "k": pa.array(["x"] * len(rows))})
        table = table.set_column(1, "k", table["k"].cast(pa.string()))
        found = matcher.match_batch(table, key="k")
        assert found.num_rows == 0
        assert found.schema.field("event").type == pa.string()
    assert Matcher().match_batch(pa.table({"k": ["x"]}), key="k").schema.types[0] == pa.string()


def test_keys_beside_lists_of_objects_keep_their_type():
    table = pa.table({"k": pa.array([7], pa.int16()), "items": pa.array([[{"price": 1}]])})
    found = Matcher({"r": "items.price = 1"}).match_batch(table, key="k")
    assert found["event"].to_pylist() == [7]
    assert found.schema.field("event").type == pa.int16()


def test_keys_that_are_null_for_a_while():
    rows = [{"a": 1, "k": None if row < 1024 else row} for row in range(1100)]
    found = Matcher({"r": "a = 1"}).match_batch(rows, key="k")
    assert found["event"].to_pylist() == [row["k"] for row in rows]


def test_keys_of_several_types_are_refused():
    rows = [{"a": 1, "k": row if row < 1024 else str(row)} for row in range(1100)]
    with pytest.raises(TypeError, match="'k' are of several types"):
        Matcher({"r": "a = 1"}).match_batch(rows, key="k")


def test_keys_that_are_missing():
    matcher = Matcher({"r": "a = 1"})
    for events in ([{"a": 1}], pa.table({"a": [1]})):
        with pytest.raises(KeyError, match="k"):
            matcher.match_batch(events, key="k")


# What is no event


@pytest.mark.parametrize("event", [5, None, "a", [], {5: 1}, {"\ud800": 1}])
def test_what_is_no_event_is_refused(event):
    for matcher in (Matcher(), Matcher({1: "a = 1"})):
        with pytest.raises(EventError):
            matcher.match(event)


def test_a_string_that_is_not_valid_unicode_is_refused_where_a_rule_asks():
    with pytest.raises(EventError):
        Matcher({1: "a = 1"}).match({"a": "\ud800"})
    assert Matcher({1: "b = 1"}).match({"b": 1, "a": "x"}) == [1]


def test_one_event_is_no_batch():
    with pytest.raises(TypeError, match="match"):
        Matcher({1: "a = 1"}).match_batch({"a": 1})


def test_an_event_that_spells_an_attribute_two_ways():
    matcher = Matcher({1: "a.b = 1"})
    with pytest.raises(EventError, match="two ways"):
        matcher.match({"a": {"b": 1}, "a.b": 1})
    with pytest.raises(EventError, match="two ways"):
        matcher.match_batch(pa.table({"a": pa.array([{"b": 1}]), "a.b": [1]}))
