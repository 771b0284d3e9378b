"""`CompiledRules`: segment files on the driver's disk and facts about them; saving, loading."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from matchwood.index.file.array_file import VERSION as FILES
from matchwood.language.aliases import Aliases, AliasForm, aliases_of
from matchwood.match.parts.part_file import LANGUAGE
from matchwood.schema import Schema
from matchwood.spark.compile import pieces
from matchwood.spark.compile.pieces import PieceCollector, SegmentFile
from matchwood.spark.compile.rule_buckets import PackedBuckets
from matchwood.spark.compile.rules_version import HashedBucket, schema_to_json
from matchwood.spark.events.event_attributes import problems
from matchwood.spark.session import ship
from matchwood.spark.storage import exists

# The version of the format that `save` writes, around the files of segments, which have their own.
FORMAT = 3
# Attributes and warnings that a notebook shows.
SHOWN = 20
# The columns of rejected rules.
REJECTED = ("id", "rule", "line", "column", "reason")
_MANIFEST = "format int, version string, facts string"


class StoredRulesError(ValueError):
    """There are no usable compiled rules at a path; says why."""


class OutdatedRulesError(StoredRulesError):
    """An older matchwood has stored these rules, in files that are not read any more."""


class CompiledRules:
    """Rules ready to be matched, which `compile_rules` and `load` return."""

    def __init__(
        self,
        *,
        version: str,
        id_type: str,
        segments: Sequence[SegmentFile],
        attributes: Mapping[str, tuple[str, ...]],
        rejected: DataFrame,
        rejected_count: int,
        schema: Schema | None,
        folder: Path,
    ) -> None:
        self.version = version
        self.id_type = id_type  # string or bigint, as Spark calls them
        self.segments = tuple(segments)
        self.attributes = dict(attributes)  # name → families of value that rules ask for
        self.rejected = rejected
        self.rejected_count = rejected_count
        self.schema = schema
        self.everything = False  # whether a rule uses `*`, and so depends on all attributes
        self.operators: str | None = None  # the path of the module whose operators rules call
        self.lists: tuple[str, ...] = ()  # the names of the lists that rules name
        self.warnings: list[str] = []
        # What the version is made of; empty for rules that an earlier matchwood has stored.
        self.buckets: dict[int, HashedBucket] = {}
        self.made_of: tuple[CompiledRules, ...] = ()  # whose files these are, if not its own
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    @property
    def rules(self) -> int:
        """How many rules were accepted."""
        if self.buckets:
            return sum(rules for _, rules in self.buckets.values())
        return sum(segment.rules for segment in self.segments)

    @property
    def bytes(self) -> int:
        """Bytes of all segments: what a worker maps into memory in the replicated layout."""
        return sum(segment.bytes for segment in self.segments)

    def __len__(self) -> int:
        return self.rules

    def __repr__(self) -> str:
        return f"<CompiledRules {self.version[:12]} of {self.rules:,} rules>"

    def _repr_html_(self) -> str:
        """A table for notebooks, which needs no job of Spark."""
        asked = [
            f"{name} ({', '.join(families)})" if families else name
            for name, families in list(self.attributes.items())[:SHOWN]
        ]
        if len(self.attributes) > SHOWN:
            asked.append(f"and {len(self.attributes) - SHOWN:,} more")
        rows = {
            "version": self.version[:12],
            "rules": f"{self.rules:,}, and {self.rejected_count:,} rejected",
            "segments": f"{len(self.segments):,} of {self.bytes:,} bytes",
            "attributes": ", ".join(asked),
            "warnings": "; ".join(self.warnings[:SHOWN]),
        }
        told = ((name, escape(text)) for name, text in rows.items() if text)
        lines = (f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in told)
        return f"<table>{''.join(lines)}</table>"

    @property
    def needs(self) -> tuple[str, ...] | None:
        """The attributes that answers depend on; None for all of them.

        An operator gets the whole event and may use attributes that no rule mentions, as `*` does.
        """
        whole = self.everything or self.operators is not None
        return None if whole else tuple(self.attributes)

    def ship(self, spark: SparkSession) -> tuple[str, ...]:
        """Send the segments to all executors, once per session; returns their names there."""
        return tuple(ship(spark, segment.path) for segment in self.segments)

    @property
    def replaced(self) -> tuple[tuple[str, PackedBuckets], ...]:
        """The packed buckets that a segment has and another one has anew, with its name."""
        return tuple((one.name, one.replaced) for one in self.segments if one.replaced)

    def check(
        self,
        events: DataFrame | StructType,
        attributes: str | None = None,
        aliases: Aliases | AliasForm | None = None,
    ) -> list[str]:
        """What rules ask for and events with this schema cannot have, one sentence per problem."""
        schema = events if isinstance(events, StructType) else events.schema
        return problems(schema, attributes, self.attributes, aliases_of(aliases))

    def save(self, path: str, *, overwrite: bool = False) -> None:
        """Write everything to a path that Spark can write, for `load`."""
        spark = self.rejected.sparkSession
        if not overwrite and _manifest(spark, path) is not None:
            raise FileExistsError(
                f"{path}: there are compiled rules already; overwrite=True replaces them"
            )
        token = uuid.uuid4().hex[:12]
        names = dict(zip((s.shard for s in self.segments), self.ship(spark), strict=True))
        rejected = self.rejected.select(
            F.lit(pieces.REJECT).alias("kind"),
            F.lit(0).alias("shard"),
            F.lit(None).cast("int").alias("number"),
            F.lit(None).cast("binary").alias("data"),
            F.col("id").cast("string").alias("id"),
            *(F.col(name) for name in REJECTED[1:]),
        )
        if names:
            numbers = spark.createDataFrame([(shard,) for shard in names], "shard int")
            sent = numbers.repartition(len(names)).mapInArrow(_sending(names), pieces.SCHEMA)
            rejected = sent.unionByName(rejected)
        writer = rejected.write.mode("overwrite").options(**pieces.WRITING)
        writer.parquet(pieces_path(path, token))
        self.write_manifest(spark, path, token)

    def write_manifest(self, spark: SparkSession, path: str, token: str) -> None:
        """Write the manifest, which comes last: a path without one is incomplete."""
        facts = {
            "token": token,
            "language": LANGUAGE,
            "files": FILES,
            "id_type": self.id_type,
            "rejected": self.rejected_count,
            "attributes": self.attributes,
            "everything": self.everything,
            "schema": schema_to_json(self.schema),
            "operators": self.operators,
            "lists": self.lists,
            "buckets": self.buckets,
            "segments": [[s.name, s.bytes, s.rules, s.sha256, s.shard] for s in self.segments],
        }
        row = spark.createDataFrame([(FORMAT, self.version, json.dumps(facts))], _MANIFEST)
        row.coalesce(1).write.mode("overwrite").parquet(f"{path.rstrip('/')}/manifest")


def _sending(names: Mapping[int, str]) -> Callable[[Any], Iterator[Any]]:
    """A task that cuts the segments of these shards into pieces."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import SparkFiles

        for batch in batches:
            for shard in batch.column(0).to_pylist():
                yield from pieces.of_file(Path(SparkFiles.get(names[shard])), shard)

    return run


def hashed_buckets(some: Iterable[Mapping[str, Sequence[Any]]]) -> dict[int, HashedBucket]:
    """Hashed buckets of several shards, as JSON has them."""
    return {
        int(bucket): (str(hashed), int(rules))
        for buckets in some
        for bucket, (hashed, rules) in buckets.items()
    }


def pieces_path(path: str, token: str) -> str:
    return f"{path.rstrip('/')}/pieces-{token}"


def new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="matchwood-"))


def rejected_frame(table: DataFrame, id_type: str) -> DataFrame:
    """The rejected rules among pieces."""
    rows = table.where(F.col("kind") == pieces.REJECT)
    return rows.select(F.col("id").cast(id_type).alias("id"), *(F.col(n) for n in REJECTED[1:]))


def _manifest(spark: SparkSession, path: str) -> Any:
    manifest = f"{path.rstrip('/')}/manifest"
    if not exists(spark, manifest):
        return None
    return spark.read.schema(_MANIFEST).parquet(manifest).first()


def joined_attributes(some: Iterable[Mapping[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """The attributes of several sets of rules, with the families of value that any of them asks."""
    families: dict[str, set[str]] = {}
    for attributes in some:
        for attribute, kinds in attributes.items():
            families.setdefault(attribute, set()).update(kinds)
    return {name: tuple(sorted(kinds)) for name, kinds in sorted(families.items())}


def stored_attributes(spark: SparkSession, path: str) -> dict[str, list[str]]:
    """The attributes of stored rules, with the families of value that rules ask for."""
    row = _manifest(spark, path)
    attributes: dict[str, list[str]] = {} if row is None else json.loads(row.facts)["attributes"]
    return attributes


def load(spark: SparkSession, path: str) -> CompiledRules:
    """Load the compiled rules that `save` or `compile_rules(path=…)` wrote."""
    row = _manifest(spark, path)
    if row is None:
        raise StoredRulesError(
            f"{path}: there are no compiled rules, or they were not written completely; "
            "compile or save them again"
        )
    facts = json.loads(row.facts)
    stored, known = (row.format, facts.get("files", 0)), (FORMAT, FILES)
    if stored > known or facts["language"] > LANGUAGE:
        raise StoredRulesError(f"{path}: written by a newer matchwood; compile the rules again")
    if stored < known:
        raise OutdatedRulesError(f"{path}: written by an older matchwood; compile the rules again")
    table = spark.read.parquet(pieces_path(path, facts["token"]))
    folder = new_folder()
    collector = PieceCollector(folder)
    collector.take(table, {shard: size for _, size, _, _, shard in facts["segments"]})
    segments = []
    for name, size, rules, sha256, shard in facts["segments"]:
        file = collector.path(shard)
        if not file.exists() or pieces.sha256_of(file) != sha256:
            shutil.rmtree(folder)
            raise StoredRulesError(
                f"{path}: a segment is damaged or truncated; compile the rules again"
            )
        segments.append(SegmentFile(name, file.rename(folder / name), size, rules, sha256, shard))
    schema = facts["schema"]
    compiled = CompiledRules(
        version=row.version,
        id_type=facts["id_type"],
        segments=segments,
        attributes={name: tuple(families) for name, families in facts["attributes"].items()},
        rejected=rejected_frame(table, facts["id_type"]),
        rejected_count=facts["rejected"],
        schema=None if schema is None else Schema.from_dict(schema),
        folder=folder,
    )
    compiled.operators = facts.get("operators")
    compiled.lists = tuple(facts.get("lists", ()))
    compiled.buckets = hashed_buckets([facts.get("buckets", {})])
    compiled.everything = bool(facts.get("everything"))
    return compiled
