"""`run`: runs a pipeline file on a session, stage by stage.

All counts are taken from the frame of matches, which has one row per event and stays on the
executors' disks while it is counted and written. They are therefore the counts of this run,
whatever the sink held before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from matchwood.language.named_lists import ValueList
from matchwood.schema import Schema, SchemaError
from matchwood.spark.compile.compiled_rules import CompiledRules, StoredRulesError, load
from matchwood.spark.compile.compiler import compile_rules
from matchwood.spark.compile.operator_modules import MissingOperators, check_operators
from matchwood.spark.events.event_attributes import column
from matchwood.spark.executors import check_executors
from matchwood.spark.json_lines import CORRUPT, CORRUPT_REASON
from matchwood.spark.kernel_shipping import count_kernels, ship_kernels
from matchwood.spark.match.devices_used import DevicesSince
from matchwood.spark.match.event_matching import match_events
from matchwood.spark.match.given_lists import check_given, values_of
from matchwood.spark.match.plan import EVENTS, ROWS
from matchwood.spark.pipeline.file_output import FileOutput, counts_of, file_output
from matchwood.spark.pipeline.interrupt import Interrupt
from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError
from matchwood.spark.pipeline.preflight import (
    check_columns,
    check_sink,
    open_lists,
    open_source,
    text_if_kept,
    unverified_sources,
)
from matchwood.spark.pipeline.report_page import write_report
from matchwood.spark.pipeline.stream_run import StreamRun
from matchwood.spark.pipeline.summary import Summary, count_events, count_reasons, count_rules
from matchwood.spark.profiling import profile
from matchwood.spark.session import described, is_connect, session_for_work
from matchwood.spark.storage import (
    REASON,
    UNREADABLE,
    corrupt_columns,
    location,
    reason,
    why_corrupt,
    write,
)

# The columns of rejected rules.
REJECTED_RULES = ("id", "rule", "line", "column", "reason")
# The columns that matches have besides those in `keep`, for each output.
ADDED = {ROWS: ("rule_id", "rules_version"), EVENTS: ("rule_ids", "rules_version")}

# Names that columns in `keep` cannot have.
RESERVED = {*ADDED[ROWS], *ADDED[EVENTS], REASON, UNREADABLE, CORRUPT, CORRUPT_REASON}
# A column for a match while its array is taken apart.
_MATCH = "matchwood match"
# The exit code of a run that was interrupted, as shells have it.
INTERRUPTED = 130
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
    told: Callable[[str], None] | None = None,
) -> Summary:
    """Run a pipeline: a file, or a mapping of the same form.

    It runs on the session that is given, or the active one, as it is; if there is neither, one is
    started. Rules and events that cannot be read are counted and go to their sinks; they do not
    stop the run.

    `progress` is called when a stage begins and when it ends, and `told` with a line about each
    micro-batch of a stream. An interrupt (Ctrl-C) ends a stream after the micro-batch that is
    running: the summary is written and returned, and says `interrupted`. Any other stage is
    cancelled, and KeyboardInterrupt raised.
    """
    pipeline = Pipeline.of(config)
    spark = spark or session_for(pipeline)
    with Interrupt(spark) as interrupt:
        return _PipelineRun(pipeline, spark, interrupt, progress, told).all()


def session_for(pipeline: Pipeline) -> SparkSession:
    """The session that a pipeline runs on if none is given."""
    return session_for_work({"spark.app.name": pipeline.job.name, **pipeline.spark})


def _silent(*_: object) -> None:
    pass


@dataclass(frozen=True)
class _Inputs:
    """The opened sources of a run."""

    rules: DataFrame | None  # None if they are compiled already
    events: DataFrame
    schema: Schema | None
    lists: Mapping[str, DataFrame]


class _PipelineRun:
    """One run, and the time that each of its stages took."""

    def __init__(
        self,
        pipeline: Pipeline,
        spark: SparkSession,
        interrupt: Interrupt,
        progress: StageProgress | None,
        told: Callable[[str], None] | None,
    ) -> None:
        self.pipeline = pipeline
        self.spark = spark
        self.interrupt = interrupt
        self.progress = progress or _silent
        self.told = told or _silent
        self.stages: dict[str, float] = {}
        self.outcome = ""

    def all(self) -> Summary:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        job = self.pipeline.job
        summary = Summary(
            job.name,
            job.mode,
            started,
            places=places(self.pipeline),
            warnings=tuple(unverified_sources(self.pipeline)),
        )
        if not is_connect(self.spark) and self.spark.sparkContext.uiWebUrl:
            self.told(f"Spark shows its jobs at {self.spark.sparkContext.uiWebUrl}")
        with self.stage("open"):
            inputs = self.open()
        with self.stage("kernels"):
            kernels = count_kernels(self.spark, ship_kernels(self.spark))
            self.outcome = str(kernels)
        summary = replace(summary, kernels=kernels)
        work = self.stream if job.mode == "stream" else self.batch
        devices = DevicesSince(self.spark)
        summary = work(inputs, summary)
        summary = replace(summary, devices=devices.batches())
        with self.stage("report"):
            self.outcome = write_report(
                self.pipeline, self.spark, replace(summary, stages=dict(self.stages))
            )
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
            warnings=(*summary.warnings, *compiled.warnings),
        )
        if self.pipeline.rejected_rules is not None:
            with self.stage("rejected rules"):
                write(compiled.rejected, self.pipeline.rejected_rules)
                self.outcome = f"to {location(self.pipeline.rejected_rules)}"
        return self.matched(inputs.events, compiled, self.lists(inputs, compiled), summary)

    def stream(self, inputs: _Inputs, summary: Summary) -> Summary:
        stream = StreamRun(self.pipeline, self.spark, self.told)
        with stream.metrics():
            with self.stage("start"):
                stream.start(inputs.events, inputs.schema)
                # From here on an interrupt cancels no jobs: the stream is ended by itself.
                self.interrupt.cancels = False
                note = stream.note()
                self.outcome = f"{note['rules']:,} rules, {note['rejected']:,} rejected"
            with self.stage("match"):
                interrupted = stream.wait(self.interrupt)
                self.interrupt.cancels = True
                sink = location(self.pipeline.matches)
                self.outcome = f"{stream.batches:,} micro-batches to {sink}"
        with self.stage("count"):
            note = stream.note()  # the rules may have changed since the start
            counts, warnings = stream.counts(note["rules"])
            found = "" if counts.matches is None else f", {counts.matches:,} matches"
            self.outcome = f"{counts.events:,} events{found}"
            warnings = (*summary.warnings, *stream.warnings(note), *warnings)
        return replace(
            summary,
            rules=note["rules"],
            rules_rejected=note["rejected"],
            rules_version=note["version"],
            warnings=warnings,
            counts=counts,
            interrupted=interrupted,
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name, None)
        self.outcome = ""
        about = f"{self.pipeline.job.name}: {name}"
        started = perf_counter()
        try:
            with described(self.spark, about, self.interrupt.group):
                if self.interrupt.times and self.interrupt.cancels:
                    raise KeyboardInterrupt
                yield
        except PipelineError:
            raise
        except Exception as error:
            if self.interrupt.times:  # its jobs were cancelled
                raise KeyboardInterrupt from None
            raise RunError(name, error) from error
        self.stages[name] = perf_counter() - started
        self.progress(name, self.outcome)

    # Before the work

    def open(self) -> _Inputs:
        """Open the sources and check the sinks, so that nothing is missing later."""
        pipeline = self.pipeline
        check_executors(self.spark)
        rules = None
        if pipeline.rules.compiled is None:
            rules = open_source(self.spark, pipeline, "rules")
            for key in ("id", "rule", "tags", "priority", "data"):
                check_columns(pipeline, "rules", rules, key)
        events = open_source(self.spark, pipeline, "events")
        for key in ("keep", "attributes"):
            check_columns(pipeline, "events", events, key)
        self.check_sinks()
        events = text_if_kept(events, pipeline.events)
        try:
            check_operators(self.spark, pipeline.job.operators)
        except MissingOperators as error:
            raise pipeline.error(str(error), "job", "operators") from None
        return _Inputs(rules, events, self.schema(), open_lists(self.spark, pipeline))

    def check_sinks(self) -> None:
        pipeline = self.pipeline
        keep = pipeline.events.keep
        for name in keep:
            if name.lower() in RESERVED:
                message = f"keep: {name!r} is the name of a column that is added; use select"
                raise pipeline.error(message, "events", "keep")
        columns = {
            "matches": (*keep, *ADDED[pipeline.matches.output], *pipeline.matches.rule_columns),
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
            aliases = pipeline.events.aliases
            compiled.warnings = compiled.check(inputs.events, attributes, aliases)
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
            data=source.data,
            schema=inputs.schema,
            operators=pipeline.job.operators,
            statistics=statistics,
            events=inputs.events,
            attributes=attributes,
            aliases=pipeline.events.aliases,
            lists=pipeline.lists,
        )

    def lists(self, inputs: _Inputs, compiled: CompiledRules) -> dict[str, ValueList]:
        """The values of the lists that rules name."""
        try:
            check_given(compiled, inputs.lists)
        except ValueError as error:
            raise self.pipeline.error(str(error), "rules", "compiled") from None
        if not compiled.lists:
            return {}
        with self.stage("lists"):
            lists = {name: values_of(name, inputs.lists[name]) for name in compiled.lists}
            self.outcome = ", ".join(map(repr, lists))
        return lists

    def matched(
        self,
        events: DataFrame,
        compiled: CompiledRules,
        lists: dict[str, ValueList],
        summary: Summary,
    ) -> Summary:
        """Match, count and write in one pass over the events."""
        pipeline = self.pipeline
        output = file_output(pipeline, self.spark, events, compiled, lists)
        if output is not None:
            return self.matched_by_files(output, compiled, summary)
        keep, job, about = pipeline.events.keep, pipeline.job, pipeline.matches.rule_columns
        corrupt = tuple(corrupt_columns(events))
        frame = match_events(
            events,
            compiled,
            keep=[*keep, *corrupt],
            attributes=pipeline.events.attributes,
            output=EVENTS,
            tags=job.tags or None,
            limit=job.limit,
            layout=None if job.layout == "auto" else job.layout,
            rejects=REASON,
            enforce=job.enforce,
            aliases=pipeline.events.aliases,
            rule_columns=about,
            lists=lists,
            device=job.device,
        )
        if corrupt:
            frame = frame.withColumn(REASON, F.coalesce(why_corrupt(frame), F.col(REASON)))
        frame = frame.persist(StorageLevel.DISK_ONLY)
        try:
            with self.stage("match"):
                counts = count_events(frame, F.size("rule_ids"), F.col(REASON).isNotNull())
                counts = count_reasons(counts, frame.where(F.col(REASON).isNotNull()), REASON)
                self.outcome = f"{counts.events:,} events, {counts.matches:,} matches"
            good = frame.where(F.col(REASON).isNull())
            kept = [column(name) for name in keep]
            with self.stage("count"):
                matched = good.select(F.explode("rule_ids").alias("rule_id"))
                counts = count_rules(counts, matched, compiled.rules)
                self.outcome = f"{counts.rules_matched:,} rules matched"
            with self.stage("write"):
                arrays = good.select(*kept, "rule_ids", *about, "rules_version")
                by_match = pipeline.matches.output == ROWS
                write(_rows(arrays, kept, about) if by_match else arrays, pipeline.matches)
                self.outcome = f"to {location(pipeline.matches)}"
            if pipeline.rejects is not None:
                with self.stage("rejects"):
                    write(self.rejects(frame, kept, corrupt), pipeline.rejects)
                    self.outcome = f"{counts.events_rejected:,} to {location(pipeline.rejects)}"
        finally:
            frame.unpersist()
        return replace(summary, counts=counts)

    def matched_by_files(
        self, output: FileOutput, compiled: CompiledRules, summary: Summary
    ) -> Summary:
        """The same with workers that write the matches, and count them meanwhile."""
        pipeline = self.pipeline
        with ExitStack() as stack:
            with self.stage("match"):
                rejected, facts = stack.enter_context(output.matched())
                counts = counts_of(facts, compiled)
                counts = count_reasons(counts, rejected, REASON)
                self.outcome = f"{counts.events:,} events, {counts.matches:,} matches"
            with self.stage("write"):
                output.put_in_place(facts)
                self.outcome = f"to {location(pipeline.matches)}"
            if pipeline.rejects is not None:
                with self.stage("rejects"):
                    kept = [column(name) for name in pipeline.events.keep]
                    write(self.rejects(rejected, kept, ()), pipeline.rejects)
                    self.outcome = f"{counts.events_rejected:,} to {location(pipeline.rejects)}"
        return replace(summary, counts=counts)

    def rejects(self, frame: DataFrame, kept: list[Column], corrupt: tuple[str, ...]) -> DataFrame:
        """The events that could not be read, with the line if it was Spark that could not."""
        line = F.col(CORRUPT) if corrupt else F.lit(None).cast("string")
        rejected = frame.where(F.col(REASON).isNotNull())
        return rejected.select(*kept, REASON, line.alias(UNREADABLE))


def _rows(arrays: DataFrame, kept: list[Column], about: Sequence[str]) -> DataFrame:
    """A row per match of events that have arrays of rules, and arrays of what is known of them."""
    if not about:
        return arrays.select(*kept, F.explode("rule_ids").alias("rule_id"), "rules_version")
    matches = arrays.select(
        *kept, F.explode(F.arrays_zip("rule_ids", *about)).alias(_MATCH), "rules_version"
    )
    fields = [F.col(_MATCH)[name].alias(name) for name in about]
    return matches.select(
        *kept, F.col(_MATCH)["rule_ids"].alias("rule_id"), *fields, "rules_version"
    )


def places(pipeline: Pipeline) -> dict[str, str]:
    """Where rows come from and go to, by section, without passwords."""
    sections = ("rules", "events", "matches", "rejects", "rejected_rules")
    ends = {name: end for name in sections if (end := getattr(pipeline, name)) is not None}
    ends |= {f"lists.{name}": source for name, source in pipeline.lists.items()}
    return {name: re.sub(r"//[^/@]*@", "//…@", location(end)) for name, end in ends.items()}
