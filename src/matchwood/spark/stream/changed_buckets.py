"""Which buckets of rules have changed since a version, so that only these are compiled again.

A table of Delta with a change feed, or one of Iceberg, names the rows that changed. Rows from
anywhere else are hashed, bucket by bucket, and compared with the hashes of the version before.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from matchwood.spark.compile.compiler import carried
from matchwood.spark.compile.rule_buckets import Buckets, bucket_column
from matchwood.spark.endpoints import RuleSource
from matchwood.spark.events.event_attributes import column
from matchwood.spark.storage import reason

# The hash of all rows of each bucket that has any.
BucketHashes = Mapping[int, str]
# An expression that is a column of the source, perhaps under another name. Others may depend on
# more rows than those that changed.
_PLAIN_COLUMN = re.compile(r"\s*[\w.`]+(\s+(as\s+)?[\w`]+)?\s*", re.IGNORECASE)
# What a signature says about the state of rules; the rest is how they are read.
STATE = ("files", "rows", "version")
log = logging.getLogger("matchwood.spark.stream")


class TableVersion(NamedTuple):
    """A version of a table that tells what has changed since an earlier one."""

    form: str  # delta or iceberg
    table: str  # its name, as SQL has it
    identity: str  # of the table itself: one that is made anew has another
    number: int  # of the version, or of the snapshot

    def text(self) -> str:
        return f"{self.identity} {self.number}".strip()

    @property
    def option(self) -> dict[str, str]:
        """The option of a reader that chooses this version."""
        return {"versionAsOf": str(self.number)}


def read_alike(before: str, now: str) -> bool:
    """Whether two signatures are of rules that are read in the same way."""
    about = [json.loads(signature) for signature in (before, now)]
    return {k: v for k, v in about[0].items() if k not in STATE} == {
        k: v for k, v in about[1].items() if k not in STATE
    }


def hash_buckets(frame: DataFrame, source: RuleSource) -> BucketHashes:
    """The count, sum and xor of the hashes of all rows of each bucket, whatever their order.

    Sums are of 40 bits of each hash, because those of 64 need decimals, which Spark adds slowly.
    """
    hashed = F.xxhash64(*_columns(source)).alias("hash")
    hashes = frame.select(bucket_column(column(source.id)).alias("bucket"), hashed)
    total = F.sum(F.shiftrightunsigned("hash", 24))
    sums = [F.count(F.lit(1)).alias("rows"), total.alias("total"), F.bit_xor("hash").alias("xor")]
    rows = hashes.groupBy("bucket").agg(*sums).collect()
    return {row.bucket: f"{row.rows} {row.total} {row.xor}" for row in rows}


def differing(before: BucketHashes, now: BucketHashes) -> Buckets:
    """The buckets whose hashes differ, or that only one of both has."""
    return frozenset(dict(before.items() ^ now.items()))


def changed_by_feed(
    spark: SparkSession, source: RuleSource, before: str, now: TableVersion
) -> Buckets | None:
    """The buckets with rows that changed, as the table itself tells; None if it does not."""
    identity, _, number = before.rpartition(" ")
    if identity != now.identity or source.where or not _is_plain(source):
        return None
    read = _delta_changes if now.form == "delta" else _iceberg_changes
    try:
        changes = read(spark, now, int(number))
        if source.select:
            changes = changes.selectExpr(*source.select, "matchwood_change")
        # Rows that were only moved to another file, or changed in other columns, cancel out.
        rows = changes.groupBy(*_columns(source)).agg(F.sum("matchwood_change").alias("change"))
        buckets = rows.where("change != 0").select(bucket_column(column(source.id)).alias("bucket"))
        return frozenset(row.bucket for row in buckets.distinct().collect())
    except Exception as error:  # the feed is off, expired, or not there for such changes
        log.info("rules are compared row by row: %s", reason(error))
        return None


def _delta_changes(spark: SparkSession, now: TableVersion, before: int) -> DataFrame:
    reader = spark.read.option("readChangeFeed", "true").option("startingVersion", before + 1)
    rows = reader.option("endingVersion", now.number).table(now.table)
    return _signed(rows, F.col("_change_type").isin("insert", "update_postimage"))


def _iceberg_changes(spark: SparkSession, now: TableVersion, before: int) -> DataFrame:
    reader = spark.read.format("iceberg").option("start-snapshot-id", before)
    rows = reader.option("end-snapshot-id", now.number).load(f"{now.table}.changes")
    return _signed(rows, F.col("_change_type").isin("INSERT", "UPDATE_AFTER"))


def _signed(rows: DataFrame, added: Column) -> DataFrame:
    return rows.withColumn("matchwood_change", F.when(added, 1).otherwise(-1))


def _columns(source: RuleSource) -> list[Column]:
    names = (source.id, source.rule, source.tags, source.priority)
    columns = [column(name) for name in names if name]
    if source.data:
        # As text, because Spark neither hashes nor groups by maps.
        columns.append(carried(source.data).alias("matchwood_data"))
    return columns


def _is_plain(source: RuleSource) -> bool:
    return all(_PLAIN_COLUMN.fullmatch(expression) for expression in source.select)


def to_json(hashes: BucketHashes) -> dict[str, str]:
    return {str(bucket): hashed for bucket, hashed in hashes.items()}


def of_json(form: Mapping[str, Any]) -> BucketHashes:
    return {int(bucket): str(hashed) for bucket, hashed in form.items()}
