"""Rows from and to wherever Spark can read and write, as sources and sinks describe it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

from matchwood.spark.endpoints import RowSource, RuleSource, Sink, format_of
from matchwood.spark.json_lines import (
    CORRUPT,
    CORRUPT_REASON,
    FILE_OPTIONS,
    VALUE_OPTIONS,
    json_rows,
)
from matchwood.spark.session import is_connect

# The column that says why an event was rejected.
REASON = "reason"
# The column of rejected events that has the line as it stands in the file.
UNREADABLE = "unreadable"
# What differs from event to event in a reason: a place in the text, and the value that was found.
_PARTICULARS = r"( at column \d+|, found .*)$"
# The options of Kafka that name topics.
_TOPICS = ("topic", "subscribe", "subscribePattern", "dbtable")
# The name of an error condition, such as "[PATH_NOT_FOUND] ", before the sentence.
_CONDITION = re.compile(r"\[[A-Z0-9_.]+\] ")
# What Java says when a thread is interrupted, and Spark when a job is cancelled. Stores of objects
# say InterruptedIOException of a time-out, too, which stops nothing.
_STOPPED = re.compile(
    r"\bInterruptedException|ByInterruptException|SPARK_JOB_CANCELLED"
    r"|\bInterruptedIOException(?!.*(?i:time-?d?[ -]?out))"
)
# The SQL state behind the sentence.
_STATE = re.compile(r" ?SQLSTATE: \w+")


def reason(error: BaseException) -> str:
    """The sentence in an error of Spark, without the Java stack trace."""
    if type(error).__module__.startswith("matchwood."):
        return str(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # An error of a task ends with the Python error of its worker, or with the cause in Java.
    told = next((line for line in lines if _CONDITION.search(line)), None)
    lines = [line.removeprefix("Caused by: ") for line in lines]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    if told is None:
        told = raised[-1] if raised else (lines or [type(error).__name__])[0]
    told = told[condition.end() :] if (condition := _CONDITION.search(told)) else told
    return _STATE.sub("", told).split(";")[0].rstrip(":. ")


def was_stopped(error: BaseException) -> bool:
    """Whether an error of Spark only says that its query, and what it was doing, is stopped."""
    return _STOPPED.search(str(error)) is not None


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
    if form == "json" and source.path is not None and _why_of_spark(source, streaming) is None:
        return _json_lines(spark, reader, source)
    reader = reader.format(form)
    if source.schema is not None:
        reader = reader.schema(_with_corrupt(spark, source, form))
    paths = [source.path] if isinstance(source.path, str) else list(source.path or ())
    if len(paths) > 1:
        frame = reader.load(paths)
    else:
        frame = reader.load(*paths)
    return frame


def _why_of_spark(source: RowSource, streaming: bool) -> str | None:
    """What needs Spark's own reader of JSON files; None if they are read here, line by line."""
    known = FILE_OPTIONS | VALUE_OPTIONS
    option = next((name for name in source.options if name.lower() not in known), None)
    if option is not None:
        return f"the option {option!r}"
    if streaming and source.schema is None:
        return "a stream without a schema"
    asked = " ".join((*source.select, source.where or ""))
    return next((repr(name) for name in ("_metadata", "input_file") if name in asked), None)


def unverified(source: RowSource, streaming: bool) -> str | None:
    """A warning of lines that may be lost; None if none can be."""
    why = _why_of_spark(source, streaming)
    if why is None or source.path is None or format_of(source) != "json":
        return None
    return (
        f"{location(source)}: some lines of JSON may be lost, because {why} needs Spark's own "
        "reader, which does not count what it skips"
    )


def _json_lines(spark: SparkSession, reader: Any, source: RowSource) -> DataFrame:
    """Rows of JSON files, of which no line is lost; see `json_lines`."""
    paths = [source.path] if isinstance(source.path, str) else list(source.path or ())
    lines = reader.text(paths[0] if len(paths) == 1 else paths)
    of_rules = isinstance(source, RuleSource)
    if source.schema is None:
        schema = spark.read.options(**source.options).json(paths).schema
    else:
        schema = spark.createDataFrame([], source.schema).schema
    # Where Spark has guessed the types, a column of strings may have held anything.
    strict = source.schema is not None and not of_rules
    values = {name: text for name, text in source.options.items() if name.lower() in VALUE_OPTIONS}
    rows = json_rows(lines, schema, strict, values)
    kinds = {field.name: field.dataType for field in schema}
    if isinstance(source, RuleSource) and isinstance(kinds.get(source.rule), StringType):
        # A line that is no rule is rejected, and is then shown as it is.
        text = F.coalesce(_plain(source.rule), F.col(CORRUPT))
        rows = rows.withColumn(source.rule, text).drop(CORRUPT, CORRUPT_REASON)
    return rows


def corrupt_columns(frame: DataFrame) -> list[str]:
    """The columns of a frame that tell of lines that could not be read."""
    return [name for name in (CORRUPT, CORRUPT_REASON) if name in frame.columns]


def why_corrupt(frame: DataFrame) -> Column:
    """The reason why a line could not be read; null for lines that could."""
    told = F.lit("the line cannot be read")
    if CORRUPT_REASON in frame.columns:
        told = F.coalesce(F.concat(told, F.lit(": "), F.col(CORRUPT_REASON)), told)
    return F.when(F.col(CORRUPT).isNotNull(), told)


def kind_of(reason: Column) -> Column:
    """A reason without what differs from event to event."""
    return F.regexp_replace(reason, _PARTICULARS, "")


def count_kinds(rejected: DataFrame, reason: Column, most: int) -> dict[str, int]:
    """How many events were rejected for each kind of reason; at most so many, the frequent ones."""
    groups = rejected.groupBy(kind_of(reason).alias("kind")).agg(F.count(F.lit(1)).alias("events"))
    rows = groups.orderBy(F.desc("events"), "kind").limit(most).collect()
    return {row.kind: row.events for row in rows}


def exists(spark: SparkSession, path: str) -> bool:
    """Whether anything is at a path of any storage that Spark can reach.

    A classic session asks the storage itself: Spark's readers of files write a stack trace to the
    log for every path that is not there.
    """
    if not is_connect(spark):
        jvm: Any = spark._jvm
        place = jvm.org.apache.hadoop.fs.Path(path)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        return bool(place.getFileSystem(configuration).exists(place))
    try:
        _ = spark.read.format("binaryFile").load(path).schema
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error):
            return False
    return True


def local_path(spark: SparkSession, path: str) -> Path | None:
    """A path on the file system of the driver; None if it is on any other storage."""
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    qualified = place.getFileSystem(configuration).makeQualified(place).toUri()
    return Path(qualified.getPath()) if qualified.getScheme() == "file" else None


def provider_of(spark: SparkSession, table: str) -> str:
    """The format of a table of the catalog, such as delta or iceberg; "" if it has none."""
    rows = spark.sql(f"describe table extended {table}").collect()
    provider = next((row.data_type for row in rows if row.col_name == "Provider"), "")
    return str(provider).lower()


def _with_corrupt(spark: SparkSession, source: RowSource, form: str | None) -> Any:
    """The schema with a column for lines that do not fit it, unless the options forbid that."""
    assert source.schema is not None
    named = {option.lower() for option in source.options}
    if form not in ("json", "csv") or {"mode", "columnnameofcorruptrecord"} & named:
        return source.schema
    schema: StructType = spark.createDataFrame([], source.schema).schema
    return schema if CORRUPT in schema.names else schema.add(CORRUPT, "string")


def location(end: RowSource | Sink) -> str:
    """The path, table or format of a source or sink, for messages."""
    if isinstance(end, RowSource) and end.query is not None:
        return end.query
    if isinstance(end, RuleSource) and end.compiled is not None:
        return end.compiled
    path = end.path if end.path is None or isinstance(end.path, str) else ", ".join(end.path)
    if path or end.table:
        return path or str(end.table)
    topic = next((end.options[name] for name in _TOPICS if name in end.options), None)
    return str(end.format) if topic is None else f"{end.format} {topic}"


def write(frame: DataFrame, sink: Sink) -> None:
    """Write all rows of a frame to a sink."""
    form = format_of(sink)
    if form == "kafka":
        frame = messages(frame, sink)
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


def messages(frame: DataFrame, sink: Sink) -> DataFrame:
    """Rows as messages of Kafka: the whole row as JSON, with its key and headers.

    The key is the column that the sink names or else the column `key`, if there is one. It is sent
    as it is if it is binary. Within the JSON, where Spark would write bytes in base 64, it is text,
    and so is the column `key`, which has the key of the message that was read.
    """
    key = sink.key or ("key" if "key" in frame.columns else None)
    row = [
        _plain(name).cast("string").alias(name)
        if name in (key, "key") and isinstance(kind, BinaryType)
        else _plain(name)
        for name, kind in ((field.name, field.dataType) for field in frame.schema)
    ]
    columns = [F.to_json(F.struct(*row)).alias("value")]
    if key is not None:
        columns.append(_bytes(frame, key).alias("key"))
    if sink.headers:
        pairs = [
            F.struct(F.lit(name).alias("key"), _bytes(frame, name).alias("value"))
            for name in sink.headers
        ]
        columns.append(F.array(*pairs).alias("headers"))
    return frame.select(*columns)


def _bytes(frame: DataFrame, name: str) -> Column:
    """A column as the bytes of its text, or as it is if it is binary."""
    kind = frame.schema[name].dataType
    if isinstance(kind, BinaryType):
        return _plain(name)
    if isinstance(kind, ArrayType | MapType | StructType):
        return F.to_json(_plain(name)).cast("binary")
    return _plain(name).cast("string").cast("binary")


def _plain(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
