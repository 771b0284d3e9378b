"""Where the matches of a stream go: one folder per micro-batch, or anything else that writes.

A micro-batch begins when the one before is complete, so only the last one can be incomplete. One
number therefore tells which folders count; it is advanced when a folder is complete. A micro-batch
that is run again overwrites its folder, unless the number says that it is complete already.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructType

from matchwood.spark.endpoints import Sink, format_of
from matchwood.spark.storage import location, write
from matchwood.spark.stream.durable_log import DurableLog
from matchwood.spark.stream.table_transactions import Transactions, transactions_of

# The column with the number of the micro-batch.
BATCH = "batch"
# Formats in which the rows of a folder are those of its files.
FILES = ("parquet", "orc", "json", "csv")
# The folder of the sink that says which micro-batch was the last complete one. Spark's readers
# ignore names that begin with an underscore.
MARKS = "_matchwood"
log = logging.getLogger("matchwood.spark.stream")

# Writes the rows of a micro-batch, given its number.
SinkFunction = Callable[[DataFrame, int], None]


class StreamSink(Protocol):
    """Takes the rows of micro-batches."""

    def begin(self, spark: SparkSession, stream: str, schema: StructType) -> None:
        """Called before the first micro-batch and after each restart."""

    def done(self, spark: SparkSession, number: int) -> bool:
        """Whether a micro-batch is complete already."""

    def write(self, frame: DataFrame, number: int) -> None:
        """Write all rows of a micro-batch."""


def sink_of(sink: str | Sink | SinkFunction) -> StreamSink:
    """The sink for an argument: folders and tables with transactions get each match once."""
    if isinstance(sink, str):
        return FileSink(sink)
    if isinstance(sink, Sink):
        form = format_of(sink) or "parquet"
        if sink.path is not None and form in FILES:
            return FileSink(sink.path, form, sink.options, sink.partition_by)
        return AppendSink(sink)
    if callable(sink):
        return FunctionSink(sink)
    raise TypeError(f"a sink is a folder, a Sink or a function, found {sink!r}")


class FileSink:
    """One folder per micro-batch, and the number of the last one that is complete."""

    def __init__(
        self,
        path: str,
        form: str = "parquet",
        options: Mapping[str, str] | None = None,
        partition_by: tuple[str, ...] = (),
    ) -> None:
        self._path = path.rstrip("/")
        self._form = form
        self._options = dict(options or {})
        self._partition_by = partition_by
        self._completed = DurableLog(f"{self._path}/{MARKS}")

    def begin(self, spark: SparkSession, stream: str, schema: StructType) -> None:
        last = self._completed.newest(spark)
        if last is not None and last["stream"] != stream:
            raise ValueError(
                f"{self._path}: has the rows of a stream with another checkpoint; "
                "use that checkpoint, or another folder"
            )
        about = {
            "stream": stream,
            "schema": schema.jsonValue(),
            "format": self._form,
            "options": self._options,
        }
        if last is None:
            self._completed.write(spark, -1, about)
            return
        changed = [key for key in ("format", "options") if last[key] != about[key]]
        if StructType.fromJson(last["schema"]).simpleString() != schema.simpleString():
            changed.append("schema")
        if changed:
            raise ValueError(
                f"{self._path}: the stream wrote rows with another {' and '.join(changed)}; "
                "begin another stream, with a checkpoint and a folder of its own"
            )

    def done(self, spark: SparkSession, number: int) -> bool:
        last = self._completed.last or self._completed.newest(spark)
        return last is not None and int(last["number"]) >= number

    def write(self, frame: DataFrame, number: int) -> None:
        spark = frame.sparkSession
        if self.done(spark, number):
            return
        log.info("batch %d: writing %s", number, self._path)
        # Static, or partitions of an unfinished attempt would stay.
        writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "static")
        writer = writer.format(self._form).options(**self._options)
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        writer.save(f"{self._path}/{BATCH}={number}")
        log.info("batch %d: written to %s", number, self._path)
        last = self._completed.last
        assert last is not None
        self._completed.write(spark, number, last)
        log.info("batch %d: committed to %s", number, self._path)


class AppendSink:
    """Appends rows wherever Spark can write, with the number of their micro-batch.

    Tables of Delta and Iceberg know which micro-batches they have, and take each of them once.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = replace(sink, mode="append")
        self._transactions: Transactions | None = None

    def begin(self, spark: SparkSession, stream: str, schema: StructType) -> None:
        table = self._sink.table
        if table is not None and not spark.catalog.tableExists(table):
            # An empty table, which says what format it got where none was named.
            rows = spark.createDataFrame([], StructType([*schema.fields]).add(BATCH, LongType()))
            write(rows, self._sink)
        self._transactions = transactions_of(spark, self._sink, stream)

    def done(self, spark: SparkSession, number: int) -> bool:
        return self._transactions is not None and self._transactions.done(spark, number)

    def write(self, frame: DataFrame, number: int) -> None:
        spark = frame.sparkSession
        if self.done(spark, number):
            return
        sink = self._sink
        if self._transactions is not None:
            sink = replace(sink, options={**sink.options, **self._transactions.options(number)})
        log.info("batch %d: writing %s", number, location(sink))
        write(numbered(frame, number), sink)
        log.info("batch %d: committed to %s", number, location(sink))


class FunctionSink:
    """Calls a function, which writes the rows."""

    def __init__(self, call: SinkFunction) -> None:
        self._call = call

    def begin(self, spark: SparkSession, stream: str, schema: StructType) -> None:
        pass

    def done(self, spark: SparkSession, number: int) -> bool:
        return False

    def write(self, frame: DataFrame, number: int) -> None:
        self._call(numbered(frame, number), number)


def numbered(frame: DataFrame, number: int) -> DataFrame:
    return frame.withColumn(BATCH, F.lit(number).cast("bigint"))


def read_matches(spark: SparkSession, sink: str) -> DataFrame:
    """What a stream wrote to a folder: the rows of complete micro-batches, with `batch`.

    It also reads a folder of rejected events.
    """
    last = DurableLog(f"{sink.rstrip('/')}/{MARKS}").newest(spark)
    if last is None:
        raise ValueError(f"{sink}: no stream has written there")
    schema = StructType.fromJson(last["schema"]).add(BATCH, LongType())
    if last["number"] < 0:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).format(last["format"]).options(**last["options"])
    return reader.load(sink).where(F.col(BATCH) <= last["number"])
