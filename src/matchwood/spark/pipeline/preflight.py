"""Preflight checks: sources are opened and sinks are checked before any work is done.

Whatever is missing is reported with the line of the pipeline file that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from matchwood.language.errors import RuleError
from matchwood.schema.errors import nearest
from matchwood.spark.endpoints import EventSource, RowSource, Sink
from matchwood.spark.events.event_attributes import column
from matchwood.spark.json_lines import CORRUPT
from matchwood.spark.match.given_lists import check_columns as check_list
from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError
from matchwood.spark.storage import corrupt_columns, exists, load_source, reason, unverified

# Formats that every Spark has.
FORMATS_OF_SPARK = {"parquet", "orc", "json", "csv", "text"}
_NO_FORMAT = re.compile("Failed to find (the )?data source", re.IGNORECASE)


def open_source(spark: SparkSession, pipeline: Pipeline, name: str) -> DataFrame:
    """The rows of [rules] or [events]; events are a stream if the pipeline is one."""
    streaming = name == "events" and pipeline.job.mode == "stream"
    return _rows(spark, pipeline, getattr(pipeline, name), streaming, name)


def unverified_sources(pipeline: Pipeline) -> list[str]:
    """A warning for each source whose reader may lose lines."""
    streaming = pipeline.job.mode == "stream"
    sources = [(pipeline.rules, False), (pipeline.events, streaming)]
    sources += [(source, False) for source in pipeline.lists.values()]
    told = (unverified(source, as_stream) for source, as_stream in sources)
    return [warning for warning in told if warning is not None]


def open_lists(spark: SparkSession, pipeline: Pipeline) -> dict[str, DataFrame]:
    """The tables of [lists], each of which has one column of values."""
    frames = {}
    for name, source in pipeline.lists.items():
        frame = _rows(spark, pipeline, source, False, "lists", name)
        frame = frame.drop(*corrupt_columns(frame))
        try:
            check_list(frame)
        except RuleError as error:
            message = f"[lists.{name}]: {error.reason}"
            raise pipeline.error(message, "lists", name, "select") from None
        frames[name] = frame
    return frames


def _rows(
    spark: SparkSession, pipeline: Pipeline, source: RowSource, streaming: bool, *section: str
) -> DataFrame:
    written = [key for key in ("path", "table", "query") if getattr(source, key) is not None]
    key = written[0] if written else "format"
    frame = _tried(lambda: load_source(spark, source, streaming), pipeline, *section, key)
    if source.select:
        opened = frame
        kept = corrupt_columns(frame)
        frame = _tried(
            lambda: opened.selectExpr(*source.select, *kept), pipeline, *section, "select"
        )
    if source.where is not None:
        chosen, condition = frame, F.expr(source.where)
        if CORRUPT in frame.columns:  # whose other columns are null, so that no condition is true
            condition = condition | F.col(CORRUPT).isNotNull()
        frame = _tried(lambda: chosen.where(condition), pipeline, *section, "where")
    return frame


def _tried(make: Callable[[], DataFrame], pipeline: Pipeline, *key: str) -> DataFrame:
    """A frame whose columns Spark could resolve, or an error at a key of the pipeline."""
    try:
        frame = make()
        _ = frame.schema
    except PipelineError:
        raise
    except Exception as error:  # Spark has many kinds of error, and so have database drivers
        raise pipeline.error(f"[{'.'.join(key[:-1])}]: {reason(error)}", *key) from error
    return frame


def check_columns(pipeline: Pipeline, name: str, frame: DataFrame, key: str) -> None:
    """Raise an error if a column that a key names is missing."""
    columns = getattr(getattr(pipeline, name), key)
    for wanted in (columns,) if isinstance(columns, str) else columns or ():
        if wanted not in frame.columns:
            hint = nearest(wanted, frame.columns) or f"; there are {', '.join(frame.columns)}"
            raise pipeline.error(f"{key}: [{name}] has no column {wanted!r}{hint}", name, key)


def text_if_kept(events: DataFrame, source: EventSource) -> DataFrame:
    """Decode the column of events if it is binary, as in Kafka, and is kept beside the matches.

    It is matched as it is, but whoever reads the matches expects a text there.
    """
    name = source.attributes
    if name not in source.keep or not isinstance(events.schema[name].dataType, BinaryType):
        return events
    return events.withColumn(name, column(name).cast("string"))


def check_sink(
    spark: SparkSession, pipeline: Pipeline, name: str, columns: Iterable[str], again: bool
) -> None:
    """Raise an error now if writing to the sink of a section would fail at the end.

    With `again`, rows that are there already are accepted whatever the mode.
    """
    sink: Sink | None = getattr(pipeline, name)
    if sink is None:
        return
    names = list(columns)
    named = {"partition_by": sink.partition_by, "headers": sink.headers}
    named["key"] = () if sink.key is None else (sink.key,)
    for key, wanted in ((key, one) for key, several in named.items() for one in several):
        if wanted not in names:
            hint = nearest(wanted, names) or f"; there are {', '.join(names)}"
            raise pipeline.error(f"{key}: [{name}] has no column {wanted!r}{hint}", name, key)
    if sink.format is not None and not _knows(spark, sink.format):
        message = f"[{name}]: Spark does not know the format {sink.format!r}"
        raise pipeline.error(message, name, "format")
    refuses = sink.mode == "error" and not again
    if sink.table is not None:
        _check_table(spark, pipeline, name, sink, refuses)
    elif sink.path is not None and refuses and exists(spark, sink.path):
        message = f"[{name}]: {sink.path} exists already; mode = 'append' or 'overwrite'?"
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
        message = f"[{name}]: {sink.table} exists already; mode = 'append' or 'overwrite'?"
        raise pipeline.error(message, name, "table")


def _knows(spark: SparkSession, form: str) -> bool:
    if form in FORMATS_OF_SPARK:  # for which asking would write a stack trace to the log
        return True
    try:
        _ = spark.read.format(form).load().schema
    except Exception as error:
        return not _NO_FORMAT.search(str(error))
    return True
