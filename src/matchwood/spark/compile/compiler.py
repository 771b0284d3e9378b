"""`compile_rules`: rules are split into shards; executors compile them, the driver collects."""

from __future__ import annotations

import hashlib
import json
import pickle
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.storagelevel import StorageLevel

from matchwood.index.build.statistics import Statistics
from matchwood.language.aliases import Aliases, AliasForm
from matchwood.schema import Schema
from matchwood.spark.compile import pieces
from matchwood.spark.compile.compiled_rules import (
    CompiledRules,
    hashed_buckets,
    joined_attributes,
    new_folder,
    pieces_path,
    rejected_frame,
)
from matchwood.spark.compile.operator_modules import check_operators
from matchwood.spark.compile.pieces import PieceCollector, SegmentFile
from matchwood.spark.compile.rule_buckets import bucket_column
from matchwood.spark.compile.rule_rows import id_type_of, rule_rows
from matchwood.spark.compile.rules_version import version_of
from matchwood.spark.compile.shard_build import BuildOptions, compiling
from matchwood.spark.executors import check_executors
from matchwood.spark.kernel_shipping import ship_kernels
from matchwood.spark.session import session_of, ship

# Rules per shard. One index of a million rules is swept in half the time of four indexes of
# 250,000, so shards only serve to limit memory and to spread the build over executors.
RULES_PER_SHARD = 1_000_000
# Rejected rules that the driver keeps; if there are more, they stay on the executors.
FEW = 10_000


def compile_rules(
    rules: DataFrame,
    id: str = "id",
    rule: str = "rule",
    path: str | None = None,
    *,
    tags: str | None = None,
    priority: str | None = None,
    data: Sequence[str] = (),
    shards: int | None = None,
    schema: Schema | None = None,
    enforce: bool = False,
    operators: str | None = None,
    statistics: Statistics | None = None,
    events: DataFrame | StructType | None = None,
    attributes: str | None = None,
    aliases: Aliases | AliasForm | None = None,
    lists: Iterable[str] | None = None,
) -> CompiledRules:
    """Compile a table of rules on the executors.

    `id`, `rule`, `tags` (strings or arrays of them) and `priority` name columns, and `data` those
    that rules carry, which `match_events` gives back as JSON. A rule that cannot be read is
    rejected, with the line and column of the mistake; so are all rules that have the same id. With
    `path`, the compiled rules are also written there, for `load`. With `events` (and `attributes`
    and `aliases`, as in `match_events`), `.warnings` lists the attributes of rules that events do
    not have, or have in another family. `schema` has the hierarchies for `isa`; with `enforce`,
    rules that do not fit it are rejected. `operators` is the import path of a module whose
    operators rules may call; executors import it. `statistics` (see `profile`) make matching
    faster. `lists` are the names of the lists that rules may name: a rule that names another one is
    rejected. Without it rules may name any; their values are given to `match_events`.
    """
    rows = rules.select(*rule_rows(rules, id, rule, tags, priority, data))
    compiled = compile_rows(
        rows,
        path,
        shards=shards,
        schema=schema,
        enforce=enforce,
        operators=operators,
        statistics=statistics,
        lists=lists,
    )
    if events is not None:
        compiled.warnings = compiled.check(events, attributes, aliases)
    return compiled


def compile_rows(
    rows: DataFrame,
    path: str | None,
    *,
    shards: int | None,
    schema: Schema | None,
    enforce: bool = False,
    operators: str | None,
    statistics: Statistics | None = None,
    lists: Iterable[str] | None,
) -> CompiledRules:
    """`compile_rules` for rows that have the columns of `rule_rows`."""
    if enforce and schema is None:
        raise TypeError("enforce: expected a Schema, found None")
    spark = session_of(rows)
    check_executors(spark)
    check_operators(spark, operators)
    id_type = id_type_of(rows, "id")
    if shards is None:
        shards = -(-rows.count() // RULES_PER_SHARD)
    folder = new_folder()
    shipped = _shipped(spark, statistics, folder)
    options = BuildOptions(
        schema, shipped, enforce, operators, ship_kernels(spark), _names_of_lists(lists)
    )
    spread = rows.repartition(max(1, shards), bucket_column(F.col("id")))
    built = spread.mapInArrow(compiling(options), pieces.SCHEMA)
    if path is not None:
        compiled = _through_storage(spark, built, path, id_type, schema, folder, operators)
    else:
        compiled = _through_executors(spark, built, id_type, schema, folder)
    compiled.operators = operators
    return compiled


def _names_of_lists(lists: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(lists, str):
        raise TypeError(f"lists are names, found the string {lists!r}")
    return None if lists is None else tuple(lists)


def _shipped(spark: SparkSession, statistics: Statistics | None, folder: Path) -> str | None:
    if statistics is None:
        return None
    data = pickle.dumps(statistics)
    path = folder / f"matchwood-statistics-{hashlib.sha256(data).hexdigest()[:32]}"
    path.write_bytes(data)
    return ship(spark, path)


def _through_storage(
    spark: SparkSession,
    built: DataFrame,
    path: str,
    id_type: str,
    schema: Schema | None,
    folder: Path,
    operators: str | None,
) -> CompiledRules:
    """Executors write the pieces to the path, where the driver reads them."""
    token = uuid.uuid4().hex[:12]
    built.write.options(**pieces.WRITING).parquet(pieces_path(path, token))
    table = spark.read.schema(pieces.SCHEMA).parquet(pieces_path(path, token))
    compiled = _gathered(table, rejected_frame(table, id_type), id_type, schema, folder)
    compiled.operators = operators
    compiled.write_manifest(spark, path, token)
    return compiled


def _through_executors(
    spark: SparkSession, built: DataFrame, id_type: str, schema: Schema | None, folder: Path
) -> CompiledRules:
    """Executors keep the pieces on their disks until the driver has fetched them."""
    table = built.persist(StorageLevel.DISK_ONLY)
    rejected = rejected_frame(table, id_type)
    compiled = _gathered(table, rejected, id_type, schema, folder)
    if compiled.rejected_count <= FEW:
        rows = rejected.collect() if compiled.rejected_count else []
        compiled.rejected = spark.createDataFrame(rows, rejected.schema)
        table.unpersist()
    return compiled


def _gathered(
    table: DataFrame, rejected: DataFrame, id_type: str, schema: Schema | None, folder: Path
) -> CompiledRules:
    rows = table.where(F.col("kind") == pieces.ABOUT).select("shard", "data").collect()
    facts: dict[int, Any] = {row.shard: json.loads(bytes(row.data)) for row in rows}
    collector = PieceCollector(folder)
    collector.take(table, {shard: about["bytes"] for shard, about in facts.items()})
    buckets = hashed_buckets(about["buckets"] for about in facts.values())
    version = version_of(buckets, id_type, schema)
    segments = []
    for number, (shard, about) in enumerate(sorted(facts.items())):
        if about["rules"]:
            name = f"matchwood-{version[:16]}-{number}-{about['sha256'][:16]}"
            file = collector.path(shard).rename(folder / name)
            if pieces.sha256_of(file) != about["sha256"]:
                raise RuntimeError(f"the segment of shard {shard} was damaged on its way")
            segments.append(
                SegmentFile(name, file, about["bytes"], about["rules"], about["sha256"], shard)
            )
    compiled = CompiledRules(
        version=version,
        id_type=id_type,
        segments=segments,
        attributes=joined_attributes(about["attributes"] for about in facts.values()),
        rejected=rejected,
        rejected_count=sum(about["rejected"] for about in facts.values()),
        schema=schema,
        folder=folder,
    )
    compiled.buckets = buckets
    compiled.lists = tuple(sorted({name for about in facts.values() for name in about["lists"]}))
    compiled.everything = any(about["everything"] for about in facts.values())
    return compiled
