"""Events of every form are read from Arrow batches; those that cannot be read are rejected."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcher.random_rules import coded_rules, examples
from matchwood import EventError, Matcher, Schema
from matchwood.language import evaluate
from matchwood.language.events import Event

pytest.importorskip("pyspark")

from matchwood.spark.events.event_attributes import COLUMNS, JSON, MAP, Reading
from matchwood.spark.events.event_batches import gathered, read_events

scalars = st.sampled_from(
    [None, True, False, 0, 1, -1, 1.5, 0.1, 2**53 + 1, 2**70, "a", "É", "", "2026-01-31", "\ud800"]
)
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=3),
    st.dictionaries(st.sampled_from(["d", "x.y"]), scalars, max_size=2),
    st.lists(st.dictionaries(st.just("d"), scalars, max_size=1), max_size=2),
)
events = st.dictionaries(st.sampled_from(["a", "b", "c", "c.d", "größe"]), values, max_size=4)


def reads(event):
    try:
        seen = Event(event)
        for name in seen.raw:
            seen[name]
    except EventError:
        return False
    return True


@examples(1)
@given(st.lists(events, max_size=6), st.lists(coded_rules, min_size=1, max_size=4))
def test_json_as_evaluate_reads_it(given_events, trees):
    rules = dict(enumerate(trees))
    matcher = Matcher(rules)
    table = pa.table({"event": pa.array([json.dumps(one) for one in given_events], pa.string())})
    reading = Reading(JSON, (), ("a", "b", "c.d", "größe"), ())
    read = read_events(table, reading)
    good = [number for number, one in enumerate(given_events) if reads(one)]
    assert [row for row, _ in read.rejected] == [
        number for number in range(len(given_events)) if number not in good
    ]
    rows = list(range(len(given_events))) if read.rows is None else read.rows.tolist()
    assert rows == good
    found = matcher.match_batch(read.events).to_pylist()
    right = [
        (place, rule_id)
        for place, number in enumerate(good)
        for rule_id, tree in rules.items()
        if evaluate(tree, given_events[number]) is True
    ]
    assert sorted((row["event"], row["rule_id"]) for row in found) == right


@pytest.mark.parametrize("value", [pa.int32(), pa.string(), pa.list_(pa.float64())])
def test_maps_that_are_slices(value):
    plain = {pa.int32(): [1, None, 3], pa.string(): ["x", "", None]}
    held = plain.get(value, [[1.5, None], [], None])
    maps = [[("a", held[0]), ("b", held[1])], None, [], [("b", held[2])], [("c", held[0])]]
    array = pa.array(maps, pa.map_(pa.string(), value))
    for low, high in ((0, 5), (1, 4), (2, 5), (1, 2)):
        table = pa.table({"event": array.slice(low, high - low)})
        read = read_events(table, Reading(MAP, (), ("a", "b", "never"), ()))
        there = [row for row in range(high - low) if maps[low + row] is not None]
        rows = list(range(high - low)) if read.rows is None else read.rows.tolist()
        assert rows == there
        assert [row for row, _ in read.rejected] == [1 - low] * (low <= 1 < high)
        seen = read.events if isinstance(read.events, list) else read.events.to_pylist()
        for event, row in zip(seen, there, strict=True):
            wanted = {k: v for k, v in maps[low + row] if k != "c" and v is not None}
            assert {k: v for k, v in event.items() if v is not None} == wanted


def test_small_batches_are_put_together():
    batches = [pa.record_batch({"a": [1] * 100}) for _ in range(400)]
    sizes = [table.num_rows for table in gathered(iter(batches))]
    assert sum(sizes) == 40_000
    assert len(sizes) == 3


SCHEMA = Schema.from_dict(
    {
        "attributes": {"price": "number", "kind": "string"},
        "types": {"sale": {"price": "mandatory", "kind": "optional"}},
    }
)
SALES = [
    {"event_type": "sale", "price": 5, "kind": "a"},
    {"event_type": "sale", "price": None, "kind": "b"},
    {"event_type": "rent", "price": 5, "kind": "c"},
    {"event_type": "sale", "price": 7, "kind": None},
]
MISSING = "R2, attribute 'price': it is mandatory in sale, and not there"


def test_events_that_break_a_schema_are_rejected():
    texts = [*map(json.dumps, SALES), "{", '{"event_type": "sale", "price": "5", "colour": 1}']
    reading = Reading(JSON, (), None, (), SCHEMA)
    read = read_events(pa.table({"event": texts}), reading)
    assert read.rows.tolist() == [0, 3]
    assert [row["price"] for row in read.events] == [5, 7]
    reasons = dict(read.rejected)
    assert list(reasons) == [1, 2, 4, 5]
    assert reasons[1] == MISSING
    assert reasons[2].startswith("R1, attribute 'event_type': the schema has no event type 'rent'")
    assert reasons[4].startswith("not JSON")
    assert reasons[5] == (
        "R2, attribute 'price': expected a number, found '5'; "
        "R3, attribute 'colour': no such attribute in sale"
    )


def test_columns_that_break_a_schema_are_rejected():
    table = pa.Table.from_pylist(SALES)
    read = read_events(table, Reading(COLUMNS, tuple(table.column_names), None, (), SCHEMA))
    assert read.rows.tolist() == [0, 3]
    assert read.events.column("price").to_pylist() == [5, 7]
    assert [row for row, _ in read.rejected] == [1, 2]
    good = read_events(
        table.take([0, 3]), Reading(COLUMNS, tuple(table.column_names), None, (), SCHEMA)
    )
    assert (good.rows, good.rejected) == (None, [])


def misspelt(values):
    return pa.array(values, pa.binary()).view(pa.string())


def test_strings_that_are_not_utf8_are_rejected_and_the_rest_goes_on():
    texts = misspelt([b"x", b"\xff", None])
    read = read_events(pa.table({"a": texts}), Reading(COLUMNS, ("a",), ("a",), ()))
    assert read.rejected == [(1, "attribute 'a': a string is not valid Unicode")]
    assert read.rows.tolist() == [0, 2]
    assert read.events == [{"a": "x"}, {"a": None}]
    json_texts = misspelt([b'{"a": "x"}', b'{"a": "\xff"}'])
    read = read_events(pa.table({"event": json_texts}), Reading(JSON, (), ("a",), ()))
    assert read.rejected == [(1, "the text is not valid UTF-8")]
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["a"] * 3), texts)
    read = read_events(pa.table({"event": maps}), Reading(MAP, (), ("a",), ()))
    assert read.rejected == [(1, "attribute 'a': a string is not valid Unicode")]


def test_json_of_several_kinds_keeps_them():
    rules = {1: "a = 1", 2: "a = true", 3: "a.p is null", 4: "a = 0.5"}
    given_events = [{"a": 0.5}, {"a": True}, {"a": 1}, {"a": [{}]}, {"a": [{"p": 1}]}]
    texts = pa.array([json.dumps(one) for one in given_events])
    read = read_events(pa.table({"event": texts}), Reading(JSON, (), ("a", "a.p"), ()))
    found = Matcher(rules).match_batch(read.events).to_pylist()
    pairs = {(row["event"], row["rule_id"]) for row in found}
    assert pairs == {(0, 4), (0, 3), (1, 2), (1, 3), (2, 1), (2, 3), (3, 3)}


def test_of_a_repeated_key_of_a_map_the_last_counts():
    pairs = [[("a", [5]), ("a", [1])]]
    for kind, value in ((pa.list_(pa.list_(pa.int64())), [[[1]]]), (pa.list_(pa.int64()), [[1]])):
        given_pairs = pairs if kind.value_type == pa.int64() else [[("a", [[5]]), ("a", [[1]])]]
        held = pa.array(given_pairs, pa.map_(pa.string(), kind))
        read = read_events(pa.table({"event": held}), Reading(MAP, (), ("a",), ()))
        rows = read.events if isinstance(read.events, list) else read.events.to_pylist()
        assert [row["a"] for row in rows] == value
