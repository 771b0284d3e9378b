"""The rows of rules that are compiled already, read back from their segments on executors.

A layer has all rules of its buckets, of which few have changed. The others are taken from here, so
that nobody reads the table of rules for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from matchwood.match.search.rule_facts import FACTS
from matchwood.schema import Schema
from matchwood.spark.compile.compiled_rules import CompiledRules
from matchwood.spark.compile.rule_buckets import (
    Buckets,
    PackedBuckets,
    is_in,
    is_in_buckets,
    packed,
)
from matchwood.spark.compile.shard_build import NAN_PRIORITY
from matchwood.spark.match.open_rules import OpenSegment
from matchwood.spark.stream.table_changes import TableChanges


class _StoredRows(NamedTuple):
    """What a task is told that reads rows back."""

    segments: tuple[tuple[str, PackedBuckets], ...]  # shipped files, with what is dead in them
    wanted: PackedBuckets
    without: frozenset[str | None]  # the ids of rules that are left out
    columns: tuple[str, ...]  # of rows, beside the id
    id_type: str
    schema: Schema | None
    operators: str | None


def rows_after(
    spark: SparkSession, before: CompiledRules, changes: TableChanges, buckets: Buckets
) -> DataFrame | None:
    """All rows of rules in some buckets as they are after changes.

    None where compiled rules do not have all that is needed: a rule that was rejected has changed,
    and of such only the text is kept.
    """
    added = changes.added()
    if dict(added.dtypes)["id"] != before.id_type:
        return None
    columns = tuple(name for name in added.columns if name != "id")
    rows = _stored(spark, before, changes, buckets, columns).unionByName(added)
    if not before.rejected_count:
        return rows
    in_changed = before.rejected.where(is_in_buckets("id", changes.buckets)).select("id").collect()
    if any((None if row.id is None else str(row.id)) in changes.ids for row in in_changed):
        return None
    again = before.rejected.where(is_in_buckets("id", buckets))
    return rows.unionByName(_rejected_again(again, added))


def _rejected_again(rejected: DataFrame, like: DataFrame) -> DataFrame:
    """Rows of rules that were rejected, for the same reason as before: they have not changed."""
    is_nan = F.col("reason") == NAN_PRIORITY
    known = {
        "id": F.col("id"),
        "rule": F.col("rule"),
        "priority": F.when(is_nan, F.lit(float("nan"))),
    }
    columns = [
        known.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
        for field in like.schema
    ]
    return rejected.select(*columns)


def _stored(
    spark: SparkSession,
    before: CompiledRules,
    changes: TableChanges,
    buckets: Buckets,
    columns: tuple[str, ...],
) -> DataFrame:
    dead = dict(before.replaced)
    names = before.ship(spark)
    asked = _StoredRows(
        tuple((name, dead.get(name, b"")) for name in names),
        packed(buckets),
        changes.gone,
        columns,
        before.id_type,
        before.schema,
        before.operators,
    )
    schema = changes.added().select("id", *columns).schema
    count = max(1, len(names))
    return spark.range(0, len(names), 1, count).mapInArrow(_reading(asked), schema)


def _reading(asked: _StoredRows) -> Callable[[Any], Iterator[Any]]:
    """A task that reads the rows of segments, whose numbers it is given."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _rows(asked, *asked.segments[number])

    return run


def _rows(asked: _StoredRows, name: str, dead: PackedBuckets) -> Iterator[Any]:
    """The rows of one segment in the buckets that are wanted."""
    from matchwood.match.search.rule_facts import fact_array
    from matchwood.operators.deciding import Decider
    from matchwood.operators.geo import available

    wanted = is_in(asked.wanted)
    if dead:
        wanted &= ~is_in(dead)
    segment = OpenSegment(name, Decider(available(asked.operators), asked.schema))
    kind = pa.string() if asked.id_type == "string" else pa.int64()
    for part, buckets in segment.parts_and_buckets():
        details = [part.details[number] for number in np.flatnonzero(wanted[buckets]).tolist()]
        kept = [one for one in details if str(one.id) not in asked.without]
        ids = pa.array([one.id for one in kept], kind)
        arrays = [fact_array(kept, column).cast(FACTS[column]) for column in asked.columns]
        yield pa.RecordBatch.from_arrays([ids, *arrays], ["id", *asked.columns])
