"""Matches that workers write to files themselves, and the driver puts in place.

Where events are nothing but files of Parquet, workers read these as well.

Workers write to a folder beside that of the matches, whose name Spark's readers ignore. When all
are done, the driver moves the files that their tasks named, and removes the folder: what attempts
left that failed or were repeated is not named by anyone.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
)
from pyspark.storagelevel import StorageLevel

from matchwood.language.named_lists import ValueList
from matchwood.match.store.snapshot import Snapshot
from matchwood.operators.deciding import Decider
from matchwood.operators.geo import available
from matchwood.spark.compile.compiled_rules import CompiledRules
from matchwood.spark.endpoints import EventSource, RowSource, format_of
from matchwood.spark.match.event_matching import columns_of_matches, layout_of, match_into_files
from matchwood.spark.match.match_files import FACTS, FileFacts
from matchwood.spark.match.plan import REPLICATED
from matchwood.spark.pipeline.pipeline_file import Pipeline
from matchwood.spark.pipeline.summary import TOP, Counts, bars
from matchwood.spark.session import is_connect, is_local
from matchwood.spark.storage import corrupt_columns, local_path

# Types that Arrow and Spark write to Parquet alike, by the names that PySpark gives them.
_PLAIN_TYPES = {
    *("byte", "short", "integer", "long", "float", "double", "boolean"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz"),
}


class UnseenFiles(RuntimeError):
    """Workers wrote files that the driver does not see."""


class FileOutput:
    """Runs the matching of a pipeline with workers that write."""

    def __init__(
        self,
        pipeline: Pipeline,
        folder: Path,
        events: DataFrame,
        rules: CompiledRules,
        lists: Mapping[str, ValueList],
    ) -> None:
        self._pipeline = pipeline
        self._folder = folder
        self._events = events
        self._rules = rules
        self._lists = lists
        self._run = uuid.uuid4().hex
        self._unfinished = folder.parent / f"_matchwood-{folder.name}-{self._run}"

    @contextmanager
    def matched(self) -> Iterator[tuple[DataFrame, list[FileFacts]]]:
        """The rejected events, and what the tasks have written."""
        pipeline = self._pipeline
        self._unfinished.mkdir(parents=True)
        rows = match_into_files(
            self._events,
            self._rules,
            str(self._unfinished),
            keep=pipeline.events.keep,
            attributes=pipeline.events.attributes,
            output=pipeline.matches.output,
            tags=pipeline.job.tags or None,
            limit=pipeline.job.limit,
            enforce=pipeline.job.enforce,
            aliases=pipeline.events.aliases,
            rule_columns=pipeline.matches.rule_columns,
            lists=self._lists,
            device=pipeline.job.device,
            only_files=_is_only_files(pipeline.events),
        ).persist(StorageLevel.DISK_ONLY)
        try:
            told = rows.where(F.col(FACTS).isNotNull()).select(FACTS).collect()
            yield (
                rows.where(F.col(FACTS).isNull()).drop(FACTS),
                [FileFacts.read(bytes(row[FACTS])) for row in told],
            )
        finally:
            rows.unpersist()
            shutil.rmtree(self._unfinished, ignore_errors=True)

    def put_in_place(self, facts: list[FileFacts]) -> None:
        """Move what was written to where readers look."""
        written = [self._unfinished / one.file for one in facts if one.file is not None]
        for path in written:
            if not path.exists():
                raise UnseenFiles(
                    f"{path}: a worker wrote it, but the driver does not see it; "
                    "writer = 'spark', or a folder that all machines share"
                )
        if self._pipeline.matches.mode == "overwrite" and self._folder.exists():
            shutil.rmtree(self._folder)
        self._folder.mkdir(exist_ok=True)
        if not written and not any(self._folder.glob("*.parquet")):
            self._write_columns()
        for number, path in enumerate(written):
            path.rename(self._folder / f"part-{number:05}-{self._run}.snappy.parquet")
        (self._folder / "_SUCCESS").touch()

    def _write_columns(self) -> None:
        """Write a file without rows, as Spark does: readers learn the columns from it."""
        pipeline, spark = self._pipeline, self._events.sparkSession
        keep, sink = pipeline.events.keep, pipeline.matches
        columns = columns_of_matches(
            self._events, keep, self._rules.id_type, sink.output, sink.rule_columns
        )
        empty = spark.createDataFrame([], columns).coalesce(1)
        empty.write.mode("append").parquet(self._folder.as_uri())


def file_output(
    pipeline: Pipeline,
    spark: SparkSession,
    events: DataFrame,
    compiled: CompiledRules,
    lists: Mapping[str, ValueList],
) -> FileOutput | None:
    """The output of a pipeline whose workers write; None if Spark has to."""
    sink, job = pipeline.matches, pipeline.job
    if sink.writer == "spark" or is_connect(spark) or sink.path is None:
        return None
    layout = layout_of(compiled) if job.layout == "auto" else job.layout
    simple = not (sink.partition_by or sink.options or corrupt_columns(events))
    if format_of(sink) != "parquet" or not simple or layout != REPLICATED or sink.mode == "ignore":
        return None
    kinds = [events.schema[name].dataType for name in pipeline.events.keep]
    folder = local_path(spark, sink.path)
    shared = is_local(spark) or sink.writer == "workers"
    if folder is None or not shared or not all(map(_writable, kinds)):
        return None
    sources = (pipeline.rules, pipeline.events, *pipeline.lists.values())
    if any(_reads(spark, source, folder) for source in sources):
        return None  # Spark refuses to overwrite what it reads
    return FileOutput(pipeline, folder, events, compiled, lists)


def _is_only_files(events: EventSource) -> bool:
    """Whether events are files of Parquet, all of their rows and as they are."""
    changed = events.select or events.where or events.options or events.schema
    return events.path is not None and format_of(events) == "parquet" and not changed


def _reads(spark: SparkSession, source: RowSource, folder: Path) -> bool:
    """Whether a source reads from a folder."""
    paths = (source.path,) if isinstance(source.path, str) else source.path or ()
    places = [local_path(spark, path) for path in paths]
    return any(place is not None and place.is_relative_to(folder) for place in places)


def _writable(kind: DataType) -> bool:
    """Whether Arrow writes a type to Parquet as Spark does."""
    if isinstance(kind, ArrayType):
        return _writable(kind.elementType)
    if isinstance(kind, MapType):
        return _writable(kind.keyType) and _writable(kind.valueType)
    if isinstance(kind, StructType):
        return all(_writable(field.dataType) for field in kind)
    return kind.typeName() in _PLAIN_TYPES or isinstance(kind, DecimalType)


def counts_of(facts: list[FileFacts], compiled: CompiledRules) -> Counts:
    """The figures of all tasks together."""
    rejected = sum(one.rejected for one in facts)
    powers: dict[int, int] = {}
    for one in facts:
        for power, events in one.events.items():
            powers[power] = powers.get(power, 0) + events
    of_rule = np.zeros(compiled.rules, np.int64)
    for one in facts:
        of_rule[one.rule_indexes] += one.rule_counts
    matched = of_rule[of_rule > 0]
    rule_powers, rules = np.unique(np.frexp(matched.astype(np.float64))[1] - 1, return_counts=True)
    of_powers = dict(zip(rule_powers.tolist(), rules.tolist(), strict=True))
    readable = sum(powers.values())
    return Counts(
        events=readable + rejected,
        events_rejected=rejected,
        events_matched=readable - powers.get(-1, 0),
        matches=int(matched.sum()),
        matches_per_event=bars(powers),
        rules_matched=len(matched),
        matches_per_rule=bars({-1: compiled.rules - len(matched), **of_powers}),
        top_rules=_top(of_rule, compiled),
    )


def _top(of_rule: np.ndarray, compiled: CompiledRules) -> tuple[tuple[object, int], ...]:
    """The rules with most matches, those with as many in the order of their ids."""
    if not of_rule.any():
        return ()
    least = max(1, int(np.partition(of_rule, -TOP)[-TOP:].min()) if len(of_rule) > TOP else 1)
    chosen = np.flatnonzero(of_rule >= least)
    decider = Decider(available(compiled.operators), compiled.schema)
    paths = [segment.path for segment in compiled.segments]
    ids = Snapshot.load(paths, decider, verify=False).ids().values.take(chosen).to_pylist()
    if compiled.id_type == "bigint":
        ids = [int(rule_id) for rule_id in ids]
    ranked = sorted(zip(ids, of_rule[chosen].tolist(), strict=True), key=lambda it: (-it[1], it[0]))
    return tuple(ranked[:TOP])
