"""Which rows of a table of rules have changed since a version, as the table itself tells.

Delta tells with its change feed, and Iceberg with the changes between two snapshots. Rows that were
only moved to another file, or that changed in columns that are no part of the rules, are not among
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from matchwood.spark.compile.rule_buckets import BUCKETS, Buckets, bucket_of
from matchwood.spark.compile.rule_rows import rule_rows
from matchwood.spark.endpoints import RuleSource
from matchwood.spark.storage import reason, was_stopped

# The column that says how many more of a row there are than before; fewer, if it is negative.
CHANGE = "matchwood change"
# Ids that the driver gets to know: more of them are in so many buckets that all rules are compiled.
MOST_IDS = BUCKETS
# Tasks that add changes up. They are mostly few, and each task costs more than they do.
TASKS = 8
# An expression that is a column of the source, perhaps under another name. Others may depend on
# more rows than those that changed.
_PLAIN_COLUMN = re.compile(r"\s*[\w.`]+(\s+(as\s+)?[\w`]+)?\s*", re.IGNORECASE)


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


class Untold(NamedTuple):
    """A table does not tell what has changed."""

    why: str


class TableChanges(NamedTuple):
    """What has changed in a table of rules."""

    rows: DataFrame  # as `rule_rows` has them, and CHANGE
    ids: frozenset[str | None]  # of these rows, as text
    gone: frozenset[str | None]  # the ids of rows that are not there any more

    @property
    def buckets(self) -> Buckets:
        """The buckets of rules in which something has changed."""
        if len(self.ids) > MOST_IDS:
            return frozenset(range(BUCKETS))
        return frozenset(0 if name is None else bucket_of(name) for name in self.ids)

    def added(self) -> DataFrame:
        """The rows that are there now and were not before."""
        rows = self.rows.where(F.col(CHANGE) > 0)
        each = rows.withColumn(
            CHANGE, F.explode(F.array_repeat(F.lit(0), F.col(CHANGE).cast("int")))
        )
        return each.drop(CHANGE)


@contextmanager
def table_changes(
    spark: SparkSession, source: RuleSource, before: str | None, now: TableVersion
) -> Iterator[TableChanges | Untold]:
    """What has changed since the version with the text `before`; its rows are kept meanwhile.

    There is none of a table that became one of Delta or Iceberg under the same name.
    """
    if before is None:
        yield Untold("the table had no versions before")
        return
    identity, _, number = before.rpartition(" ")
    if identity != now.identity:
        yield Untold("the table was made anew")
        return
    if source.where or not all(map(_PLAIN_COLUMN.fullmatch, source.select)):
        yield Untold("its rows are not used as they are")
        return
    rows = None
    try:
        read = _delta_changes if now.form == "delta" else _iceberg_changes
        rows = _net(read(spark, now, int(number)), source).persist(StorageLevel.DISK_ONLY)
        told: TableChanges | Untold = _told(rows)
    except Exception as error:  # the feed is off, expired, or not there for such changes
        if was_stopped(error):
            raise
        told = Untold(reason(error))
    try:
        yield told
    finally:
        if rows is not None:
            rows.unpersist()


def _net(changes: DataFrame, source: RuleSource) -> DataFrame:
    """What changes amount to: each different row, and how many more of it there are."""
    if source.select:
        changes = changes.selectExpr(*source.select, f"`{CHANGE}`")
    rows = changes.select(
        *rule_rows(changes, source.id, source.rule, source.tags, source.priority, source.data),
        F.col(CHANGE),
    )
    parts = [name for name in rows.columns if name != CHANGE]
    # All that is said of an id is in one task from here on.
    spread = rows.repartition(TASKS, "id")
    return spread.groupBy(*parts).agg(F.sum(CHANGE).alias(CHANGE)).where(F.col(CHANGE) != 0)


def _told(rows: DataFrame) -> TableChanges:
    of_id = rows.groupBy("id").agg(F.min(CHANGE).alias("least"))
    least = {
        None if row.id is None else str(row.id): row.least
        for row in of_id.limit(MOST_IDS + 1).collect()
    }
    gone = frozenset(name for name, change in least.items() if change < 0)
    return TableChanges(rows, frozenset(least), gone)


def _delta_changes(spark: SparkSession, now: TableVersion, before: int) -> DataFrame:
    reader = spark.read.option("readChangeFeed", "true").option("startingVersion", before + 1)
    rows = reader.option("endingVersion", now.number).table(now.table)
    return _signed(rows, F.col("_change_type").isin("insert", "update_postimage"))


def _iceberg_changes(spark: SparkSession, now: TableVersion, before: int) -> DataFrame:
    reader = spark.read.format("iceberg").option("start-snapshot-id", before)
    rows = reader.option("end-snapshot-id", now.number).load(f"{now.table}.changes")
    return _signed(rows, F.col("_change_type").isin("INSERT", "UPDATE_AFTER"))


def _signed(rows: DataFrame, added: Column) -> DataFrame:
    return rows.withColumn(CHANGE, F.when(added, 1).otherwise(-1))
