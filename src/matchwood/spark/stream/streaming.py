"""`match_stream`: a stream of events against rules that change between micro-batches.

The function given to `foreachBatch` is an object that can be pickled: with Spark Connect it runs on
the server, in another process. All its state is in its fields, in the checkpoint and in the sinks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from matchwood.language.aliases import Aliases, AliasForm, aliases_of
from matchwood.schema import Schema
from matchwood.spark.compile.compiled_rules import CompiledRules, new_folder
from matchwood.spark.endpoints import RowSource, RuleSource, Sink
from matchwood.spark.events.event_attributes import column
from matchwood.spark.json_lines import CORRUPT
from matchwood.spark.match.event_matching import MEMORY, match_events
from matchwood.spark.match.given_lists import PickledList
from matchwood.spark.match.plan import ROWS
from matchwood.spark.session import described, session_of
from matchwood.spark.storage import REASON, UNREADABLE, corrupt_columns, why_corrupt
from matchwood.spark.stream.batch_counts import BatchCounter, WrittenCounts
from matchwood.spark.stream.changing_rules import ChangingRules, source_of
from matchwood.spark.stream.sink import (
    BATCH,
    FileSink,
    SinkFunction,
    StreamSink,
    read_matches,
    sink_of,
)

__all__ = ["match_stream", "read_matches"]

# The trigger that ends the query when all events that are there have been matched.
AVAILABLE_NOW = "availableNow"
# A server of Spark Connect gives the process that it starts for `foreachBatch` ten seconds to
# connect, which cannot be set and is too short for a busy machine. Nothing has begun then.
TOO_SLOW = "failed to connect back"
ATTEMPTS = 4
log = logging.getLogger("matchwood.spark.stream")


def match_stream(
    events: DataFrame,
    rules: str | RuleSource,
    *,
    checkpoint: str,
    sink: str | Sink | SinkFunction,
    keep: Sequence[str],
    attributes: str | None = None,
    output: str = ROWS,
    tags: Iterable[str] | None = None,
    limit: int | None = None,
    layout: str | None = None,
    memory: int = MEMORY,
    rejects: str | Sink | SinkFunction | None = None,
    rejected_rules: str | Sink | None = None,
    schema: Schema | None = None,
    enforce: bool = False,
    aliases: Aliases | AliasForm | None = None,
    rule_columns: Sequence[str] = (),
    device: str | None = None,
    operators: str | None = None,
    lists: Mapping[str, RowSource] | None = None,
    poll: float = 0.0,
    trigger: str | None = None,
    name: str | None = None,
    report: Callable[[BatchFigures], None] | None = None,
) -> Any:
    """Start a streaming query that matches events with rules, and return Spark's StreamingQuery.

    `rules` is a folder of rules (Parquet, ORC, JSON or CSV with the columns `id` and `rule`), a
    folder of compiled rules, or a table; a `RuleSource(…)` says more. It is checked before each
    micro-batch, but at most every `poll` seconds, and compiled if it has changed. If new rules
    cannot be used, a warning is logged and the stream goes on with the rules that it has.

    `sink` is a folder, which has each match exactly once however often the query is killed and
    started again with this `checkpoint`; `read_matches` reads it. So has a table of Delta or
    Iceberg. Any other `Sink(…)`, or a function of the rows and the number of the micro-batch, gets
    each match at least once, with the column `batch` to recognise repetitions. `rejects` takes the
    events that cannot be read, with the column `reason`; `rejected_rules` takes the rules that
    cannot, with one folder per version.

    `operators` is the import path of a module whose operators rules may call; executors import it.
    `lists` says where the values of each list are that rules name with `in list`: a `RowSource(…)`
    of one column, which is looked at before each micro-batch, like the rules. With `enforce`,
    events that break the `schema` go to `rejects` too. `trigger` is an interval such as
    "10 seconds", or "availableNow" to end when all events have been matched. `report` is called
    with the figures of each micro-batch that was written; through Connect, it runs on the server.
    The other arguments are those of `match_events`.
    """
    if not events.isStreaming:
        raise ValueError("the events are not a stream; match_events is for tables")
    if enforce and schema is None:
        raise ValueError("enforce: there is no schema to hold events to")
    _check_arguments(keep, checkpoint, sink, rejects)
    source, folder = source_of(session_of(events), rules), f"{checkpoint.rstrip('/')}/matchwood"
    rejected = Sink(path=rejected_rules) if isinstance(rejected_rules, str) else rejected_rules
    work = MicroBatches(
        tuple(keep),
        attributes,
        {
            "output": output, "layout": layout, "memory": memory, "enforce": enforce,
            "tags": None if tags is None else tuple(tags), "limit": limit, "device": device,
            "aliases": aliases_of(aliases), "rule_columns": _names(rule_columns, "rule_columns"),
        },
        ChangingRules(source, folder, schema, poll, rejected, operators, _sources(lists)),
        sink_of(sink),
        None if rejects is None else sink_of(rejects),
        report,
        name or "matchwood",
    )  # fmt: skip
    work.begin(events)
    return _start(events, work, checkpoint, trigger, name)


def _start(
    events: DataFrame, work: MicroBatches, checkpoint: str, trigger: str | None, name: str | None
) -> Any:
    """Start the query that hands each micro-batch to `work`."""
    writer = events.writeStream.foreachBatch(work).option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    elif trigger is not None:
        writer = writer.trigger(processingTime=trigger)
    for attempt in range(1, ATTEMPTS):
        try:
            return writer.start()
        except PySparkException as error:
            if TOO_SLOW not in str(error):
                raise
            log.warning("Spark's Python process was too slow to start (attempt %d)", attempt)
    return writer.start()


def _names(names: Iterable[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{what} is a list of names, found the string {names!r}")
    return tuple(names)


def _sources(lists: Mapping[str, RowSource] | None) -> Mapping[str, RowSource]:
    for name, source in (lists or {}).items():
        if not isinstance(source, RowSource):
            raise TypeError(
                f"the list {name!r}: a stream reads it from a RowSource(…) of "
                f"matchwood.spark.endpoints, found {type(source).__name__}"
            )
    return lists or {}


def _check_arguments(keep: Sequence[str], checkpoint: str, *sinks: object) -> None:
    _names(keep, "keep")
    for kept in keep:
        if kept.lower() in (BATCH, REASON, UNREADABLE, CORRUPT):
            raise ValueError(f"keep: {kept!r} is the name of a column that is added; rename yours")
    paths = [sink if isinstance(sink, str) else getattr(sink, "path", None) for sink in sinks]
    tables = [getattr(sink, "table", None) for sink in sinks]
    places = [path.rstrip("/") for path in (checkpoint, *paths, *tables) if path is not None]
    if len(set(places)) < len(places):
        raise ValueError("checkpoint, sink and rejects need a folder each, or a table each")


class BatchFigures(NamedTuple):
    """What was written of one micro-batch; None for what could not be counted."""

    number: int
    rules_version: str
    events: int | None
    matches: int | None
    rejected: int | None
    reasons: Mapping[str, int] | None  # of rejects: how many there are of each kind


class MicroBatches:
    """Matches and writes each micro-batch; pickled to wherever micro-batches run."""

    def __init__(
        self,
        keep: tuple[str, ...],
        attributes: str | None,
        options: dict[str, Any],
        rules: ChangingRules,
        matches: StreamSink,
        rejects: StreamSink | None,
        report: Callable[[BatchFigures], None] | None = None,
        name: str = "matchwood",
    ) -> None:
        self._report = report
        self._name = name
        self._counter = BatchCounter(options["output"])
        self._keep = keep
        self._attributes = attributes
        self._options = options
        self._rules = rules
        self._matches = matches
        self._rejects = rejects
        self._compared: str | None = None  # the version whose attributes were compared with events

    def begin(self, events: DataFrame) -> None:
        """Raise an error for unusable rules, columns or sinks before the query starts."""
        spark = session_of(events)
        note = self._rules.begin(spark)
        none = without_rules(spark, note["id_type"], self._rules.schema)
        matched, corrupt = self._rows(events, none)
        self._matches.begin(spark, note["stream"], matched.drop(REASON).schema)
        if self._rejects is not None:
            self._rejects.begin(spark, note["stream"], self._rejected(matched, corrupt).schema)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Match and write one micro-batch."""
        spark = session_of(batch)
        sinks = [sink for sink in (self._matches, self._rejects) if sink is not None]
        if all(sink.done(spark, number) for sink in sinks):
            log.info("batch %d: was complete already", number)
            return
        with self._described(spark, number, "rules"):
            compiled = self._rules.for_batch(spark, number)
            self._warn(batch, compiled)
            lists = self._rules.lists(spark)
        matched, corrupt = self._rows(batch, compiled, lists)
        told = self._rejects is not None or self._report is not None
        # Lines that cannot be read are taken from the same rows: if the source were read once more,
        # Spark would count its rows twice.
        events = None
        with persisted(batch) if told and corrupt is not None else nullcontext():
            written = self._written(matched, corrupt, number)
            if self._report is not None and (corrupt is not None or written.twice):
                events = batch.count()  # Spark's own figure counts blank lines, and rows twice
        if self._report is not None:
            told_of = (events, written.matches, written.rejected, written.reasons)
            self._report(BatchFigures(number, compiled.version, *told_of))

    def _written(self, matched: DataFrame, corrupt: DataFrame | None, number: int) -> WrittenCounts:
        """Write a micro-batch; returns the matches and rejects in it, if they are to be told."""
        spark, told, good = session_of(matched), self._report is not None, _good(matched)
        if self._rejects is None and not told:
            with self._described(spark, number, "matches"):
                self._matches.write(good, number)
            return WrittenCounts()
        if self._rejects is None and self._observable(good, number):
            # The figures come with the job that writes, which costs less than to keep the rows.
            observed = Observation()
            seen = matched.observe(observed, *self._counter.columns())
            with self._described(spark, number, "matches"):
                self._matches.write(_good(seen), number)
                return self._counter.counts(observed.get, matched, corrupt)
        with persisted(matched):
            with self._described(spark, number, "matches"):
                self._matches.write(good, number)
            if self._rejects is not None:
                with self._described(spark, number, "rejects"):
                    self._rejects.write(self._rejected(matched, corrupt), number)
            if not told:
                return WrittenCounts()
            with self._described(spark, number, "count"):
                row = matched.agg(*self._counter.columns()).collect()[0]
                written = self._counter.counts(row.asDict(), matched, corrupt)
                return written._replace(twice=False)  # but kept

    def _described(
        self, spark: SparkSession, number: int, what: str
    ) -> AbstractContextManager[None]:
        return described(spark, f"{self._name}: batch {number}, {what}")

    def _observable(self, frame: DataFrame, number: int) -> bool:
        """Whether writing to the sink of matches is a job of Spark that reports what it saw."""
        sink = self._matches
        return isinstance(sink, FileSink) and not sink.done(session_of(frame), number)

    def _rows(
        self,
        events: DataFrame,
        compiled: CompiledRules,
        lists: Mapping[str, PickledList] | None = None,
    ) -> tuple[DataFrame, DataFrame | None]:
        """The matches and the events that cannot be read; and lines that Spark could not read."""
        corrupt = None
        if CORRUPT in events.columns:
            corrupt = events.where(F.col(CORRUPT).isNotNull())
            events = events.where(F.col(CORRUPT).isNull()).drop(*corrupt_columns(events))
        reason = None if self._rejects is None and self._report is None else REASON
        matched = match_events(
            events,
            compiled,
            keep=self._keep,
            attributes=self._attributes,
            rejects=reason,
            lists=lists,
            **self._options,
        )
        return matched, corrupt

    def _rejected(self, matched: DataFrame, corrupt: DataFrame | None) -> DataFrame:
        """The events that could not be read, with the line if it was Spark that could not."""
        kept = [column(name) for name in self._keep]
        line = F.lit(None).cast("string").alias(UNREADABLE)
        rejected = matched.where(F.col(REASON).isNotNull()).select(*kept, REASON, line)
        if corrupt is None:
            return rejected
        why = why_corrupt(corrupt).alias(REASON)
        return rejected.unionByName(corrupt.select(*kept, why, F.col(CORRUPT).alias(UNREADABLE)))

    def _warn(self, batch: DataFrame, compiled: CompiledRules) -> None:
        """Log which attributes of new rules the events lack."""
        if self._compared != compiled.version:
            self._compared = compiled.version
            for problem in compiled.check(batch, self._attributes, self._options["aliases"]):
                log.warning("rules %s: %s", compiled.version, problem)


def _good(matched: DataFrame) -> DataFrame:
    """The matches, without the events that could not be read."""
    if REASON not in matched.columns:
        return matched
    return matched.where(F.col(REASON).isNull()).drop(REASON)


def without_rules(spark: SparkSession, id_type: str, schema: Schema | None) -> CompiledRules:
    """An empty set of rules, which is enough to learn the columns of matches."""
    return CompiledRules(
        version="",
        id_type=id_type,
        segments=(),
        attributes={},
        rejected=spark.range(0),
        rejected_count=0,
        schema=schema,
        folder=new_folder(),
    )


@contextmanager
def persisted(frame: DataFrame) -> Iterator[None]:
    """Keep a frame while two sinks read it, so that it is computed once."""
    frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield
    finally:
        frame.unpersist()
