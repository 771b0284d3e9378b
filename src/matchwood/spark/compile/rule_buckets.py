"""Buckets of rules: each is hashed by itself, and compiled again by itself when rules change.

The bucket of a rule depends on its id alone, and lies in one shard whatever the number of shards.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.tables.rule_table import RuleId

if TYPE_CHECKING:
    from pyspark.sql import Column

# A power of two. With a million rules, a bucket has about 60 of them.
BUCKETS = 16_384

Buckets = frozenset[int]
# Buckets as bits.
PackedBuckets = bytes


def bucket_of(rule_id: RuleId) -> int:
    """The bucket of a rule."""
    return zlib.crc32(str(rule_id).encode()) % BUCKETS


def bucket_column(rule_id: Column) -> Column:
    """The bucket of a rule in SQL; rows without an id, which are rejected, are in the first."""
    from pyspark.sql import functions as F

    bucket = F.crc32(rule_id.cast("string").cast("binary")) % BUCKETS
    return F.coalesce(bucket, F.lit(0)).cast("int")


def is_in_buckets(rule_id: str, buckets: Buckets) -> Column:
    """Whether the rules with ids in a column are in some buckets.

    Spark reads thousands of numbers faster as text than one by one.
    """
    from pyspark.sql import functions as F

    name = rule_id.replace("`", "``")
    bucket = f"coalesce(crc32(cast(cast(`{name}` as string) as binary)) % {BUCKETS}, 0)"
    return F.expr(f"{bucket} in ({', '.join(map(str, sorted(buckets)))})")


def buckets_of(rule_ids: Iterable[RuleId]) -> NDArray[np.uint16]:
    """The buckets of many rules."""
    return np.array([bucket_of(rule_id) for rule_id in rule_ids], np.uint16)


def packed(buckets: Iterable[int]) -> PackedBuckets:
    """Buckets as bits, which travel with every task.

    >>> packed([0, 9])[:3], sorted(unpacked(packed([0, 9])))
    (b'\\x80@\\x00', [0, 9])
    """
    is_in = np.zeros(BUCKETS, np.uint8)
    is_in[list(buckets)] = 1
    return np.packbits(is_in).tobytes()


def unpacked(bits: PackedBuckets) -> Buckets:
    return frozenset(np.flatnonzero(is_in(bits)).tolist())


def is_in(bits: PackedBuckets) -> NDArray[np.bool_]:
    """Whether each bucket is among the packed ones."""
    return np.unpackbits(np.frombuffer(bits, np.uint8)).astype(np.bool_)
