"""Whether rules or lists have changed, told by as little reading as their source allows.

Of compiled rules that is the manifest, of files their names, times and sizes, and of tables of
Delta and Iceberg the version that is current. All rows of other tables and of queries have to be
read and hashed.

signature        a text that differs when rules have changed
look             the same, with what it took to make it
list_signature   a text that differs when a list with a name has changed
frame_of         the rows as they are now, or as they were in a version of their table
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from matchwood.schema import Schema
from matchwood.spark.compile.rules_version import schema_to_json
from matchwood.spark.endpoints import RowSource, RuleSource, format_of
from matchwood.spark.events.event_attributes import column
from matchwood.spark.storage import load_source, provider_of
from matchwood.spark.stream.changed_buckets import BucketHashes, hash_buckets, to_json
from matchwood.spark.stream.table_changes import TableVersion

# Formats whose tables are nothing but their files.
_FILE_TABLES = {"parquet", "orc", "json", "csv", "text", "avro"}
# Options that choose an old version of a table, whose rows never change.
_TIME_TRAVEL = {"versionasof", "timestampasof", "snapshot-id", "as-of-timestamp", "branch", "tag"}


class Look(NamedTuple):
    """What a look at rules has shown."""

    signature: str
    version: TableVersion | None  # of tables that tell what has changed
    hashes: BucketHashes | None  # where all rows were hashed


def signature(
    spark: SparkSession, source: RuleSource, schema: Schema | None, lists: Sequence[str] = ()
) -> str:
    """A text that differs when the rules, or how they are read, have changed."""
    return look(spark, source, schema, lists).signature


def look(
    spark: SparkSession, source: RuleSource, schema: Schema | None, lists: Sequence[str] = ()
) -> Look:
    """Look at rules without reading more of them than has to be read.

    `lists` are the names that rules may use: a rule that names another list is rejected.
    """
    about = {**_read_as(source), "schema": schema_to_json(schema), "files": None, "rows": None}
    if lists:
        about["lists"] = list(lists)
    version = hashes = None
    if source.compiled is not None:
        about["files"] = _hash(listed(spark, [f"{source.compiled.rstrip('/')}/manifest"]))
    elif (version := _table_version(spark, source)) is not None:
        about["version"] = version.text()
    elif files := _files_of(spark, source):
        about["files"] = _hash(listed(spark, files))
    else:
        hashes = hash_buckets(frame_of(spark, source), source)
        text = json.dumps(to_json(hashes), sort_keys=True)
        about["rows"] = hashlib.sha256(text.encode()).hexdigest()
    return Look(json.dumps(about, sort_keys=True, default=str), version, hashes)


def list_signature(spark: SparkSession, source: RowSource) -> str:
    """A text that differs when the rows of a list, or how they are read, have changed."""
    about = _read_as(source)
    if (version := _table_version(spark, source)) is not None:
        about["version"] = version.text()
    elif files := _files_of(spark, source):
        about["files"] = _hash(listed(spark, files))
    else:
        about["rows"] = _hash(frame_of(spark, source))
    return json.dumps(about, sort_keys=True, default=str)


def _read_as(source: RowSource) -> dict[str, Any]:
    """How rows are read. Options are hashed, because they may have passwords."""
    about = asdict(source)
    if source.options:
        text = json.dumps(dict(source.options), sort_keys=True, default=str)
        about["options"] = hashlib.sha256(text.encode()).hexdigest()
    return about


def _files_of(spark: SparkSession, source: RowSource) -> list[str]:
    """The paths of files that all rows are from; none if they may be from anywhere else."""
    if source.path is not None:
        return paths_of(source)
    return frame_of(spark, source).inputFiles() if _provider(spark, source) in _FILE_TABLES else []


def frame_of(
    spark: SparkSession, source: RowSource, version: TableVersion | None = None
) -> DataFrame:
    """The rows as they are now, or in a version of their table."""
    if version is not None:
        source = replace(source, options={**source.options, **version.option})
    if source.table is not None:
        spark.catalog.refreshTable(source.table)  # else Spark may use an old list of its files
    frame = load_source(spark, source, False)
    if source.select:
        frame = frame.selectExpr(*source.select)
    return frame if source.where is None else frame.where(source.where)


def paths_of(source: RowSource) -> list[str]:
    return [source.path] if isinstance(source.path, str) else list(source.path or ())


def listed(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The names, times and sizes of files, whose content is not read."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.load(list(paths)).select("path", "modificationTime", "length")


def _hash(frame: DataFrame) -> list[str]:
    """The count, sum and xor of the hashes of all rows, which do not depend on their order."""
    hashes = frame.select(F.xxhash64(*(column(name) for name in frame.columns)).alias("hash"))
    total = F.sum(F.col("hash").cast("decimal(20, 0)"))
    row = hashes.agg(F.count(F.lit(1)), total, F.bit_xor("hash")).collect()[0]
    return [str(value) for value in row]


def _provider(spark: SparkSession, source: RowSource) -> str:
    """The format of a table that holds rows itself; "" for views, queries and paths."""
    table = source.table
    if table is None or spark.catalog.getTable(table).tableType not in ("MANAGED", "EXTERNAL"):
        return ""
    return provider_of(spark, table)


def _table_version(spark: SparkSession, source: RowSource) -> TableVersion | None:
    """The current version of a table that counts its versions; None for all others."""
    if _TIME_TRAVEL & {option.lower() for option in source.options}:
        return None
    if source.table is None:
        if isinstance(source.path, str) and format_of(source) == "delta":
            return _delta_version(spark, f"delta.`{source.path}`")
        return None
    provider = _provider(spark, source)
    if provider == "delta":
        return _delta_version(spark, source.table)
    if provider == "iceberg":
        # Each session has a catalog with a cache of its own, which others do not renew.
        spark.catalog.refreshTable(source.table)
        history = spark.read.table(f"{source.table}.history")
        newest = F.max_by("snapshot_id", "made_current_at").alias("snapshot")
        snapshot = history.agg(newest).collect()[0].snapshot
        return None if snapshot is None else TableVersion("iceberg", source.table, "", snapshot)
    return None


def _delta_version(spark: SparkSession, table: str) -> TableVersion:
    """The version of a table of Delta, and its identity: one that is made anew begins again."""
    identity = spark.sql(f"describe detail {table}").collect()[0].id
    version = spark.sql(f"describe history {table} limit 1").collect()[0].version
    return TableVersion("delta", table, identity, version)
