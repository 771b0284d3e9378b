"""Which buckets of rules have changed since a version, so that only these are compiled again.

All rows are hashed, bucket by bucket, and compared with the hashes of the version before. Tables
that tell what has changed are not read so; see `table_changes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from matchwood.spark.compile.rule_buckets import Buckets, bucket_column
from matchwood.spark.compile.rule_rows import carried
from matchwood.spark.endpoints import RuleSource
from matchwood.spark.events.event_attributes import column

# The hash of all rows of each bucket that has any.
BucketHashes = Mapping[int, str]
# What a signature says about the state of rules; the rest is how they are read.
STATE = ("files", "rows", "version")


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


def _columns(source: RuleSource) -> list[Column]:
    names = (source.id, source.rule, source.tags, source.priority)
    columns = [column(name) for name in names if name]
    if source.data:
        columns.append(carried(source.data))  # as text, because Spark does not hash maps
    return columns


def to_json(hashes: BucketHashes) -> dict[str, str]:
    return {str(bucket): hashed for bucket, hashed in hashes.items()}


def of_json(form: Mapping[str, Any]) -> BucketHashes:
    return {int(bucket): str(hashed) for bucket, hashed in form.items()}
