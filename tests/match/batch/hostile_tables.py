"""Tables with hostile columns, seeded, each with the rows that it must be read as."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow as pa

from match.batch.hostile_kinds import TEXTS, any_kind, told

COLUMNS = ("a", "b", "c")
ROWS = 6


def table_of(rng):
    """(a table, its rows as dicts)."""
    made = rng.choice((arrow_table, arrow_table, pandas_table, pandas_table, polars_table))
    return made(rng)


# Arrow


def arrow_table(rng):
    rows = rng.randint(0, ROWS)
    columns = {name: arrow_column(rng, rows) for name in COLUMNS[: rng.randint(1, 2)]}
    table = pa.table({name: held for name, (held, _) in columns.items()})
    return table, _rows({name: values for name, (_, values) in columns.items()}, rows)


def _rows(columns, count):
    return [{name: values[row] for name, values in columns.items()} for row in range(count)]


def arrow_column(rng, rows):
    """A column in several chunks, each cut out of a longer array."""
    while True:
        kind = any_kind(rng)
        try:
            values = kind.values(rng, rows)
            cuts = sorted(rng.randint(0, rows) for _ in range(rng.choice((0, 0, 1, 2))))
            bounds = list(zip([0, *cuts], [*cuts, rows], strict=True))
            chunks = [_cut_out(rng, kind, values[low:high]) for low, high in bounds]
            return pa.chunked_array(chunks), [told(value) for value in values]
        except (pa.ArrowException, NotImplementedError, TypeError, ValueError):
            continue  # what this version of Arrow cannot hold at all


def _cut_out(rng, kind, values):
    before, after = kind.values(rng, rng.choice((0, 1, 3))), kind.values(rng, rng.choice((0, 2)))
    return kind.build([*before, *values, *after]).slice(len(before), len(values))


# pandas

NOON = datetime(2026, 1, 1, 12)
EAST = timezone(timedelta(hours=5, minutes=30))
SINGLE = [
    0, 1, 5, -3, 2**53 + 1, 2**63, 2**70, True, False, np.bool_(True), np.bool_(False), 0.1, 0.5,
    1.0, 1.1, float("nan"), float("inf"), np.float16(1.1), np.float32(0.1), np.float64(0.5),
    np.int8(1), np.int64(5), np.uint64(2**64 - 1), np.longdouble(0.5), np.complex64(1),
    Decimal("0.1"), Decimal("1.10"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e500"),
    *TEXTS, np.str_("x"), b"x", bytearray(b"x"), np.bytes_(b"x"),
    date(2026, 1, 1), NOON, NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=EAST), datetime.max,
    pandas.Timestamp("2026-01-01"), pandas.Timestamp(1767225600000000001),
    pandas.Timestamp("2026-01-01T12", tz="America/New_York"), pandas.NaT, pandas.NA, None,
    *(np.datetime64("2026-01-01", unit) for unit in ("Y", "M", "D", "h", "s", "us", "ns", "ps")),
    np.datetime64("NaT"), np.datetime64(10**12, "s"), np.timedelta64(5, "s"), np.timedelta64("NaT"),
    timedelta(1), pandas.Timedelta(1), time(12), pandas.Period("2026-01"), pandas.Interval(0, 1),
    uuid.UUID(int=1), object(), 1j, int, range(3),
]  # fmt: skip
NESTED = [
    [], [1, 2], [1, "x"], [0.5, True], [None], [float("nan")], ["x", "ab"], [[1]], (1, 0.1), {"x"},
    frozenset({5}), {}, {"x": 1}, {"x": None, "y": "ab"}, {"x": {"x": 5}}, [{}], [{"x": 1}],
    [{"x": 1}, {"y": 2}, 3], [{"x": [1, 5]}], np.array([1, 2]), np.array([0.1, np.nan]),
    np.array(["x", "ab"]), np.array([True]), np.array([[1, 2], [3, 4]]), np.array([]), np.array(5),
    np.array([1, "x", None, True], object), np.array(["2026-01-01", "NaT"], "M8[ns]"),
    np.array([{"x": 1}], object), {"x": np.array([5])}, [np.array([1])], [np.int64(5), np.bool_(1)],
    np.array([0.1, 1.1], np.float16), np.ma.masked_array([1, 5], [True, False]),
    [NOON, date(2026, 1, 1)], [pandas.NaT, pandas.Timestamp(1767225600000000001)],
]  # fmt: skip
FEW = [
    [0, 1, 5, 2**53 + 1, None], [0.1, 0.5, float("nan"), None], [1, 0.5, 2**53 + 1], [1, 0.5, None],
    [True, False, None], ["x", "ab", None, float("nan"), pandas.NA], [date(2026, 1, 1), None],
    [NOON, datetime.min, None], [NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=EAST), None],
    [NOON, NOON.replace(tzinfo=EAST)], [Decimal("0.1"), Decimal(5), None], [b"x", None],
    [[1, 2], [], None, [5]], [["x"], ["ab", None], None], [np.array([1, 5]), [0.5], None],
    [{"x": 1}, {}, {"x": 5, "y": "x"}, None], [[{}], [{"x": 1}], []], [pandas.NaT, None, NOON],
]  # fmt: skip


def pandas_table(rng):
    rows = rng.randint(1, ROWS)
    columns = {}
    for name in COLUMNS[: rng.randint(1, 2)]:
        made = rng.choice((object_column, object_column, few_column, typed_column, wrapped_column))
        columns[name] = made(rng, rows)
    frame = pandas.DataFrame({name: series for name, (series, _) in columns.items()})
    return frame, _rows({name: values for name, (_, values) in columns.items()}, rows)


def _series(values):
    held = np.empty(len(values), object)
    for place, value in enumerate(values):
        held[place] = value
    return pandas.Series(held, dtype=object)


def object_column(rng, rows):
    pool = rng.sample(SINGLE + NESTED, rng.randint(1, 4))
    values = [rng.choice(pool) for _ in range(rows)]
    return _series(values), values


def few_column(rng, rows):
    """A column of one type, or with few exceptions."""
    pool = rng.choice(FEW)
    values = [rng.choice(pool) for _ in range(rows)]
    return _series(values), values


MOMENTS = pandas.DatetimeIndex(
    np.array(["2026-01-01", "NaT", "1970-01-01T12:00:00.000000001"], "M8[ns]")
)
TYPED = [
    pandas.Series([0, 1, 5], dtype="int64"),
    pandas.Series([0, 2**64 - 1], dtype="uint64"),
    pandas.Series([0.1, None, 1.1], dtype="float32"),
    pandas.Series([0.1, 1.1], dtype="float16"),
    pandas.Series(np.array([0.1, 0.5], np.longdouble)),
    pandas.Series([1j, 2j]),
    pandas.Series([True, False]),
    pandas.Series(MOMENTS),
    pandas.Series(MOMENTS.tz_localize("America/New_York")),
    pandas.Series(MOMENTS.as_unit("ns").tz_localize("UTC")),
    pandas.Series(np.array(["2026-01-01", "NaT", "9999-12-31"], "M8[s]")),
    pandas.Series(pandas.to_timedelta([1, None])),
    pandas.Series([1, None, 5], dtype="Int64"),
    pandas.Series([1, None, 255], dtype="UInt8"),
    pandas.Series([0.1, None, 1.1], dtype="Float64"),
    pandas.Series([True, None, False], dtype="boolean"),
    pandas.Series(["x", None, "ab"], dtype="string"),
    pandas.Series(["x", None, "ab"], dtype="string[pyarrow]"),
    pandas.Series(pandas.period_range("2026-01", periods=3, freq="M")),
    pandas.Series(pandas.interval_range(0, 3)),
    pandas.Series(pandas.Categorical(["x", None, "ab"])),
    pandas.Series(pandas.Categorical([1, 5, None])),
    pandas.Series(pandas.Categorical([0.5, True, None])),
    pandas.Series(pandas.Categorical(["y", b"x", date(2026, 1, 1)])),
    pandas.Series(pandas.Categorical(MOMENTS)),
    pandas.Series(pandas.cut([0.5, 1.5], [0, 1, 2])),
    pandas.Series(pandas.arrays.SparseArray([0, 0, 1])),
    pandas.Series(pandas.arrays.SparseArray([np.nan, 0.5])),
    pandas.Series(pandas.arrays.SparseArray([True, False])),
]


def typed_column(rng, rows):
    kind = rng.choice(TYPED)
    series = kind.iloc[[rng.randrange(len(kind)) for _ in range(rows)]].reset_index(drop=True)
    return series, list(series)


def wrapped_column(rng, rows):
    """An Arrow column inside pandas."""
    while True:
        held, values = arrow_column(rng, rows)
        try:
            return pandas.Series(pandas.arrays.ArrowExtensionArray(held)), values
        except (pa.ArrowException, NotImplementedError, TypeError, ValueError):
            continue


# polars

POLARS = [
    ([0, 1, 5, None], "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64"),
    ([0, 5, 2**100, -(2**100), None], "Int128"),
    ([0, 5, 2**128 - 1, None], "UInt128"),
    ([0.1, 1.1, float("nan"), None], "Float16 Float32 Float64"),
    ([True, False, None], "Boolean"),
    (["x", "ab", "", None, "2026-01-01"], "String Categorical"),
    ([b"x", None], "Binary"),
    ([date(2026, 1, 1), None], "Date"),
    ([NOON, datetime(2026, 1, 1), None], "Datetime"),
    ([time(12), None], "Time"),
    ([timedelta(1), None], "Duration"),
    ([None], "Null"),
]


def _polars_kinds():
    for values, names in POLARS:
        for name in names.split():
            if hasattr(polars, name):
                yield getattr(polars, name)(), values
    yield polars.Enum(["x", "ab"]), ["x", "ab", None]
    yield polars.Decimal(20, 2), [Decimal("0.10"), Decimal("1.10"), None]
    for unit in ("ms", "us", "ns"):
        yield polars.Datetime(unit, "UTC"), [NOON.replace(tzinfo=UTC), None]
        yield polars.Datetime(unit, "America/New_York"), [NOON.replace(tzinfo=UTC), None]


POLARS_KINDS = list(_polars_kinds())


def polars_table(rng):
    while True:
        try:
            return _polars_table(rng)
        except polars.exceptions.PanicException:
            continue  # what this version of polars cannot read itself


def _polars_table(rng):
    rows = rng.randint(1, ROWS)
    columns = {}
    for name in COLUMNS[: rng.randint(1, 2)]:
        columns[name] = polars_column(rng, rows)
    cut = rng.randint(0, 1)
    frame = polars.DataFrame(columns).slice(cut)
    return frame, _rows({name: _python(frame[name]) for name in columns}, rows - cut)


def polars_column(rng, rows):
    if rng.random() < 0.1:
        pool = rng.sample([1, "x", None, NOON, 0.5, True, [1]], 3)
        return polars.Series([rng.choice(pool) for _ in range(rows)], dtype=polars.Object)
    kind, pool = rng.choice(POLARS_KINDS)
    values = [rng.choice(pool) for _ in range(rows)]
    series = polars.Series(values, dtype=kind)
    shape = rng.randrange(6)
    if shape == 0:
        return polars.Series([series[: rng.randint(0, 3)] for _ in range(rows)])
    if shape == 1 and rows > 1:
        return polars.Series([[values[0], v] for v in values], dtype=polars.Array(kind, 2))
    if shape == 2:
        rows_ = [None if rng.random() < 0.2 else {"x": value, "y": 1} for value in values]
        return polars.Series(rows_, dtype=polars.Struct({"x": kind, "y": polars.Int64()}))
    if shape == 3:
        lists = [[{"x": value}][: rng.randint(0, 1)] for value in values]
        return polars.Series(lists, dtype=polars.List(polars.Struct({"x": kind})))
    return series


def _python(series):
    if series.dtype.base_type() in (polars.Datetime,) and series.dtype.time_unit == "ns":
        return [None if v is None else np.datetime64(v, "ns") for v in series.to_physical()]
    values = series.to_list()
    return [value.to_list() if isinstance(value, polars.Series) else value for value in values]
