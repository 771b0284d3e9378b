"""`run`: a pipeline file on a session, stage by stage.

All counts come from the frame of matches, one row an event, which stays on the executors' disks
while it is counted and written: so they are those of this run, whatever the sink held before.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from matchwood.schema import Schema, SchemaError
from matchwood.spark.attributes import column
from matchwood.spark.compile import compile_rules
from matchwood.spark.match import match_events
from matchwood.spark.operators import MissingOperators, check_operators
from matchwood.spark.page import page
from matchwood.spark.pipeline import Pipeline, PipelineError
from matchwood.spark.profile import profile
from matchwood.spark.rules import CompiledRules, StoredRulesError, load
from matchwood.spark.run_stream import Stream
from matchwood.spark.session import is_connect, local_session
from matchwood.spark.storage import (
    CORRUPT,
    check_columns,
    check_sink,
    open_source,
    reason,
    text_of_binary,
    where,
    write,
)
from matchwood.spark.summary import Summary, count_events, count_rules

REASON = "reason"
UNREADABLE = "unreadable"  # in rejects: the line, as it stands
REJECTED_RULES = ("id", "rule", "line", "column", "reason")
ADDED = {"rows": ("rule_id", "rules_version"), "array": ("rule_ids", "rules_version")}
QUIET = {"spark.ui.showConsoleProgress": "false"}
# Settings and variables that say where Spark is; spark-submit sets the first of the variables.
CHOSEN = {"spark.master", "spark.remote"}
ELSEWHERE = {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "MASTER"}

# Told when a stage begins, with None, and when it has ended, with what it did.
Progress = Callable[[str, str | None], None]


class RunError(RuntimeError):
    """A stage of a run failed; `stage` says which, and its cause is what Spark raised."""

    def __init__(self, stage: str, cause: BaseException) -> None:
        super().__init__(f"the stage {stage!r} failed: {reason(cause)}")
        self.stage = stage


def run(
    config: str | Path | Mapping[str, Any] | Pipeline,
    spark: SparkSession | None = None,
    *,
    progress: Progress | None = None,
) -> Summary:
    """Run a pipeline: a file, or a mapping of the same form.

    A session that is given, or active, is used as it is; else one is started. Rules and events
    that cannot be read are counted and go to their sinks; they stop nothing.
    """
    pipeline = Pipeline.of(config)
    return _Run(pipeline, spark or session_for(pipeline), progress or _silent).all()


def session_for(pipeline: Pipeline) -> SparkSession:
    """The session that a pipeline runs on where none is given."""
    return session_for_work({"spark.app.name": pipeline.job.name, **pipeline.spark})


def session_for_work(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The active session; else that of spark-submit or a Connect server; else a local one."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    chosen = {**QUIET, **(settings or {})}
    if CHOSEN & set(chosen) or ELSEWHERE & set(os.environ):
        builder = SparkSession.builder
        for name, value in chosen.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    spark = local_session(settings=chosen)
    if not is_connect(spark):
        spark.sparkContext.setLogLevel("ERROR")
    return spark


def _silent(stage: str, done: str | None) -> None:
    pass


@dataclass(frozen=True)
class _Inputs:
    """What was found to be there before the work begins."""

    rules: DataFrame | None  # None: they are compiled already
    events: DataFrame
    schema: Schema | None


class _Run:
    """One run, and the time of its stages."""

    def __init__(self, pipeline: Pipeline, spark: SparkSession, progress: Progress) -> None:
        self.pipeline = pipeline
        self.spark = spark
        self.progress = progress
        self.stages: dict[str, float] = {}
        self.said = ""

    def all(self) -> Summary:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        job = self.pipeline.job
        summary = Summary(job.name, job.mode, started)
        with self.stage("open"):
            inputs = self.open()
        work = self.stream if job.mode == "stream" else self.batch
        summary = work(inputs, summary)
        with self.stage("report"):
            self.said = self.report(replace(summary, stages=dict(self.stages)))
        return replace(summary, stages=dict(self.stages))

    def batch(self, inputs: _Inputs, summary: Summary) -> Summary:
        with self.stage("compile"):
            compiled = self.compiled(inputs)
            self.said = f"{compiled.rules:,} rules, {compiled.rejected_count:,} rejected"
        summary = replace(
            summary,
            rules=compiled.rules,
            rules_rejected=compiled.rejected_count,
            rules_version=compiled.version,
            warnings=tuple(compiled.warnings),
        )
        if self.pipeline.rejected_rules is not None:
            with self.stage("rejected rules"):
                write(compiled.rejected, self.pipeline.rejected_rules)
                self.said = f"to {where(self.pipeline.rejected_rules)}"
        return self.matched(inputs.events, compiled, summary)

    def stream(self, inputs: _Inputs, summary: Summary) -> Summary:
        stream = Stream(self.pipeline, self.spark)
        with self.stage("start"):
            stream.start(inputs.events, inputs.schema)
            note = stream.note()
            self.said = f"{note['rules']:,} rules, {note['rejected']:,} rejected"
        with self.stage("match"):
            stream.wait()
            self.said = f"{stream.batches:,} micro-batches to {where(self.pipeline.matches)}"
        with self.stage("count"):
            note = stream.note()  # rules may have changed meanwhile
            counts, warnings = stream.counts(note["rules"])
            self.said = f"{counts.events:,} events, {counts.matches:,} matches"
        return replace(
            summary,
            rules=note["rules"],
            rules_rejected=note["rejected"],
            rules_version=note["version"],
            warnings=warnings,
            counts=counts,
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name, None)
        self.said = ""
        started = perf_counter()
        try:
            yield
        except PipelineError:
            raise
        except Exception as error:
            raise RunError(name, error) from error
        self.stages[name] = perf_counter() - started
        self.progress(name, self.said)

    # What is there

    def open(self) -> _Inputs:
        """Sources and sinks; whatever is missing is said now."""
        pipeline = self.pipeline
        rules = None
        if pipeline.rules.compiled is None:
            rules = open_source(self.spark, pipeline, "rules")
            for key in ("id", "rule", "tags", "priority"):
                check_columns(pipeline, "rules", rules, key)
        events = open_source(self.spark, pipeline, "events")
        for key in ("keep", "attributes"):
            check_columns(pipeline, "events", events, key)
        self.check_sinks()
        events = text_of_binary(events, pipeline.events.attributes)
        try:
            check_operators(self.spark, pipeline.job.operators)
        except MissingOperators as error:
            raise pipeline.error(str(error), "job", "operators") from None
        return _Inputs(rules, events, self.schema())

    def check_sinks(self) -> None:
        pipeline = self.pipeline
        keep = pipeline.events.keep
        for name in keep:
            if name.lower() in (*ADDED["rows"], *ADDED["array"], REASON, UNREADABLE, CORRUPT):
                message = f"keep: {name!r} is the name of a column that is added; use select"
                raise pipeline.error(message, "events", "keep")
        columns = {
            "matches": (*keep, *ADDED[pipeline.matches.output]),
            "rejects": (*keep, REASON, UNREADABLE),
            "rejected_rules": REJECTED_RULES,
        }
        again = pipeline.job.mode == "stream"  # goes on with what it wrote before
        for name, names in columns.items():
            check_sink(self.spark, pipeline, name, names, again)

    def schema(self) -> Schema | None:
        path, compiled = self.pipeline.job.schema, self.pipeline.rules.compiled
        if path is None and self.pipeline.job.check and compiled is None:
            raise self.pipeline.error("check: no schema to hold events to", "job", "check")
        if path is None:
            return None
        try:
            return Schema.load(path)
        except (SchemaError, OSError) as error:
            raise self.pipeline.error(str(error), "job", "schema") from None

    # What is done

    def compiled(self, inputs: _Inputs) -> CompiledRules:
        pipeline = self.pipeline
        given, attributes = pipeline.rules, pipeline.events.attributes
        if inputs.rules is None:
            assert given.compiled is not None
            try:
                compiled = load(self.spark, given.compiled)
            except StoredRulesError as error:
                raise pipeline.error(str(error), "rules", "compiled") from None
            compiled.warnings = compiled.check(inputs.events, attributes)
            return compiled
        statistics = None
        if pipeline.job.profile:
            statistics = profile(inputs.events, attributes=attributes)
        return compile_rules(
            inputs.rules,
            given.id,
            given.rule,
            given.save,
            tags=given.tags,
            priority=given.priority,
            schema=inputs.schema,
            operators=pipeline.job.operators,
            statistics=statistics,
            events=inputs.events,
            attributes=attributes,
        )

    def matched(self, events: DataFrame, compiled: CompiledRules, summary: Summary) -> Summary:
        """Match, count and write: one pass over the events."""
        pipeline = self.pipeline
        keep, job = pipeline.events.keep, pipeline.job
        corrupt = (CORRUPT,) if CORRUPT in events.columns else ()
        frame = match_events(
            events,
            compiled,
            keep=[*keep, *corrupt],
            attributes=pipeline.events.attributes,
            output="array",
            tags=job.tags or None,
            limit=job.limit,
            layout=None if job.layout == "auto" else job.layout,
            rejects=REASON,
            check=job.check,
        )
        if corrupt:
            told = F.when(F.col(CORRUPT).isNotNull(), F.lit("the line cannot be read"))
            frame = frame.withColumn(REASON, F.coalesce(told, F.col(REASON)))
        frame = frame.persist(StorageLevel.DISK_ONLY)
        try:
            with self.stage("match"):
                counts = count_events(frame, F.size("rule_ids"), F.col(REASON).isNotNull())
                self.said = f"{counts.events:,} events, {counts.matches:,} matches"
            good = frame.where(F.col(REASON).isNull())
            kept = [column(name) for name in keep]
            rows = good.select(*kept, F.explode("rule_ids").alias("rule_id"), "rules_version")
            with self.stage("count"):
                counts = count_rules(counts, rows, compiled.rules)
                self.said = f"{counts.rules_matched:,} rules matched"
            with self.stage("write"):
                arrays = good.select(*kept, "rule_ids", "rules_version")
                write(rows if pipeline.matches.output == "rows" else arrays, pipeline.matches)
                self.said = f"to {where(pipeline.matches)}"
            if pipeline.rejects is not None:
                with self.stage("rejects"):
                    write(self.rejects(frame, kept, corrupt), pipeline.rejects)
                    self.said = f"{counts.events_rejected:,} to {where(pipeline.rejects)}"
        finally:
            frame.unpersist()
        return replace(summary, counts=counts)

    def rejects(self, frame: DataFrame, kept: list[Column], corrupt: tuple[str, ...]) -> DataFrame:
        """The events that could not be read, and the line where there is one; always a table."""
        line = F.col(CORRUPT) if corrupt else F.lit(None).cast("string")
        rejected = frame.where(F.col(REASON).isNotNull())
        return rejected.select(*kept, REASON, line.alias(UNREADABLE))

    # What is told

    def report(self, summary: Summary) -> str:
        """The summary and the page of plots, beside the output or where the job says."""
        folder = self.pipeline.job.report or _beside(self.pipeline)
        texts = {"summary.json": summary.to_json(), "page.html": page(summary)}
        if _is_local(folder):
            place = Path(re.sub("^file:(//)?", "", folder))
            place.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8")
            return str(place / "page.html")
        # Where only Spark can write, each is a folder with the text in one part.
        for name, text in texts.items():
            frame = self.spark.createDataFrame([(text,)], "value string").coalesce(1)
            frame.write.mode("overwrite").text(f"{folder.rstrip('/')}/{name}")
        return f"{folder.rstrip('/')}/page.html"


def _beside(pipeline: Pipeline) -> str:
    path = pipeline.matches.path
    return f"{path.rstrip('/')}-report" if path else f"{pipeline.job.name}-report"


def _is_local(folder: str) -> bool:
    return re.match(r"(?!file:)[A-Za-z][\w+.-]+:", folder) is None


def main(arguments: list[str] | None = None) -> int:
    """`python -m matchwood.spark.job pipeline.toml`, and what spark-submit runs."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1:
        print("usage: job pipeline.toml", file=sys.stderr)
        return 2
    try:
        summary = run(given[0], progress=told)
    except PipelineError as error:
        print(f"matchwood: {error}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"matchwood: {error}", file=sys.stderr)
        return 3
    print("\n".join(summary.sentences()))
    return 0


def told(stage: str, done: str | None) -> None:
    """Progress as lines of a log."""
    if done is not None:
        print(f"{stage}: {done}" if done else f"{stage}: done", file=sys.stderr, flush=True)
