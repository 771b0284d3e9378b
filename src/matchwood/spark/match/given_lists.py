"""The lists that rules name with `in list`: read on the driver, sent to executors, opened there.

Each list is a file of its own, named after its content. Who changes one list sends only that one,
and the compiled rules stay as they are.
"""

from __future__ import annotations

import hashlib
import pickle
import tempfile
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def ship_lists(
    spark: SparkSession, compiled: CompiledRules, lists: Mapping[str, Any] | None
) -> ShippedLists:
    """Send the lists that rules name; a ValueError says which of them are missing."""
    from matchwood.spark.session import ship

    given = {} if lists is None else lists
    check_given(compiled, given)
    shipped = []
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        for name in compiled.lists:
            data = pickle.dumps(values_of(name, given[name]), pickle.HIGHEST_PROTOCOL)
            path = Path(folder, f"matchwood-list-{hashlib.sha256(data).hexdigest()[:32]}")
            path.write_bytes(data)
            shipped.append((name, ship(spark, path)))
    return tuple(shipped)


def check_given(compiled: CompiledRules, given: Mapping[str, Any]) -> None:
    """Raise a ValueError if rules name a list that is not given."""
    missing = [name for name in compiled.lists if name not in given]
    if missing:
        names = ", ".join(map(repr, missing))
        known = ", ".join(map(repr, sorted(given))) or "none"
        raise ValueError(
            f"rules name lists that are not given: {names}; there are {known}. Give each as "
            f"lists={{{missing[0]!r}: values}}, where the values are a table of one column or any "
            "Python values; in a pipeline, as a section such as "
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


def _column(frame: DataFrame) -> Iterator[object]:
    """The distinct values of a table; null and NaN are none."""
    from pyspark.sql import functions as F

    from matchwood.spark.events.event_attributes import column

    check_columns(frame)
    kind = frame.schema.fields[0].dataType.typeName()
    value = column(frame.columns[0])
    chosen = frame.where(value.isNotNull())
    if kind in ("float", "double"):
        chosen = chosen.where(~F.isnan(value))
    if kind == "timestamp":  # which Python would get in the zone of the session
        value = F.unix_micros(value)
    rows = chosen.select(value.alias("value")).distinct().limit(MAX_LISTED + 1)
    for row in rows.toLocalIterator():
        yield _EPOCH + timedelta(microseconds=row.value) if kind == "timestamp" else row.value


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
