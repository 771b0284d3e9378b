"""Rows from and to wherever Spark can read and write, as sources and sinks describe it."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from matchwood.spark.endpoints import RowSource, Sink, format_of

# The column where Spark puts a line of JSON or CSV that it cannot read.
CORRUPT = "_corrupt_record"
# The column that says why an event was rejected.
REASON = "reason"
# The column of rejected events that has the line as it stands in the file.
UNREADABLE = "unreadable"
# The name of an error condition, such as "[PATH_NOT_FOUND] ", before the sentence.
_CONDITION = re.compile(r"\[[A-Z0-9_.]+\] ")
# The SQL state behind the sentence.
_STATE = re.compile(r" ?SQLSTATE: \w+")


def reason(error: BaseException) -> str:
    """The sentence in an error of Spark, without the Java stack trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # An error of a task ends with the Python error of its worker, or with the cause in Java.
    told = next((line for line in lines if _CONDITION.search(line)), None)
    lines = [line.removeprefix("Caused by: ") for line in lines]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    if told is None:
        told = raised[-1] if raised else (lines or [type(error).__name__])[0]
    told = told[condition.end() :] if (condition := _CONDITION.search(told)) else told
    return _STATE.sub("", told).split(";")[0].rstrip(":. ")


def load_source(spark: SparkSession, source: RowSource, streaming: bool) -> DataFrame:
    """All rows of a source, as a stream or as they are now."""
    if source.query is not None:
        return spark.sql(source.query)
    reader: Any = spark.readStream if streaming else spark.read
    reader = reader.options(**source.options)
    frame: DataFrame
    if source.table is not None:
        frame = reader.table(source.table)
        return frame
    form = format_of(source)
    reader = reader.format(form)
    if source.schema is not None:
        reader = reader.schema(_with_corrupt(spark, source, form))
    paths = [source.path] if isinstance(source.path, str) else list(source.path or ())
    if len(paths) > 1:
        frame = reader.load(paths)
    else:
        frame = reader.load(*paths)
    return frame


def _with_corrupt(spark: SparkSession, source: RowSource, form: str | None) -> Any:
    """The schema with a column for lines that do not fit it, unless the options forbid that."""
    assert source.schema is not None
    named = {option.lower() for option in source.options}
    if form not in ("json", "csv") or {"mode", "columnnameofcorruptrecord"} & named:
        return source.schema
    schema: StructType = spark.createDataFrame([], source.schema).schema
    return schema if CORRUPT in schema.names else schema.add(CORRUPT, "string")


def location(sink: Sink) -> str:
    """The path, table or format of a sink, for messages."""
    return sink.path or sink.table or str(sink.format)


def write(frame: DataFrame, sink: Sink) -> None:
    """Write all rows of a frame to a sink."""
    form = format_of(sink)
    if form == "kafka" and "value" not in frame.columns:
        frame = frame.select(F.to_json(F.struct("*")).alias("value"))
    writer = frame.write.mode(sink.mode).options(**sink.options)
    if form is not None:
        writer = writer.format(form)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    if sink.table is not None:
        writer.saveAsTable(sink.table)
    elif sink.path is not None:
        writer.save(sink.path)
    else:
        writer.save()
