"""The lists that rules name with `in list`: read on the driver, sent to executors, opened there.

Each list is a file of its own, named after its content. Who changes one list sends only that one,
and the compiled rules stay as they are.
"""

from __future__ import annotations

import hashlib
import pickle
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from matchwood.language.errors import RuleError
from matchwood.language.named_lists import MAX_LISTED, ValueList, list_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from matchwood.spark.compile.compiled_rules import CompiledRules

# Names of lists, each with the name of the file that was sent.
ShippedLists = tuple[tuple[str, str], ...]
# The types of values, by the names that PySpark gives them; decimals have a name each.
_TYPES = {
    *("string", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal"),
    *("date", "timestamp", "timestamp_ntz"),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_opened: dict[str, ValueList] = {}  # by the name of the file
_lock = threading.Lock()


class PickledList(NamedTuple):
    """A list as it is sent: whoever matches again with the same values makes it once."""

    file: str  # the name of the file, after its content
    data: bytes


def ship_lists(
    spark: SparkSession, compiled: CompiledRules, lists: Mapping[str, Any] | None
) -> ShippedLists:
    """Send the lists that rules name; a ValueError says which of them are missing."""
    from matchwood.spark.session import is_shipped, ship

    given = {} if lists is None else lists
    check_given(compiled, given)
    shipped = []
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        for name in compiled.lists:
            values = given[name]
            ready = values if isinstance(values, PickledList) else pickled(name, values)
            path = Path(folder, ready.file)
            if not is_shipped(spark, ready.file):
                path.write_bytes(ready.data)
            shipped.append((name, ship(spark, path)))
    return tuple(shipped)


def pickled(name: str, values: Any) -> PickledList:
    """A list as it is sent; a ValueError says which list cannot be one."""
    data = pickle.dumps(values_of(name, values), pickle.HIGHEST_PROTOCOL)
    return PickledList(f"matchwood-list-{hashlib.sha256(data).hexdigest()[:32]}", data)


def check_given(compiled: CompiledRules, given: Collection[str]) -> None:
    """Raise a ValueError if rules name a list that is not given."""
    missing = [name for name in compiled.lists if name not in given]
    if missing:
        names = ", ".join(map(repr, missing))
        known = ", ".join(map(repr, sorted(given))) or "none"
        raise ValueError(
            f"rules name lists that are not given: {names}; there are {known}. Give each as "
            f"lists={{{missing[0]!r}: values}}, where the values are a table of one column or any "
            "Python values, for a stream a RowSource; in a pipeline, as a section such as "
            f"[lists.{missing[0]}] with 'path', 'table' or 'query'"
        )


def values_of(name: str, values: Any) -> ValueList:
    """A list as rules look it up; a ValueError says which list cannot be one."""
    try:
        return list_of(_column(values) if hasattr(values, "toLocalIterator") else values)
    except (RuleError, TypeError) as error:
        reason = error.reason if isinstance(error, RuleError) else str(error)
        raise ValueError(f"the list {name!r}: {reason}") from None


def check_columns(frame: DataFrame) -> None:
    """Raise a RuleError if a table cannot be a list."""
    if len(frame.columns) != 1:
        raise RuleError(
            f"a list is a table of one column, found {', '.join(frame.columns) or 'none'}; "
            "select the column that has the values"
        )
    kind = frame.schema.fields[0].dataType
    if kind.typeName() not in _TYPES:
        raise RuleError(
            f"the values of a list are strings, numbers, booleans, dates or timestamps, found "
            f"{kind.simpleString()}; select a column of one of these types"
        )


def distinct_values(frame: DataFrame) -> DataFrame:
    """The distinct values of a list, in the column `value`; null and NaN are none."""
    from pyspark.sql import functions as F

    from matchwood.spark.events.event_attributes import column

    check_columns(frame)
    value = column(frame.columns[0])
    chosen = frame.where(value.isNotNull())
    if frame.schema.fields[0].dataType.typeName() in ("float", "double"):
        chosen = chosen.where(~F.isnan(value))
    return chosen.select(value.alias("value")).distinct().limit(MAX_LISTED + 1)


def _column(frame: DataFrame) -> Iterator[object]:
    """The distinct values of a table, as values of Python.

    They come to the driver as a row per Arrow batch, which takes a fraction of the time that a row
    per value takes.
    """
    from pyspark.sql import functions as F

    rows = distinct_values(frame)
    is_time = rows.schema.fields[0].dataType.typeName() == "timestamp"
    if is_time:  # which Python would get in the zone of the session
        rows = rows.select(F.unix_micros("value").alias("value"))
    for row in rows.mapInArrow(_packed, "values binary").toLocalIterator():
        with pa.ipc.open_stream(bytes(row["values"])) as reader:
            for value in reader.read_all().column(0).to_pylist():
                yield _EPOCH + timedelta(microseconds=value) if is_time else value


def _packed(batches: Iterable[Any]) -> Iterable[Any]:
    """Batches of one column as a row of bytes each."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        column = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([column], ["values"])


def open_lists(shipped: ShippedLists) -> dict[str, ValueList]:
    """On an executor: the lists of a plan, each read once per process.

    Lists of other plans are kept only by the rules that are open with them.
    """
    from pyspark import SparkFiles

    with _lock:
        wanted = {file for _, file in shipped}
        for file in set(_opened) - wanted:
            del _opened[file]
        for file in wanted - set(_opened):
            _opened[file] = pickle.loads(Path(SparkFiles.get(file)).read_bytes())
        return {name: _opened[file] for name, file in shipped}
