"""A pipeline whose events are a stream: it is started, awaited, and counted by what it wrote."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from matchwood.schema import Schema
from matchwood.spark.endpoints import Sink, format_of
from matchwood.spark.pipeline.pipeline_file import Pipeline
from matchwood.spark.pipeline.summary import Counts, count_events, count_rules
from matchwood.spark.stream.changing_rules import UnusableRules
from matchwood.spark.stream.durable_log import DurableLog, Note
from matchwood.spark.stream.sink import BATCH, FILES, MARKS, read_matches
from matchwood.spark.stream.streaming import match_stream

# Seconds between two looks at the progress of a stream.
LOOK_SECONDS = 5
NOT_COUNTED = "matches were not counted: that is done only if [matches] is a folder of files"


class StreamRun:
    """One run of a stream, which begins where the run before ended."""

    def __init__(self, pipeline: Pipeline, spark: SparkSession) -> None:
        self._pipeline = pipeline
        self._spark = spark
        self._read: dict[int, int] = {}  # events by micro-batch
        self._before = {name: self._last(name) for name in ("matches", "rejects")}
        self.query: Any = None

    def start(self, events: DataFrame, schema: Schema | None) -> None:
        pipeline = self._pipeline
        job = pipeline.job
        if not events.isStreaming:
            raise pipeline.error("[events] is a table: expected a stream, or mode = 'batch'", "job")
        assert job.checkpoint is not None
        try:
            self.query = match_stream(
                events,
                pipeline.rules,
                checkpoint=job.checkpoint,
                sink=pipeline.matches,
                keep=pipeline.events.keep,
                attributes=pipeline.events.attributes,
                output=pipeline.matches.output,
                tags=job.tags or None,
                limit=job.limit,
                layout=None if job.layout == "auto" else job.layout,
                rejects=pipeline.rejects,
                rejected_rules=pipeline.rejected_rules,
                schema=schema,
                enforce=job.enforce,
                operators=job.operators,
                poll=job.poll or 0,
                trigger=job.trigger,
                name=job.name,
            )
        except UnusableRules as error:
            raise pipeline.error(f"[rules]: {error}", "rules") from error
        except ValueError as error:
            raise pipeline.error(f"[matches]: {error}", "matches") from error

    def wait(self) -> None:
        """Wait until the query ends, or stop it at a keyboard interrupt."""
        try:
            while not self.query.awaitTermination(LOOK_SECONDS):
                self._look()
        except KeyboardInterrupt:
            self.query.stop()
        self._look()

    def _look(self) -> None:
        for progress in self.query.recentProgress:
            # Through Spark Connect, only the sources have a number of rows.
            rows = sum(source["numInputRows"] for source in progress["sources"])
            self._read[progress["batchId"]] = rows

    @property
    def batches(self) -> int:
        return sum(1 for rows in self._read.values() if rows)

    def note(self) -> Note:
        """What the checkpoint says about the rules: how many there are, and their version."""
        newest = DurableLog(f"{_folder(self._pipeline)}/matchwood/versions").newest(self._spark)
        return newest or {"version": "", "rules": 0, "rejected": 0}

    def counts(self, rules: int) -> tuple[Counts, tuple[str, ...]]:
        """The figures of this run, and warnings of what could not be counted."""
        rejected = self._rows("rejects")
        counts = Counts(
            events=sum(self._read.values()),
            events_rejected=0 if rejected is None else rejected.count(),
        )
        written = self._rows("matches")
        if written is None:
            return counts, (NOT_COUNTED,)
        if self._pipeline.matches.output == "array":
            counted = count_events(written, F.size("rule_ids"), F.lit(False))
            counts = replace(
                counts,
                events_matched=counted.events_matched,
                matches=counted.matches,
                matches_per_event=counted.matches_per_event,
            )
            written = written.select(F.explode("rule_ids").alias("rule_id"))
        counts = count_rules(counts, written, rules)
        return replace(counts, matches=counts.matches or written.count()), ()

    def _rows(self, name: str) -> DataFrame | None:
        """What this run wrote to a folder; None if the sink is not a folder of files."""
        sink: Sink | None = getattr(self._pipeline, name)
        if not _is_folder(sink) or self._last(name) < 0:
            return None
        assert sink is not None
        assert sink.path is not None
        return read_matches(self._spark, sink.path).where(F.col(BATCH) > self._before[name])

    def _last(self, name: str) -> int:
        """The number of the last complete micro-batch in a folder; -1 if there is none."""
        sink: Sink | None = getattr(self._pipeline, name)
        if not _is_folder(sink):
            return -1
        assert sink is not None
        newest = DurableLog(f"{str(sink.path).rstrip('/')}/{MARKS}").newest(self._spark)
        return -1 if newest is None else int(newest["number"])


def _folder(pipeline: Pipeline) -> str:
    return str(pipeline.job.checkpoint).rstrip("/")


def _is_folder(sink: Sink | None) -> bool:
    return sink is not None and sink.path is not None and (format_of(sink) or FILES[0]) in FILES
