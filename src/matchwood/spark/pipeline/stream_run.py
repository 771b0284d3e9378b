"""A pipeline whose events are a stream: it is started, awaited, and counted by what it wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Thread
from time import sleep, time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from matchwood.language.aliases import aliases_of
from matchwood.schema import Schema
from matchwood.spark.endpoints import Sink, format_of
from matchwood.spark.events.event_attributes import problems
from matchwood.spark.match.plan import EVENTS
from matchwood.spark.pipeline.interrupt import Interrupt
from matchwood.spark.pipeline.pipeline_file import Pipeline
from matchwood.spark.pipeline.stream_metrics import MetricsServer, StreamMetrics, address_of
from matchwood.spark.pipeline.summary import (
    REASONS,
    Counts,
    count_events,
    count_reasons,
    count_rules,
)
from matchwood.spark.session import is_connect
from matchwood.spark.storage import REASON
from matchwood.spark.stream.changing_rules import UnusableRules
from matchwood.spark.stream.durable_log import DurableLog, Note
from matchwood.spark.stream.rule_places import RulePlaces
from matchwood.spark.stream.sink import BATCH, FILES, MARKS, read_matches
from matchwood.spark.stream.streaming import BatchFigures, match_stream

# Seconds between two looks at a stream, and so until an interrupt is noticed.
LOOK_SECONDS = 0.5
# In Spark's connector of Kafka before 4.1.3, the first micro-batch after a restart may fail when
# it is complete, while its figures are collected (SPARK-55271). The restart after that goes on.
FAULTY_CALL = (
    'Cannot invoke "scala.collection.IterableOps.map(scala.Function1)" because the return value '
    'of "scala.Option.get()" is null'
)
FAULT = (
    "the stream was ended by a mistake in Spark's connector of Kafka (SPARK-55271, mended in "
    "4.1.3); going on"
)
NOT_COUNTED = (
    "matches were not counted: through Spark Connect, that is done only if [matches] is a folder "
    "of files"
)


class StreamRun:
    """One run of a stream, which begins where the run before ended."""

    def __init__(
        self, pipeline: Pipeline, spark: SparkSession, told: Callable[[str], None]
    ) -> None:
        self._pipeline = pipeline
        self._spark = spark
        self._told = told
        self._read: dict[int, int] = {}  # events by micro-batch
        self._written: dict[int, BatchFigures] = {}  # by micro-batch; empty through Connect
        self._before = {name: self._last(name) for name in ("matches", "rejects")}
        self._versions = DurableLog(f"{_folder(pipeline)}/matchwood/versions")
        self._schema: StructType | None = None
        self._looked: object = None  # the last progress that was looked at
        self._start: Callable[[], Any] | None = None  # begins the query, or goes on with it
        self._restarted = False
        self._metrics = StreamMetrics(pipeline.job.name)
        self.query: Any = None

    @contextmanager
    def metrics(self) -> Iterator[None]:
        """Show the figures to Prometheus meanwhile, if the pipeline says where."""
        address = self._pipeline.job.metrics
        if address is None:
            yield
            return
        try:
            server = MetricsServer(self._metrics, address_of(address))
        except (ValueError, OSError) as error:
            raise self._pipeline.error(f"metrics: {error}", "job", "metrics") from error
        self._told(f"figures for Prometheus are at {server.url}")
        try:
            yield
        finally:
            server.close()

    def start(self, events: DataFrame, schema: Schema | None) -> None:
        pipeline = self._pipeline
        job = pipeline.job
        if not events.isStreaming:
            raise pipeline.error("[events] is a table: expected a stream, or mode = 'batch'", "job")
        assert job.checkpoint is not None
        self._schema = events.schema
        self._start = partial(
            match_stream,
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
            aliases=pipeline.events.aliases,
            rule_columns=pipeline.matches.rule_columns,
            device=job.device,
            operators=job.operators,
            lists=pipeline.lists,
            poll=job.poll or 0,
            trigger=job.trigger,
            name=job.name,
            report=None if is_connect(self._spark) else self._report,
        )
        try:
            self.query = self._start()
        except UnusableRules as error:
            raise pipeline.error(f"[rules]: {error}", "rules") from error
        except ValueError as error:
            raise pipeline.error(f"[matches]: {error}", "matches") from error

    def _report(self, figures: BatchFigures) -> None:
        self._written[figures.number] = figures

    def wait(self, interrupt: Interrupt) -> bool:
        """Wait until the query ends; returns whether an interrupt ended it.

        It ends after the micro-batch that is running, or at once at a second interrupt.
        """
        while not self._ended():
            self._look()
            if interrupt.times:
                self._stop(interrupt)
                break
        self._look()
        interrupted = interrupt.times > 0
        interrupt.times = 0
        return interrupted

    def _ended(self) -> bool:
        """Whether the query has ended by itself, after a look at it for some time."""
        try:
            return bool(self.query.awaitTermination(LOOK_SECONDS))
        except Exception as error:
            of_kafka = self._pipeline.events.format == "kafka"
            if self._restarted or not of_kafka or FAULTY_CALL not in str(error):
                raise
        assert self._start is not None
        self._restarted = True
        self._told(FAULT)
        self.query = self._start()
        return False

    def _stop(self, interrupt: Interrupt) -> None:
        """Stop the query when a micro-batch is complete, or at once at a second interrupt."""
        self._told("interrupted: ending after this micro-batch; interrupt again to end at once")
        before = self._progressed()
        while interrupt.times == 1 and self.query.isActive:
            if self._progressed() != before or self._is_waiting():
                break
            sleep(LOOK_SECONDS / 5)
        if interrupt.times == 1 or is_connect(self._spark):
            self.query.stop()
        else:
            self._stop_at_once()

    def _stop_at_once(self) -> None:
        """Stop the query, and cancel what its micro-batch does until it has ended.

        Spark cancels the jobs of that moment and interrupts the thread of the query, which may be
        between two jobs, or in code that takes no notice: the micro-batch then runs to its end.
        """
        stopping = Thread(target=self.query.stop, daemon=True)
        stopping.start()
        while stopping.is_alive():
            self._spark.sparkContext.cancelJobGroup(str(self.query.runId))
            stopping.join(LOOK_SECONDS)

    def _is_waiting(self) -> bool:
        """Whether no micro-batch is running, nor about to: the query waits for data or for time."""
        return str(self.query.status["message"]).startswith("Waiting")

    def _progressed(self) -> object:
        """What differs once another micro-batch is complete."""
        last = self.query.lastProgress
        return None if last is None else (last["batchId"], last["timestamp"])

    def _look(self) -> None:
        """Note the figures of micro-batches that are complete, and tell those that are new."""
        progressed = self._progressed()
        if progressed == self._looked:
            return
        self._looked = progressed
        for progress in self.query.recentProgress:
            # Through Spark Connect, only the sources have a number of rows.
            rows = sum(source["numInputRows"] for source in progress["sources"])
            number = progress["batchId"]
            figures = self._written.get(number)
            if figures is not None and figures.events is not None:
                rows = figures.events
            if rows and number not in self._read:
                self._read[number] = rows
                if is_connect(self._spark):
                    figures = self._read_back(number)
                self._note(number, rows, progress, figures)
                self._told(self._line(number, rows, progress, figures))

    def _read_back(self, number: int) -> BatchFigures | None:
        """What a micro-batch has left, where nobody tells: its version of the rules and matches."""
        note = self._versions.note(self._spark, number)
        if note is None:
            return None
        sink, matches = self._pipeline.matches, None
        if _is_folder(sink):
            counted = F.sum(F.size("rule_ids")) if sink.output == EVENTS else F.count(F.lit(1))
            rows = read_matches(self._spark, str(sink.path)).where(F.col(BATCH) == number)
            matches = rows.agg(counted).collect()[0][0] or 0
        return BatchFigures(number, note["version"], None, matches, None, None)

    def _note(self, number: int, rows: int, progress: Any, figures: BatchFigures | None) -> None:
        """Note the figures of a micro-batch for Prometheus."""
        metrics = self._metrics
        metrics.count(micro_batches=1, events=rows)
        metrics.note("micro_batch", number)
        metrics.note("micro_batch_seconds", _seconds(progress))
        metrics.note("micro_batch_end_seconds", time())
        if figures is not None:
            metrics.count(matches=figures.matches, rejected_events=figures.rejected)
            metrics.note("rules", 1, version=figures.rules_version)
        for source in progress["sources"]:
            if behind := _behind(source):
                metrics.note("behind", behind[0], unit=behind[1])

    def _line(self, number: int, rows: int, progress: Any, figures: BatchFigures | None) -> str:
        """One line about a micro-batch: how much, how fast, which rules, and how far behind."""
        line = [f"batch {number}: {rows:,} events"]
        if figures is not None and figures.matches is not None:
            line.append(f"{figures.matches:,} matches")
        if figures is not None and figures.rejected:
            line.append(f"{figures.rejected:,} rejected")
        seconds = _seconds(progress)
        line.append(f"{seconds:,.1f} s, {rows / max(seconds, 0.001):,.0f} events per second")
        if figures is not None:
            line.append(f"rules {figures.rules_version[:12]}")
        lags = [lag for source in progress["sources"] if (lag := _behind(source))]
        return ", ".join([*line, *(f"{amount:,} {unit} behind" for amount, unit in lags)])

    @property
    def batches(self) -> int:
        return len(self._read)

    def note(self) -> Note:
        """What the checkpoint says about the rules: how many there are, and their version."""
        return self._versions.newest(self._spark) or {"version": "", "rules": 0, "rejected": 0}

    def warnings(self, note: Note) -> tuple[str, ...]:
        """What the rules ask for and the events cannot have."""
        assert self._schema is not None
        places = RulePlaces(f"{_folder(self._pipeline)}/matchwood")
        asked = places.attributes(self._spark, note)
        events = self._pipeline.events
        aliases = aliases_of(events.aliases)
        return tuple(problems(self._schema, events.attributes, asked, aliases))

    def counts(self, rules: int) -> tuple[Counts, tuple[str, ...]]:
        """The figures of this run, and warnings of what could not be counted."""
        figures = self._written.values()
        rejected = self._rows("rejects")
        counts = Counts(
            events=sum(self._read.values()),
            events_rejected=_total(one.rejected for one in figures)
            if rejected is None
            else rejected.count(),
            matches=_total(one.matches for one in figures),
        )
        if rejected is not None:
            counts = count_reasons(counts, rejected, REASON)
        elif counts.events_rejected is not None:
            reasons = Counter[str]()
            for one in figures:
                reasons.update(one.reasons or {})
            counts = replace(counts, reject_reasons=tuple(reasons.most_common(REASONS)))
        written = self._rows("matches")
        if written is None:
            if counts.events == 0:
                return replace(counts, matches=0), ()
            return counts, (NOT_COUNTED,) if counts.matches is None else ()
        if self._pipeline.matches.output == EVENTS:
            counted = count_events(written, F.size("rule_ids"), F.lit(False))
            counts = replace(
                counts,
                events_matched=counted.events_matched,
                matches=counted.matches,
                matches_per_event=counted.matches_per_event,
            )
            written = written.select(F.explode("rule_ids").alias("rule_id"))
            return count_rules(counts, written, rules), ()
        return replace(count_rules(counts, written, rules), matches=written.count()), ()

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


def _total(figures: Iterable[int | None]) -> int | None:
    """The sum of figures; None if there are none, or one of them is not known."""
    known = list(figures)
    return None if not known or None in known else sum(one for one in known if one is not None)


def _seconds(progress: Mapping[str, Any]) -> float:
    """The seconds that a micro-batch took; Spark 3.5 says so among its stages."""
    if "batchDuration" in progress:
        return float(progress["batchDuration"]) / 1000
    return float(progress["durationMs"].get("triggerExecution", 0)) / 1000


# What sources tell about what is not read yet, and its unit: Kafka and Delta.
_LAGS = {"maxOffsetsBehindLatest": "offsets", "numFilesOutstanding": "files"}


def _behind(source: Mapping[str, Any]) -> tuple[int, str] | None:
    """How much of a source is not read yet, and its unit, if the source tells."""
    metrics = source.get("metrics") or {}
    known = ((int(float(metrics[key])), unit) for key, unit in _LAGS.items() if key in metrics)
    return next(known, None)


def _folder(pipeline: Pipeline) -> str:
    return str(pipeline.job.checkpoint).rstrip("/")


def _is_folder(sink: Sink | None) -> bool:
    return sink is not None and sink.path is not None and (format_of(sink) or FILES[0]) in FILES
