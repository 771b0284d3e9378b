"""`run`: runs a pipeline file on a session, stage by stage.

All counts are taken from the frame of matches, which has one row per event and stays on the
executors' disks while it is counted and written. They are therefore the counts of this run,
whatever the sink held before.
"""

from __future__ import annotations

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
from matchwood.spark.compile.compiled_rules import CompiledRules, StoredRulesError, load
from matchwood.spark.compile.compiler import compile_rules
from matchwood.spark.compile.operator_modules import MissingOperators, check_operators
from matchwood.spark.events.event_attributes import column
from matchwood.spark.kernel_shipping import count_kernels, ship_kernels
from matchwood.spark.match.event_matching import match_events
from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError
from matchwood.spark.pipeline.preflight import (
    check_columns,
    check_sink,
    open_source,
    text_of_binary,
)
from matchwood.spark.pipeline.report_page import page
from matchwood.spark.pipeline.stream_run import StreamRun
from matchwood.spark.pipeline.summary import Summary, count_events, count_rules
from matchwood.spark.profiling import profile
from matchwood.spark.session import session_for_work
from matchwood.spark.storage import CORRUPT, REASON, UNREADABLE, location, reason, write

# The columns of rejected rules.
REJECTED_RULES = ("id", "rule", "line", "column", "reason")
# The columns that matches have besides those in `keep`, for each output.
ADDED = {"rows": ("rule_id", "rules_version"), "array": ("rule_ids", "rules_version")}

# Called with the name of a stage and None when it begins, and with what it did when it ends.
StageProgress = Callable[[str, str | None], None]


class RunError(RuntimeError):
    """A stage of a run failed: `stage` says which one, `__cause__` is what Spark raised."""

    def __init__(self, stage: str, cause: BaseException) -> None:
        super().__init__(f"the stage {stage!r} failed: {reason(cause)}")
        self.stage = stage


def run(
    config: str | Path | Mapping[str, Any] | Pipeline,
    spark: SparkSession | None = None,
    *,
    progress: StageProgress | None = None,
) -> Summary:
    """Run a pipeline: a file, or a mapping of the same form.

    It runs on the session that is given, or the active one, as it is; if there is neither, one is
    started. Rules and events that cannot be read are counted and go to their sinks; they do not
    stop the run.
    """
    pipeline = Pipeline.of(config)
    return _PipelineRun(pipeline, spark or session_for(pipeline), progress or _silent).all()


def session_for(pipeline: Pipeline) -> SparkSession:
    """The session that a pipeline runs on if none is source."""
    return session_for_work({"spark.app.name": pipeline.job.name, **pipeline.spark})


def _silent(stage: str, done: str | None) -> None:
    pass


@dataclass(frozen=True)
class _Inputs:
    """The opened sources of a run."""

    rules: DataFrame | None  # None if they are compiled already
    events: DataFrame
    schema: Schema | None


class _PipelineRun:
    """One run, and the time that each of its stages took."""

    def __init__(self, pipeline: Pipeline, spark: SparkSession, progress: StageProgress) -> None:
        self.pipeline = pipeline
        self.spark = spark
        self.progress = progress
        self.stages: dict[str, float] = {}
        self.outcome = ""

    def all(self) -> Summary:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        job = self.pipeline.job
        summary = Summary(job.name, job.mode, started)
        with self.stage("open"):
            inputs = self.open()
        with self.stage("kernels"):
            kernels = count_kernels(self.spark, ship_kernels(self.spark))
            self.outcome = str(kernels)
        summary = replace(summary, kernels=kernels)
        work = self.stream if job.mode == "stream" else self.batch
        summary = work(inputs, summary)
        with self.stage("report"):
            self.outcome = self.report(replace(summary, stages=dict(self.stages)))
        return replace(summary, stages=dict(self.stages))

    def batch(self, inputs: _Inputs, summary: Summary) -> Summary:
        with self.stage("compile"):
            compiled = self.compiled(inputs)
            self.outcome = f"{compiled.rules:,} rules, {compiled.rejected_count:,} rejected"
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
                self.outcome = f"to {location(self.pipeline.rejected_rules)}"
        return self.matched(inputs.events, compiled, summary)

    def stream(self, inputs: _Inputs, summary: Summary) -> Summary:
        stream = StreamRun(self.pipeline, self.spark)
        with self.stage("start"):
            stream.start(inputs.events, inputs.schema)
            note = stream.note()
            self.outcome = f"{note['rules']:,} rules, {note['rejected']:,} rejected"
        with self.stage("match"):
            stream.wait()
            self.outcome = f"{stream.batches:,} micro-batches to {location(self.pipeline.matches)}"
        with self.stage("count"):
            note = stream.note()  # the rules may have changed since the start
            counts, warnings = stream.counts(note["rules"])
            self.outcome = f"{counts.events:,} events, {counts.matches:,} matches"
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
        self.outcome = ""
        started = perf_counter()
        try:
            yield
        except PipelineError:
            raise
        except Exception as error:
            raise RunError(name, error) from error
        self.stages[name] = perf_counter() - started
        self.progress(name, self.outcome)

    # Before the work

    def open(self) -> _Inputs:
        """Open the sources and check the sinks, so that nothing is missing later."""
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
        again = pipeline.job.mode == "stream"  # a stream continues what it wrote before
        for name, names in columns.items():
            check_sink(self.spark, pipeline, name, names, again)

    def schema(self) -> Schema | None:
        path, compiled = self.pipeline.job.schema, self.pipeline.rules.compiled
        if path is None and self.pipeline.job.enforce and compiled is None:
            message = "enforce: there is no schema to hold events to"
            raise self.pipeline.error(message, "job", "enforce")
        if path is None:
            return None
        try:
            return Schema.load(path)
        except (SchemaError, OSError) as error:
            raise self.pipeline.error(str(error), "job", "schema") from None

    # The work

    def compiled(self, inputs: _Inputs) -> CompiledRules:
        pipeline = self.pipeline
        source, attributes = pipeline.rules, pipeline.events.attributes
        if inputs.rules is None:
            assert source.compiled is not None
            try:
                compiled = load(self.spark, source.compiled)
            except StoredRulesError as error:
                raise pipeline.error(str(error), "rules", "compiled") from None
            compiled.warnings = compiled.check(inputs.events, attributes)
            return compiled
        statistics = None
        if pipeline.job.profile:
            statistics = profile(inputs.events, attributes=attributes)
        return compile_rules(
            inputs.rules,
            source.id,
            source.rule,
            source.save,
            tags=source.tags,
            priority=source.priority,
            schema=inputs.schema,
            operators=pipeline.job.operators,
            statistics=statistics,
            events=inputs.events,
            attributes=attributes,
        )

    def matched(self, events: DataFrame, compiled: CompiledRules, summary: Summary) -> Summary:
        """Match, count and write in one pass over the events."""
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
            enforce=job.enforce,
        )
        if corrupt:
            why = F.when(F.col(CORRUPT).isNotNull(), F.lit("the line cannot be read"))
            frame = frame.withColumn(REASON, F.coalesce(why, F.col(REASON)))
        frame = frame.persist(StorageLevel.DISK_ONLY)
        try:
            with self.stage("match"):
                counts = count_events(frame, F.size("rule_ids"), F.col(REASON).isNotNull())
                self.outcome = f"{counts.events:,} events, {counts.matches:,} matches"
            good = frame.where(F.col(REASON).isNull())
            kept = [column(name) for name in keep]
            rows = good.select(*kept, F.explode("rule_ids").alias("rule_id"), "rules_version")
            with self.stage("count"):
                counts = count_rules(counts, rows, compiled.rules)
                self.outcome = f"{counts.rules_matched:,} rules matched"
            with self.stage("write"):
                arrays = good.select(*kept, "rule_ids", "rules_version")
                write(rows if pipeline.matches.output == "rows" else arrays, pipeline.matches)
                self.outcome = f"to {location(pipeline.matches)}"
            if pipeline.rejects is not None:
                with self.stage("rejects"):
                    write(self.rejects(frame, kept, corrupt), pipeline.rejects)
                    self.outcome = f"{counts.events_rejected:,} to {location(pipeline.rejects)}"
        finally:
            frame.unpersist()
        return replace(summary, counts=counts)

    def rejects(self, frame: DataFrame, kept: list[Column], corrupt: tuple[str, ...]) -> DataFrame:
        """The events that could not be read, with the line if it was Spark that could not."""
        line = F.col(CORRUPT) if corrupt else F.lit(None).cast("string")
        rejected = frame.where(F.col(REASON).isNotNull())
        return rejected.select(*kept, REASON, line.alias(UNREADABLE))

    # After the work

    def report(self, summary: Summary) -> str:
        """Write the summary and the page of plots, and return where the page is."""
        folder = self.pipeline.job.report or _beside(self.pipeline)
        texts = {"summary.json": summary.to_json(), "page.html": page(summary)}
        if _is_local(folder):
            local = Path(re.sub("^file:(//)?", "", folder))
            local.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (local / name).write_text(text, encoding="utf-8")
            return str(local / "page.html")
        # Where only Spark can write, each text becomes a folder with one part.
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
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: job pipeline.toml", file=sys.stderr)
        return 2
    try:
        summary = run(arguments[0], progress=log_line)
    except PipelineError as error:
        print(f"matchwood: {error}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"matchwood: {error}", file=sys.stderr)
        return 3
    print("\n".join(summary.sentences()))
    return 0


def log_line(stage: str, done: str | None) -> None:
    """Print progress as lines of a log."""
    if done is not None:
        print(f"{stage}: {done}" if done else f"{stage}: done", file=sys.stderr, flush=True)
