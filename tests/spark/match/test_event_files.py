"""Workers read from files of Parquet what Spark reads from them, or leave them to Spark."""

import doctest
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from matchwood.spark.events.event_attributes import prepare
from matchwood.spark.match import event_files as module
from matchwood.spark.match.event_files import event_files

pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("spark", ["classic"], indirect=True),
]
ROWS = [
    {
        "key": n,
        "small": n % 100,
        "share": None if n % 5 == 0 else n / 8,
        "flag": n % 2 == 0,
        "city": ("Roma", "Málaga", None)[n % 3],
        "likes": [["jazz", None], [], None][n % 3],
        "price": Decimal(n) / 4,
        "day": date(1600 + n, 2, 28),
        "seen": datetime(2024, 5, 1, tzinfo=UTC).replace(microsecond=n),
        "raw": str(n).encode(),
        "place": {"zip": n},
    }
    for n in range(50)
]
SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("small", pa.int8()),
        ("share", pa.float32()),
        ("flag", pa.bool_()),
        ("city", pa.string()),
        ("likes", pa.list_(pa.string())),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("seen", pa.timestamp("us", "UTC")),
        ("raw", pa.binary()),
        ("place", pa.struct([("zip", pa.int64())])),
    ]
)
KEEP = ["key", "seen", "price", "day", "raw"]
ASKED = ["small", "share", "flag", "city", "likes"]


def test_documented_examples(spark):
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.fixture
def folder(tmp_path):
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    pq.write_table(table.slice(0, 30), tmp_path / "a b%.parquet", row_group_size=7)
    pq.write_table(table.slice(30), tmp_path / "c.parquet", row_group_size=9, version="1.0")
    return tmp_path


def files_of(spark, folder, keep=KEEP, asked=ASKED):
    events = spark.read.parquet(str(folder))
    frame, _ = prepare(events, None, keep, asked)
    return event_files(events, frame, None, 2), frame


def read(files):
    """The rows that all tasks read, and how many each of them reads."""
    numbers = (pa.record_batch([[number]], ["id"]) for number in range(len(files.tasks)))
    tables = [pa.Table.from_batches(list(files.batches(iter([one])))) for one in numbers]
    return pa.concat_tables(tables), [table.num_rows for table in tables]


def test_the_same_rows_as_spark(spark, folder):
    files, frame = files_of(spark, folder)
    table, sizes = read(files)
    assert len(sizes) == 4
    assert max(sizes) < 25
    assert table.column_names == frame.columns
    right = frame.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_pandas(frame.toPandas())
    order = [("key", "ascending")]
    found, wanted = table.sort_by(order), right.sort_by(order)
    assert found.to_pylist() == wanted.cast(found.schema).to_pylist()


def test_an_event_in_one_column(spark, folder):
    events = spark.read.parquet(str(folder))
    frame, _ = prepare(events, "city", ["key", "city"], None)
    table, _ = read(event_files(events, frame, "city", 2))
    assert table.column_names == ["__event", "key", "city"]
    assert table["__event"].to_pylist() == table["city"].to_pylist()
    assert sorted(table["key"].to_pylist()) == list(range(50))


def test_what_is_left_to_spark(spark, folder, monkeypatch):
    assert files_of(spark, folder, ["key", "place"])[0] is None  # a type that may differ
    with monkeypatch.context() as patched:
        patched.setattr(module, "MOST_FILES", 1)
        assert files_of(spark, folder)[0] is None
    # A file without one of the columns, for which Spark gives nulls.
    odd = folder / "odd.parquet"
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    pq.write_table(table.drop_columns(["city"]), odd)
    assert files_of(spark, folder)[0] is None
    assert files_of(spark, folder, asked=["flag"])[0] is not None
    # Another type, which Spark reads as that of the other files.
    floats = table.set_column(2, "share", table["share"].cast(pa.float64()))
    pq.write_table(floats, odd)
    assert files_of(spark, folder)[0] is None
    # Times in 96 bits, of which Arrow would hold only some.
    pq.write_table(table, odd, use_deprecated_int96_timestamps=True)
    assert files_of(spark, folder)[0] is None
    assert files_of(spark, folder, ["key"])[0] is not None
    # Dates of the calendar before 1582, as old versions of Spark count them.
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), odd)
    assert files_of(spark, folder)[0] is None


def test_columns_that_are_folders(spark, tmp_path):
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    (tmp_path / "land=it").mkdir()
    pq.write_table(table, tmp_path / "land=it" / "a.parquet")
    assert files_of(spark, tmp_path, ["key", "land"])[0] is None
    assert files_of(spark, tmp_path, ["key"])[0] is not None
    (tmp_path / "land=it").rename(tmp_path / "city=Roma")  # a column of the files as well
    assert files_of(spark, tmp_path, ["key"])[0] is None
