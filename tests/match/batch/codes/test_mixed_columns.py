"""Columns of mixed types are read value by value; encoded columns mean what they encode."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

from matcher.expected import STRATEGIES, batches, expected, pairs, singles
from matchwood import EventError, Matcher
from matchwood.language import evaluate, parse

NOON = datetime(2026, 1, 1, 12)
RULES = dict(
    enumerate(
        [
            "a = 1", "a != 1", "a = true", "a", "a = 'y'", "a = 5", "a > 4", "a = 0.5",
            "a = date '2026-01-01'", "a = timestamp '2026-01-01T12:00:00Z'", "a is null",
            "a = timestamp '2026-01-01T00:00:00.000000001Z'", "a is not null", "a >= 1.1",
            "a = 1180591620717411303424", "contains(a, 1)", "a like 'y%'", "a.p is null",
            "a.p = 1", "a.y is null", "a.y = 1", "a in (1, 5)", "a = b", "a != b",
        ]
    )
)  # fmt: skip


def objects(*values):
    held = np.empty(len(values), object)
    held[:] = values
    return pandas.DataFrame({"a": pandas.Series(held, dtype=object)})


def same(table, rows):
    """A table has the same matches as its rows, with every strategy."""
    plain = {i: text for i, text in RULES.items() if " b" not in text}
    for rules in (RULES, plain):
        right = expected(rules, rows)
        matcher = Matcher(rules)
        assert singles(matcher, rows) == right
        for strategy in STRATEGIES:
            assert batches(matcher, table, strategy) == right, strategy


MIXED = {
    "a date beside noon": [date(2026, 1, 1), NOON],
    "a boolean beside a float": [0.5, True],
    "a boolean of NumPy beside an integer": [1, np.bool_(True)],
    "bytes beside a string": ["y", b"x"],
    "nanoseconds beside None": [pandas.Timestamp(1767225600000000001), None],
    "an integer of NumPy beside a date": [date(2026, 1, 1), np.int64(5)],
    "an integer beyond 64 bits": [2**70, 5],
    "hours beside an integer of NumPy": [np.datetime64("2026-01-01T12", "h"), np.int64(5)],
    "times with and without a zone": [NOON, NOON.replace(tzinfo=timezone(timedelta(hours=2)))],
    "an integer that no float holds beside a float": [2**53 + 1, 0.5],
    "a decimal beside a float": [Decimal("0.5"), 0.5],
    "a list beside a value": [[1, 5], 1],
    "arrays": [np.array([1, 5]), np.array([]), None],
    "arrays of several kinds": [np.array([1, "y"], object), np.array([True])],
    "objects with other names": [[{}], [{"p": 1}]],
    "objects": [{}, {"p": 1}, {"p": "x"}, None],
    "sets": [{1}, frozenset({5})],
}


@pytest.mark.parametrize("name", MIXED)
def test_objects_of_pandas(name):
    values = MIXED[name]
    same(objects(*values), [{"a": value} for value in values])
    with_others = objects(*values).assign(b=range(len(values)))
    same(with_others, [{"a": value, "b": row} for row, value in enumerate(values)])


def test_extensions_of_pandas():
    kinds = [
        pandas.Categorical([0.5, True, None]),
        pandas.Categorical([1, 5, None]),
        pandas.cut([0.5, 1.5], [0, 1, 2]),
        pandas.arrays.SparseArray([0, 0, 1]),
        pandas.array([1, None, 5], "Int8"),
        pandas.period_range("2026-01", periods=2, freq="M"),
        pandas.interval_range(0, 2),
    ]
    for values in kinds:
        frame = pandas.DataFrame({"a": values})
        same(frame, [{"a": value} for value in frame["a"]])


def test_names_of_columns_that_no_event_can_have():
    matcher = Matcher({1: "a = 1"})
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(EventError, match="'a': two columns"):
        matcher.match_batch(twice)
    with pytest.raises(EventError, match="'a': two columns"):
        matcher.match_batch(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))
    levels = pandas.DataFrame([[1]], columns=pandas.MultiIndex.from_tuples([("a", "b")]))
    with pytest.raises(TypeError, match="several levels: give each one name"):
        matcher.match_batch(levels)
    assert Matcher({1: "`0` = 1"}).match_batch(pandas.DataFrame([[1]])).num_rows == 1


def test_a_column_beside_an_object_that_is_null():
    a = pa.array([None, {"y": 1}], pa.struct([("y", pa.int64())]))
    table = pa.table({"a": a, "a.y": [1, 1]})
    same(table.slice(0, 1), [{"a": None, "a.y": 1}])
    with pytest.raises(EventError, match="spells it two ways"):
        Matcher(RULES).match_batch(table)


@pytest.mark.skipif(not hasattr(polars, "Int128"), reason="this polars has no Int128")
def test_integers_of_polars_that_arrow_has_no_type_for():
    for values, kind in (
        ([2**70, 5, None], polars.Int128),
        ([[2**70], [5, None], None], polars.List(polars.Int128)),
        ([{"p": 1}, None], polars.Struct({"p": polars.Int128})),
    ):
        frame = polars.DataFrame({"a": polars.Series(values, dtype=kind)})
        same(frame, [{"a": value} for value in values])


def test_objects_of_polars():
    values = [1, "y", None, NOON]
    frame = polars.DataFrame({"a": polars.Series(values, dtype=polars.Object)})
    same(frame, [{"a": value} for value in values])


# Encoded columns


def dictionary(indices, values):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values)


def test_dictionaries_of_lists_and_objects():
    lists = dictionary([1, 0, None, 1], pa.array([[5], [1, 2]]))
    same(pa.table({"a": lists}), [{"a": [1, 2]}, {"a": [5]}, {"a": None}, {"a": [1, 2]}])
    structs = dictionary([1, 0, None], pa.array([{"p": 1}, {"p": None}]))
    same(pa.table({"a": structs}), [{"a": {"p": None}}, {"a": {"p": 1}}, {"a": None}])


def test_chunks_with_dictionaries_of_half_floats():
    halves = [pa.array([np.float16(value)], pa.float16()) for value in (1.1, 0.1)]
    column = pa.chunked_array([dictionary([0], values) for values in halves])
    same(pa.table({"a": column}), [{"a": np.float16(1.1)}, {"a": np.float16(0.1)}])


def test_chunks_with_dictionaries_that_hold_null():
    chunks = [dictionary([0, 1], pa.array(texts)) for texts in (["y", None], [None, "x"])]
    rows = [{"a": "y"}, {"a": None}, {"a": None}, {"a": "x"}]
    table = pa.table({"a": pa.chunked_array(chunks)})
    same(table, rows)
    found = Matcher({1: "a is null"}).match_batch(table, key="a")
    assert found["event"].to_pylist() == [None, None]


def test_a_null_object_over_runs():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([1]))
    struct = pa.StructArray.from_arrays([runs], ["y"], mask=pa.array([True, False]))
    same(pa.table({"a": struct}), [{"a": None}, {"a": {"y": 1}}])


def test_a_null_object_over_a_union():
    codes = pa.array([0, 1], pa.int8())
    union = pa.UnionArray.from_sparse(codes, [pa.array([1, 1]), pa.array(["x", "y"])])
    struct = pa.StructArray.from_arrays([union], ["y"], mask=pa.array([True, False]))
    same(pa.table({"a": struct}), [{"a": None}, {"a": {"y": "y"}}])


def test_of_a_repeated_key_of_a_map_the_last_counts():
    maps = pa.array([[("p", 5), ("p", 1)], [("p", 1), ("p", 5)]], pa.map_(pa.string(), pa.int64()))
    same(pa.table({"a": maps}), [{"a": {"p": 1}}, {"a": {"p": 5}}])


def misspelt(values):
    return pa.array(values, pa.binary()).cast(pa.binary()).view(pa.string())


def test_strings_that_are_not_utf8_are_named_with_their_row():
    matcher = Matcher({1: "a = 'y'", 2: "b = 1"})
    texts = misspelt([b"y", None, b"\xff"])
    for column in (
        texts,
        texts.dictionary_encode(),
        texts.cast(pa.large_binary()).view(pa.large_string()),
    ):
        with pytest.raises(EventError, match="'a': row 2: a string is not valid UTF-8"):
            matcher.match_batch(pa.table({"a": column}))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3]), texts)
    with pytest.raises(EventError, match="'a': row 1"):
        matcher.match_batch(pa.table({"a": lists}))
    maps = pa.array([[]] * 3, pa.map_(pa.string(), pa.int64()))
    with pytest.raises(EventError, match="'a': row 2: a string is not valid"):
        matcher.match_batch(pa.table({"a": texts, "m": maps}))
    assert matcher.match_batch(pa.table({"z": texts, "b": [1, 2, 1]})).num_rows == 2


def test_a_bad_string_that_no_row_has():
    held = dictionary([0], misspelt([b"y", b"\xff"]))
    same(pa.table({"a": held}), [{"a": "y"}])


# Arrays of NumPy


def test_arrays_are_lists():
    for array, values in (
        (np.array([1, 5]), [1, 5]),
        (np.array([0.5, np.nan]), [0.5, None]),
        (np.array(["y"]), ["y"]),
        (np.array([True]), [True]),
        (np.array([[1], [5]]), [[1], [5]]),
        (np.array(["2026-01-01T12"], "M8[h]"), [NOON]),
        (np.array([{"p": 1}, {}], object), [{"p": 1}, {}]),
        (np.ma.masked_array([1, 5], [False, True]), [1, None]),
        (np.array(5), 5),
    ):
        assert expected(RULES, [{"a": array}]) == expected(RULES, [{"a": values}]), array
        same([{"a": array}], [{"a": values}])
    assert evaluate(parse("a.p = 1"), {"a": {"p": np.array([5, 1])}}) is True


# Keys


def keys_of(*keys):
    found = Matcher({1: "b is null"}).match_batch([{"k": key} for key in keys], key="k")
    return found["event"].to_pylist()


def test_keys_are_given_back_as_they_were():
    stamp = pandas.Timestamp(1767225600000000001)
    for keys in (
        [1, 2], ["x", "y"], [1.5, 2], [True, False], [np.int64(5), np.int64(6)], [b"x", b"y"],
        [date(2026, 1, 1)], [NOON], [NOON.replace(tzinfo=UTC)], [stamp, stamp], [Decimal("1.5")],
    ):  # fmt: skip
        assert keys_of(*keys) == keys


@pytest.mark.parametrize(
    "keys",
    [
        [0.5, True], [date(2026, 1, 1), NOON], ["y", b"x"], [2**53 + 1, 0.5], [2**70],
        [np.datetime64("2026-01-01T12", "h"), np.int64(5)], [[0.5], [True]], [1, "x"],
    ],
)  # fmt: skip
def test_keys_of_several_types_are_refused(keys):
    with pytest.raises(TypeError, match="the key 'k' cannot be used"):
        keys_of(*keys)
    frame = pandas.DataFrame({"k": objects(*keys)["a"]})
    with pytest.raises(TypeError, match="the key 'k' cannot be used"):
        pairs(Matcher({1: "b is null"}).match_batch(frame, key="k"))
