"""Events in files of Parquet that workers read themselves.

Spark would read them in Java and hand them to Python, which costs more than to match them. The
driver only looks at the footers of the files, and gives each task some row groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, DecimalType

from matchwood.spark.events.event_attributes import EVENT

# Files whose footers the driver reads; of more, Spark reads the events.
MOST_FILES = 1_000
# Bytes of the row groups of a task before they are compressed, if there is enough for all cores.
TASK_BYTES = 64 << 20
# Tasks per core, so that a core that is done early has something to do.
TASKS_PER_CORE = 2
# Rows of a batch. Batches are joined later.
BATCH_ROWS = 16_384
# Types that Arrow and Spark read from Parquet alike, by the names that PySpark gives them.
_PLAIN_TYPES = {
    *("byte", "short", "integer", "long", "float", "double", "boolean"),
    *("string", "binary", "date", "timestamp"),
}
# What writers say of themselves in a footer: which Spark, and that dates are of an old calendar.
_VERSION, _OLD_CALENDAR = b"org.apache.spark.version", b"org.apache.spark.legacyDateTime"
# The writer of Spark 2, and of others that may count old dates as it does.
_OLD_WRITER = "parquet-mr"


class RowGroups(NamedTuple):
    """Some row groups of one file."""

    path: str
    numbers: tuple[int, ...]


class EventFiles(NamedTuple):
    """Row groups for each task, and the columns that a task reads."""

    tasks: tuple[tuple[RowGroups, ...], ...]
    columns: tuple[tuple[str, str, Any], ...]  # the name in the file, that of Spark's, the type

    def frame(self, spark: SparkSession) -> DataFrame:
        """A row per task: its number."""
        return spark.range(0, len(self.tasks), 1, max(1, len(self.tasks)))

    def batches(self, numbers: Iterator[Any]) -> Iterator[Any]:
        """On an executor: the events of a task, given its number, as Spark would give them."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for groups in self.tasks[number]:
                    yield from self._of_file(groups)

    def _of_file(self, groups: RowGroups) -> Iterator[Any]:
        names = [name for name, _, _ in self.columns]
        with pq.ParquetFile(groups.path) as file:
            # Other tasks use the other cores.
            for batch in file.iter_batches(
                BATCH_ROWS, list(groups.numbers), list(dict.fromkeys(names)), use_threads=False
            ):
                arrays = [batch.column(name).cast(kind) for name, _, kind in self.columns]
                yield pa.RecordBatch.from_arrays(arrays, [name for _, name, _ in self.columns])


def event_files(
    events: DataFrame, prepared: DataFrame, attributes: str | None, cores: int
) -> EventFiles | None:
    """The files of a DataFrame that is nothing but files of Parquet on this file system.

    `prepared` has the columns that tasks need, of which EVENT is the column `attributes`. None if
    Spark has to read them: its types, or what its readers add, are not those of the files.
    """
    columns = []
    for field in prepared.schema:
        name = field.name
        if name == EVENT and attributes is not None:
            name = attributes
        if "." in name or not _is_plain(field.dataType):
            return None
        columns.append((name, field.name, to_arrow_type(field.dataType)))
    paths = [_local(uri) for uri in events.inputFiles()]
    if not columns or len(paths) > MOST_FILES or None in paths:
        return None
    wanted = {
        name: field.dataType for (name, _, _), field in zip(columns, prepared.schema, strict=True)
    }
    sized: list[tuple[int, str, int]] = []
    for path in sorted(filter(None, paths)):
        if any(f"/{name}=" in path for name in wanted):
            return None  # what a folder is named after is a column, too
        try:
            metadata = pq.read_metadata(path)
        except (OSError, pa.ArrowException):
            return None
        if not _is_read_alike(metadata, wanted):
            return None
        for number in range(metadata.num_row_groups):
            sized.append((metadata.row_group(number).total_byte_size, path, number))
    return EventFiles(_shared_out(sized, cores), tuple(columns))


def _local(uri: str) -> str | None:
    """The path that a URI names; None if it is on another file system."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and not parts.netloc else None


def _is_plain(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _is_plain(kind.elementType)
    return kind.typeName() in _PLAIN_TYPES or isinstance(kind, DecimalType)


def _is_read_alike(metadata: Any, wanted: Mapping[str, DataType]) -> bool:
    """Whether a file has columns of just these types, with dates of the calendar of today."""
    known = metadata.metadata or {}
    created = metadata.created_by or ""
    if _OLD_CALENDAR in known or (_VERSION not in known and created.startswith(_OLD_WRITER)):
        return False
    schema = metadata.schema.to_arrow_schema()
    for name, kind in wanted.items():
        places = schema.get_all_field_indices(name)
        if len(places) != 1 or not _same(schema.field(places[0]).type, kind):
            return False
    return True


def _same(arrow: Any, kind: DataType) -> bool:
    """Whether Arrow reads a column as the type that Spark has for it."""
    if isinstance(kind, ArrayType):
        return pa.types.is_list(arrow) and _same(arrow.value_type, kind.elementType)
    if pa.types.is_timestamp(arrow) and (arrow.tz is None or arrow.unit == "ns"):
        return False  # of a zone that Spark chooses, or in 96 bits, of which Arrow holds 300 years
    try:
        return bool(from_arrow_type(arrow) == kind)
    except TypeError:  # PySpark has no type for it
        return False


def _shared_out(
    sized: Sequence[tuple[int, str, int]], cores: int
) -> tuple[tuple[RowGroups, ...], ...]:
    """Row groups (bytes, path, number) for tasks, the largest first to who has least.

    >>> _shared_out([(5, "a", 0), (9, "a", 1), (5, "b", 0)], 1)
    ((RowGroups(path='a', numbers=(1,)),), (RowGroups(path='a', numbers=(0,)), RowGroups(...)))
    """
    total = sum(size for size, _, _ in sized)
    count = min(len(sized), max(cores * TASKS_PER_CORE, -(-total // TASK_BYTES)))
    bytes_of = [0] * count
    chosen: list[dict[str, list[int]]] = [{} for _ in range(count)]
    for size, path, number in sorted(sized, key=lambda one: -one[0]):
        task = bytes_of.index(min(bytes_of))
        bytes_of[task] += size
        chosen[task].setdefault(path, []).append(number)
    return tuple(
        tuple(RowGroups(path, tuple(sorted(numbers))) for path, numbers in mine.items())
        for mine in chosen
    )
