"""Columns of every Arrow type match the same rules as the same values in dicts."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcher.expected import STRATEGIES, batches, expected
from matcher.random_rules import coded_rules, examples
from matchwood import Matcher
from matchwood.arrow import reading

CONSTANTS = ["0", "1", "1.5", "0.1", "9007199254740993", "9223372036854775807"]
NUMBERS = [
    *(f"a {op} {constant}" for op in ("=", "!=", "<", ">=") for constant in CONSTANTS),
    "a = 18446744073709551615", "a > 1e400", "a not in (1, 2)", "a between 1 and 2",
    "a is null", "a is not null", "a = 'x'", "a != 'x'", "a = b", "not (a > 1 and a < 3)",
]  # fmt: skip
STRINGS = [
    "a = 'x'", "a != 'x'", "a < 'y'", "a like '%b'", "a not like '%b'", "a is null", "a = ''",
    "contains(a, 'x')", "not contains(a, 'x')", "a rlike 'x'", "a = '2026-01-31'",
    "a = date '2026-01-31'", "a != date '2026-01-31'", "a > 5", "a != 5", "a", "a = b",
    "not endswith(a, 'b')", "startswith(a, '')", "a ilike 'é'", "a > '\U0010ffff'",
]  # fmt: skip
TIMES = [
    "a = date '2026-01-31'", "a != date '2026-01-31'", "a > timestamp '2026-01-31T10:00:00Z'",
    "a <= timestamp '2026-01-31T10:00:00.000000001'", "a is null", "a is not null", "a = 5",
    "a != 'x'", "a = b", "a in (date '1970-01-01')", "a < date '9999-12-31'", "a = a",
]  # fmt: skip
BOOLEANS = ["a", "not a", "a = false", "a != false", "a = 1", "a is null", "a < true", "a = a"]
OBJECTS = [
    "a.b = 1", "a.b != 1", "a.b is null", "a is null", "a is not null", "a = 1", "a.c.d = 'x'",
    "a.c is not null", "a.b = a.b", "a.b in (1, 2)", "not a.c.d like '%x%'",
]  # fmt: skip


def check(texts, table, rows=None):
    rules = dict(enumerate(texts))
    rows = table.to_pylist(maps_as_pydicts="strict") if rows is None else rows
    right = expected(rules, rows)
    plain = {i: text for i, text in rules.items() if text not in ("a = b", "a = a", "a.b = a.b")}
    for known in (rules, plain):  # with comparisons of attributes, and without
        matcher = Matcher(known)
        for strategy in STRATEGIES:
            here = {pair for pair in right if pair[1] in known}
            assert batches(matcher, table, strategy) == here, strategy


def column(values, kind):
    return pa.table({"a": pa.array(values, kind)})


SMALL = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32()]


@pytest.mark.parametrize("kind", [*SMALL, pa.int64(), pa.uint64()], ids=str)
def test_integers(kind):
    check(NUMBERS, column([0, 1, 2, None, 3], kind))


def test_integers_that_doubles_cannot_hold():
    check(NUMBERS, column([2**53, 2**53 + 1, 2**63 - 1, -(2**63), None, 0], pa.int64()))
    check(NUMBERS, column([2**53, 2**53 + 1, 2**64 - 1, 2**63, None, 0], pa.uint64()))


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_floats(kind):
    values = [0.1, 1.5, -0.0, np.inf, -np.inf, np.nan, None, 60000]
    values = [None if v is None else np.dtype(kind.to_pandas_dtype()).type(v) for v in values]
    check(NUMBERS, column(values, kind))


def test_doubles_beside_constants_that_are_none():
    texts = [
        f"a {op} {constant}"
        for op in ("=", "<", ">")
        for constant in ("0.1", "0.10000000000000001", "0.09999999999999999", "1e308", "1e309",
                         "9007199254740993", "9007199254740992", "-1e400", "1e-400",
                         "9223372036854775808", "9223372036854776000", "1e22")
    ]  # fmt: skip
    values = [0.1, np.nextafter(0.1, 0), np.nextafter(0.1, 1), 1e308, 1.7976931348623157e308,
              np.inf, -np.inf, 2.0**53, 2.0**53 + 2, 2.0**63, 1e22, 5e-324, 0.0]  # fmt: skip
    check(texts, column(values, pa.float64()))
    check(texts, column([values], pa.list_(pa.float64())))


DECIMALS = [pa.decimal128(38, 1), pa.decimal256(60, 20), pa.decimal128(38, 20)]
DECIMALS += [getattr(pa, name)(6, 1) for name in ("decimal32", "decimal64") if hasattr(pa, name)]


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_decimals(kind):
    values = ["1.5", "0.1", None, "0", *(["9007199254740993"] if kind.precision > 6 else [])]
    check(NUMBERS, column([None if v is None else Decimal(v) for v in values], kind))


TEXTS = ["x", "ab", None, "", "2026-01-31", "y", "É", "\U0010ffffx", "bbb"]
TEXT_KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    *(pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.uint8(), pa.uint32())),
    pa.dictionary(pa.int64(), pa.large_string()),
]


@pytest.mark.parametrize("kind", TEXT_KINDS, ids=str)
def test_strings(kind):
    if pa.types.is_dictionary(kind):
        distinct = sorted({text for text in TEXTS if text is not None})
        places = [None if text is None else distinct.index(text) for text in TEXTS]
        indices = pa.array(places, kind.index_type)
        texts = pa.DictionaryArray.from_arrays(indices, pa.array(distinct, kind.value_type))
    else:
        texts = pa.array(TEXTS, kind)
    check(STRINGS, pa.table({"a": texts}))
    bounds = pa.array([0, 2, 2, 5, 7, 9])
    check(STRINGS, pa.table({"a": pa.ListArray.from_arrays(bounds, texts)}))


def test_dictionaries_of_other_values():
    indices = pa.array([0, 1, None, 2, 0], pa.uint16())
    for values, texts in (
        ([1, None, 2**53 + 1], NUMBERS),
        ([0.1, None, np.nan], NUMBERS),
        ([date(2026, 1, 31), None, date(1970, 1, 1)], TIMES),
        ([True, None, False], BOOLEANS),
        ([Decimal("1.5"), Decimal("0.1"), None], NUMBERS),
        ([b"x", None, b""], STRINGS),
    ):
        array = pa.DictionaryArray.from_arrays(indices, pa.array(values))
        check(texts, pa.table({"a": array}))


def test_chunks_with_dictionaries_of_their_own():
    chunks = [pa.array(part).dictionary_encode() for part in (["x", "y"], ["ab", None, "x"], [])]
    chunks[2] = pa.array([], pa.string()).dictionary_encode()
    check(STRINGS, pa.table({"a": pa.chunked_array(chunks)}))


def test_run_ends_and_other_storage():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array([1, None]))
    check(NUMBERS, pa.table({"a": runs}), [{"a": 1}, {"a": 1}, {}, {}])
    unnamed = pa.array([b"0" * 16, None], pa.binary(16))
    check(STRINGS, pa.table({"a": pa.ExtensionArray.from_storage(pa.uuid(), unnamed)}),
          [{"a": b""}, {}])  # fmt: skip


def test_booleans_and_nulls():
    check(BOOLEANS, column([True, None, False], pa.bool_()))
    check([*BOOLEANS, *STRINGS, *TIMES], column([None, None], pa.null()))


DAYS = [date(2026, 1, 31), None, date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)]
MOMENTS = [datetime(2026, 1, 31, 10, tzinfo=UTC), None, datetime(2026, 1, 31, tzinfo=UTC)]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates(kind):
    check(TIMES, column(DAYS, kind))
    check(TIMES, column([DAYS[:2], [], None, [None], DAYS[2:]], pa.list_(kind)))


@pytest.mark.parametrize("zone", [None, "UTC", "+02:00", "America/New_York"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps(unit, zone):
    check(TIMES, column(MOMENTS, pa.timestamp(unit, zone)))


def test_nanoseconds():
    at = int(MOMENTS[0].timestamp()) * 10**9
    ticks = pa.array([at - 1, at, at + 1, at + 2]).cast(pa.timestamp("ns"))
    rows = [{"a": np.datetime64(int(tick.value), "ns")} for tick in ticks]
    check(TIMES, pa.table({"a": ticks}), rows)


@pytest.mark.parametrize("far", [10**12, -(10**12)])
def test_times_beyond_the_calendar_are_there_and_undefined(far):
    ticks = pa.array([far, 0, None]).cast(pa.timestamp("s"))
    rows = [{"a": b""}, {"a": date(1970, 1, 1)}, {}]
    check(TIMES, pa.table({"a": ticks}), rows)
    days = pa.array([10**8 if far > 0 else -(10**8), 0, None], pa.int32()).cast(pa.date32())
    check(TIMES, pa.table({"a": days}), rows)


def test_times_beyond_the_calendar_inside_objects():
    ticks = pa.array([10**12]).cast(pa.timestamp("s"))
    table = pa.table({"x": pa.StructArray.from_arrays([ticks], ["when"]), "b": [1]})
    assert Matcher({1: "x.when = b"}).match_batch(table).num_rows == 0
    assert Matcher({1: "x.when is not null"}).match_batch(table).num_rows == 1


LISTS = {
    "list": (pa.list_(pa.int64()), [[1, 2], [], None, [None], [1, 1], [0, 2**53 + 1]]),
    "large": (pa.large_list(pa.int64()), [[1, 2], [], None, [None], [1, 1], [0, 2**53 + 1]]),
    "fixed": (pa.list_(pa.int64(), 2), [[1, 2], [None, 5], None, [1, 1]]),
    "view": (pa.list_view(pa.int64()), [[1, 2], [], None, [None], [1, 1], [0, 2**53 + 1]]),
    "large view": (pa.large_list_view(pa.int64()), [[1, 2], [], None, [None], [0]]),
    "floats": (pa.list_(pa.float64()), [[0.1, np.nan], [np.nan], None, [np.inf, -1], []]),
    "nulls": (pa.list_(pa.null()), [[None], None, []]),
    "lists": (pa.list_(pa.list_(pa.int64())), [[[1]], None, []]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name):
    kind, values = LISTS[name]
    check(NUMBERS, column(values, kind))
    check(NUMBERS, column(values, kind).slice(1))
    check(NUMBERS, pa.table({"a": pa.chunked_array([pa.array(values, kind)] * 2)}))


def test_lists_of_booleans_strings_and_times():
    check(BOOLEANS, column([[True, None], [], None, [False], [False, True]], pa.list_(pa.bool_())))
    strings = [["2026-01-31", "x"], [], None, ["2026-01-31T10:00:00Z"], ["ab", None]]
    check([*STRINGS, *TIMES], column(strings, pa.list_(pa.string())))
    check(TIMES, column([MOMENTS, [], None], pa.list_(pa.timestamp("us", "UTC"))))


def test_a_null_list_over_values_that_are_there():
    values = pa.array([1, 2, 3, 4])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 3, 4]), values, mask=pa.array([False, True, False])
    )
    check(NUMBERS, pa.table({"a": lists}))


def test_objects():
    rows = [{"b": 1, "c": {"d": "x"}}, None, {"b": None, "c": None}, {"b": 2, "c": {"d": None}}]
    check(OBJECTS, pa.table({"a": pa.array(rows)}))
    check(OBJECTS, pa.table({"a": pa.array(rows)}).slice(1, 2))
    lists = [{"b": [1, 2]}, None, {"b": None}, {"b": []}]
    check(OBJECTS, pa.table({"a": pa.array(lists)}))


def test_a_null_object_over_values_that_are_there():
    struct = pa.StructArray.from_arrays([pa.array([1, 1])], ["b"], mask=pa.array([True, False]))
    check(OBJECTS, pa.table({"a": struct}))


def test_lists_of_objects_and_maps():
    items = [[{"b": 1}, {"b": 2}], None, [{"b": None}], [], [None]]
    check(OBJECTS, pa.table({"a": pa.array(items)}))
    maps = [[("b", 1)], None, [], [("c", 1)]]
    check(OBJECTS, column(maps, pa.map_(pa.string(), pa.int64())))


def test_values_of_no_family():
    check(STRINGS, column([b"x", None, b""], pa.binary()))
    check(NUMBERS, column([1, None], pa.duration("s")))
    check(NUMBERS, column([1, None], pa.time32("s")))


def test_no_rows_and_no_columns():
    for table in (pa.table({}), column([], pa.int64()), column([], pa.list_(pa.string()))):
        check([*NUMBERS, *STRINGS], table, [])
    assert Matcher({1: "a = 1"}).match_batch([{}] * 3).num_rows == 0
    assert Matcher({1: "a is null"}).match_batch([{}] * 3).num_rows == 3


def test_columns_that_no_rule_names():
    table = pa.table({"z": [1, 2], "a": [1, 2], "y": pa.array([[{"q": 1}], None])})
    check(NUMBERS, table)


def test_pandas():
    when = pandas.to_datetime(["2026-01-31", None, "1970-01-01"])
    frames = [
        ({"a": [1, None, 3]}, NUMBERS, [1, None, 3]),
        ({"a": pandas.Categorical(["x", None, "ab"])}, STRINGS, ["x", None, "ab"]),
        ({"a": when}, TIMES, [date(2026, 1, 31), None, date(1970, 1, 1)]),
        ({"a": [[1, 2], None, []]}, NUMBERS, [[1, 2], None, []]),
        ({"a": [1, "x", None]}, [*NUMBERS, *STRINGS], [1, "x", None]),
        ({"a": pandas.array([1, None, 3], "Int64")}, NUMBERS, [1, None, 3]),
    ]
    for data, texts, values in frames:
        frame = pandas.DataFrame(data, index=[5, 6, 7])
        check(texts, frame, [{"a": value} for value in values])


def test_polars():
    series = [
        (polars.Series([1, None, 3]), NUMBERS),
        (polars.Series(["x", None, "ab"]), STRINGS),
        (polars.Series(["x", None, "ab"], dtype=polars.Categorical), STRINGS),
        (polars.Series(["x", None, "ab"], dtype=polars.Enum(["x", "ab"])), STRINGS),
        (polars.Series([[1], None, [1, 2], []]), NUMBERS),
        (polars.Series([[1, 2], None], dtype=polars.Array(polars.Int64, 2)), NUMBERS),
        (polars.Series([datetime(2026, 1, 31), None]), TIMES),
        (polars.Series([Decimal("1.5"), None]), NUMBERS),
        (polars.Series([{"b": 1}, {"b": 2}]), OBJECTS),
        (polars.Series([[{"b": 1}], None]), OBJECTS),
    ]
    for values, texts in series:
        rows = [
            {"a": value.to_list() if isinstance(value, polars.Series) else value}
            for value in values.to_list()
        ]
        check(texts, polars.DataFrame({"a": values}), rows)


# Any values in any column


scalars = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2, 3, 2**53 + 1]),
    pa.uint64(): st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 3, 2**53 + 1, 2**63]),
    pa.float64(): st.floats() | st.sampled_from([0.1, 1.5, 2.0**63, 1e22]),
    pa.float32(): st.floats(width=32),
    pa.decimal128(38, 2): st.decimals(-100, 100, places=2),
    pa.string(): st.sampled_from(["", "a", "ab", "x", "É", "2026-01-31", "10.1.2.3", "\U0010ffff"]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates() | st.just(date(2026, 1, 31)),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)) | st.just(MOMENTS[0]),
    pa.null(): st.none(),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 6))
    columns = {}
    for name in draw(st.sets(st.sampled_from(["a", "b", "c", "größe"]))):
        kind = draw(st.sampled_from(list(scalars)))
        values = st.none() | scalars[kind]
        if draw(st.booleans()):
            kind, values = pa.list_(kind), st.none() | st.lists(values, max_size=3)
        if name == "c":
            kind = pa.struct([("d", kind)])
            values = st.none() | st.fixed_dictionaries({"d": values})
        column = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[name] = pa.array(column, kind)
    return pa.table(columns) if columns else pa.table({"z": pa.nulls(rows)})


@given(st.lists(coded_rules, max_size=12), tables())
@examples(0.6)
def test_any_column(trees, table):
    rules = dict(enumerate(trees))
    right = expected(rules, table.to_pylist())
    matcher = Matcher(rules)
    for strategy in STRATEGIES:
        assert batches(matcher, table, strategy) == right


ASKED_OF_LISTS = {
    1: "contains(a, 'ab')", 2: "a like '%b'", 3: "not contains(a, 'ab')", 4: "a not like 'a%'",
    5: "contains(a, 5)", 6: "contains(a, true)", 7: "a rlike '^a.b$'", 8: "endswith(a, 'b')",
    9: "a ilike '%B'", 10: "contains(a, 2.5)", 11: "contains(a, date '2026-01-31')", 12: "a = 'ab'",
}  # fmt: skip
IN_LISTS = [["ab", "acb"], [], None, ["b", None], ["x"], ["ab", "ab", "2026-01-31"], [None], [""]]
KINDS_OF_LISTS = {
    "string": (pa.list_(pa.string()), IN_LISTS),
    "large": (pa.large_list(pa.large_string()), IN_LISTS),
    "dictionary": (pa.list_(pa.dictionary(pa.int8(), pa.string())), IN_LISTS),
    "fixed": (pa.list_(pa.string(), 2), [["ab", "b"], None, [None, "x"], ["ab", "ab"]]),
    "view": (pa.list_view(pa.string()), IN_LISTS),
    "integer": (pa.list_(pa.int16()), [[5, 6], [], None, [None], [1]]),
    "float": (pa.list_(pa.float64()), [[2.5, 5.0], [float("nan")], None, []]),
    "boolean": (pa.list_(pa.bool_()), [[True], [False, None], None]),
    "date": (pa.list_(pa.date32()), [[date(2026, 1, 31)], [date(2026, 1, 30)], None]),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", KINDS_OF_LISTS)
def test_what_is_asked_of_the_strings_of_lists(name, strategy):
    """Distinct elements are looked up once, and a list has the hits of all its elements."""
    kind, rows = KINDS_OF_LISTS[name]
    column = pa.array(rows, kind).slice(0)
    for table in (pa.table({"a": column}), pa.table({"a": pa.concat_arrays([column] * 3)[1:]})):
        events = [{"a": row} for row in table["a"].to_pylist()]
        matcher = Matcher(ASKED_OF_LISTS)
        assert batches(matcher, table, strategy) == expected(ASKED_OF_LISTS, events)


def test_rows_of_a_large_dictionary_cost_what_the_rows_cost(monkeypatch):
    """Rows are read in blocks, each of which uses a few values of the dictionary."""
    names = pa.array([f"n{i}" for i in range(5_000)])
    indices = pa.array([i % 5_000 if i % 7 else None for i in range(6_000)], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, names)
    read = []
    usual = reading._texts
    monkeypatch.setattr(reading, "_texts", lambda array: read.append(len(array)) or usual(array))
    block = column.slice(4_990, 32)
    assert reading.values_of(block) == block.to_pylist()
    assert sum(read) <= 32
    assert reading.values_of(column) == column.to_pylist()


def test_slices_of_run_end_encoded_columns():
    column = pa.RunEndEncodedArray.from_arrays(pa.array([3, 5, 9]), pa.array(["x", None, "y"]))
    rows = ["x"] * 3 + [None] * 2 + ["y"] * 4
    for low in range(10):
        for count in range(10 - low):
            assert reading.values_of(column.slice(low, count)) == rows[low : low + count]
