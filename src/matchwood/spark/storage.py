"""Sources and sinks of a pipeline: DataFrames from and to wherever Spark can read and write.

Whether all is there is found out before any work is done, and said with the pipeline's line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructType

from matchwood.schema.errors import nearest
from matchwood.spark.attributes import column
from matchwood.spark.pipeline import Pipeline, PipelineError, Sink, Source, format_of

CORRUPT = "_corrupt_record"  # where Spark puts a line of JSON or CSV that it cannot read
_CONDITION = re.compile(r"\[[A-Z0-9_.]+\] ")
_STATE = re.compile(r" ?SQLSTATE: \w+")
_NO_FORMAT = re.compile("Failed to find (the )?data source", re.IGNORECASE)


def reason(error: BaseException) -> str:
    """The sentence in what Spark says of an error, without Java's stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # An error of a task ends with the Python error of its worker, or with the cause in Java.
    told = next((line for line in lines if _CONDITION.search(line)), None)
    lines = [line.removeprefix("Caused by: ") for line in lines]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    if told is None:
        told = raised[-1] if raised else (lines or [type(error).__name__])[0]
    told = told[found.end() :] if (found := _CONDITION.search(told)) else told
    return _STATE.sub("", told).split(";")[0].rstrip(":. ")


def open_source(spark: SparkSession, pipeline: Pipeline, name: str) -> DataFrame:
    """The rows of [rules] or [events]; as a stream, where the pipeline is one."""
    source: Source = getattr(pipeline, name)
    streaming = name == "events" and pipeline.job.mode == "stream"
    way = next((w for w in ("path", "table", "query") if getattr(source, w) is not None), "format")
    frame = _tried(lambda: load_source(spark, source, streaming), pipeline, name, way)
    if source.select:
        opened = frame
        kept = [CORRUPT] if CORRUPT in frame.columns else []
        frame = _tried(lambda: opened.selectExpr(*source.select, *kept), pipeline, name, "select")
    if source.where is not None:
        chosen, condition = frame, source.where
        frame = _tried(lambda: chosen.where(condition), pipeline, name, "where")
    return frame


def _tried(make: Callable[[], DataFrame], pipeline: Pipeline, *key: str) -> DataFrame:
    """A frame that Spark has looked at: it is there, and its columns are known."""
    try:
        frame = make()
        _ = frame.schema
    except PipelineError:
        raise
    except Exception as error:  # Spark has many kinds, and drivers of databases theirs
        raise pipeline.error(f"[{key[0]}]: {reason(error)}", *key) from error
    return frame


def load_source(spark: SparkSession, source: Source, streaming: bool) -> DataFrame:
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


def _with_corrupt(spark: SparkSession, source: Source, form: str | None) -> Any:
    """The schema, with a place for lines that do not fit it; the options may say otherwise."""
    assert source.schema is not None
    named = {option.lower() for option in source.options}
    if form not in ("json", "csv") or {"mode", "columnnameofcorruptrecord"} & named:
        return source.schema
    schema: StructType = spark.createDataFrame([], source.schema).schema
    return schema if CORRUPT in schema.names else schema.add(CORRUPT, "string")


def check_columns(pipeline: Pipeline, name: str, frame: DataFrame, key: str) -> None:
    """The columns that a key names are there."""
    given = getattr(getattr(pipeline, name), key)
    for wanted in (given,) if isinstance(given, str) else given or ():
        if wanted not in frame.columns:
            found = nearest(wanted, frame.columns) or f"; there are {', '.join(frame.columns)}"
            raise pipeline.error(f"{key}: [{name}] has no column {wanted!r}{found}", name, key)


def text_of_binary(events: DataFrame, attributes: str | None) -> DataFrame:
    """Kafka gives values as bytes; those of events are JSON texts."""
    if attributes is None or not isinstance(events.schema[attributes].dataType, BinaryType):
        return events
    return events.withColumn(attributes, column(attributes).cast("string"))


def check_sink(
    spark: SparkSession, pipeline: Pipeline, name: str, columns: Iterable[str], again: bool
) -> None:
    """What would stop the sink of a section at the end of the work is said at its beginning.

    `again` says that what is there already is no hindrance, whatever the mode.
    """
    sink: Sink | None = getattr(pipeline, name)
    if sink is None:
        return
    names = list(columns)
    for wanted in sink.partition_by:
        if wanted not in names:
            found = nearest(wanted, names) or f"; there are {', '.join(names)}"
            message = f"partition_by: [{name}] has no column {wanted!r}{found}"
            raise pipeline.error(message, name, "partition_by")
    if sink.format is not None and not _knows(spark, sink.format):
        message = f"[{name}]: Spark has not been given the format {sink.format!r}"
        raise pipeline.error(message, name, "format")
    refuses = sink.mode == "error" and not again
    if sink.table is not None:
        _check_table(spark, pipeline, name, sink, refuses)
    elif sink.path is not None and refuses and _exists(spark, sink.path):
        message = f"[{name}]: {sink.path} is there already; mode = 'append' or 'overwrite'?"
        raise pipeline.error(message, name, "path")


def _check_table(
    spark: SparkSession, pipeline: Pipeline, name: str, sink: Sink, refuses: bool
) -> None:
    assert sink.table is not None
    database = sink.table.rpartition(".")[0]
    if database and not spark.catalog.databaseExists(database):
        message = f"[{name}]: there is no database {database!r} for {sink.table!r}"
        raise pipeline.error(message, name, "table")
    if refuses and spark.catalog.tableExists(sink.table):
        message = f"[{name}]: {sink.table} is there already; mode = 'append' or 'overwrite'?"
        raise pipeline.error(message, name, "table")


def _exists(spark: SparkSession, path: str) -> bool:
    """Whether anything is at a path, on whatever storage: asked through Spark."""
    try:
        _ = spark.read.format("binaryFile").load(path).schema
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error):
            return False
    return True


def _knows(spark: SparkSession, form: str) -> bool:
    try:
        _ = spark.read.format(form).load().schema
    except Exception as error:
        return not _NO_FORMAT.search(str(error))
    return True


def where(sink: Sink) -> str:
    """What a person calls the place."""
    return sink.path or sink.table or str(sink.format)


def write(frame: DataFrame, sink: Sink) -> None:
    """Write a frame where a section says."""
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
