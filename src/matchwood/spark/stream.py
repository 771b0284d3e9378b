"""`match_stream`: a stream of events against rules that change between micro-batches.

The function of `foreachBatch` is an object that can be sent: through Connect it runs on the
server, in another process. All it knows is in its fields, in the checkpoint and in the sinks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from matchwood.schema import Schema
from matchwood.spark.attributes import column
from matchwood.spark.match import MEMORY, match_events
from matchwood.spark.pipeline import Rules, Sink
from matchwood.spark.rules import CompiledRules, new_folder
from matchwood.spark.session import session_of
from matchwood.spark.storage import CORRUPT
from matchwood.spark.stream_rules import ChangingRules, source_of
from matchwood.spark.stream_sink import BATCH, Call, StreamSink, read_matches, sink_of
from matchwood.spark.worker import ROWS

__all__ = ["match_stream", "read_matches"]

REASON, UNREADABLE = "reason", "unreadable"
AVAILABLE_NOW = "availableNow"
log = logging.getLogger("matchwood.spark.stream")


def match_stream(
    events: DataFrame,
    rules: str | Rules,
    *,
    checkpoint: str,
    sink: str | Sink | Call,
    keep: Sequence[str],
    attributes: str | None = None,
    output: str = ROWS,
    tags: Iterable[str] | None = None,
    limit: int | None = None,
    layout: str | None = None,
    memory: int = MEMORY,
    rejects: str | Sink | Call | None = None,
    rejected_rules: str | Sink | None = None,
    schema: Schema | None = None,
    check: bool = False,
    operators: str | None = None,
    poll: float = 0.0,
    trigger: str | None = None,
    name: str | None = None,
) -> Any:
    """Start a streaming query that matches events with rules; gives Spark's StreamingQuery.

    `rules` is a folder of rules (Parquet, ORC, JSON or CSV with the columns `id` and `rule`), a
    folder of compiled rules, or a table; `Rules(…)` says more. Before each micro-batch, or at most
    each `poll` seconds, it is looked at, and compiled if it has changed. New rules that cannot be
    used are told by a warning, and the stream goes on with those that it has.

    `sink` is a folder, which has each match once however often the query is killed and started
    again with this `checkpoint`; `read_matches` reads it. A `Sink(…)` for anything else, or a
    function of the rows and the number of the micro-batch, has them at least once, with the column
    `batch` to tell what it has already. `rejects` takes the events that cannot be read, with
    `reason`; `rejected_rules` the rules, a folder a version.

    `operators` is the path of a module whose operators rules may call, which executors import.
    With `check`, events that break the `schema` go to `rejects` as well. `trigger` is a time such
    as "10 seconds", or "availableNow" to end when all is done. The other arguments are those of
    `match_events`.
    """
    if not events.isStreaming:
        raise ValueError("the events are not a stream; match_events is for tables")
    if check and schema is None:
        raise ValueError("check: no schema to hold events to")
    _check(keep, checkpoint, sink, rejects)
    spark = session_of(events)
    changing = ChangingRules(
        source_of(spark, rules),
        f"{checkpoint.rstrip('/')}/matchwood",
        schema,
        poll,
        Sink(path=rejected_rules) if isinstance(rejected_rules, str) else rejected_rules,
        operators,
    )
    options: dict[str, Any] = {
        "output": output, "layout": layout, "memory": memory, "check": check,
    }  # fmt: skip
    options |= {"tags": None if tags is None else tuple(tags), "limit": limit}
    work = MicroBatches(
        tuple(keep),
        attributes,
        options,
        changing,
        sink_of(sink),
        None if rejects is None else sink_of(rejects),
    )
    work.begin(events)
    writer = events.writeStream.foreachBatch(work).option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        now = trigger == AVAILABLE_NOW
        writer = (
            writer.trigger(availableNow=True) if now else writer.trigger(processingTime=trigger)
        )
    return writer.start()


def _check(keep: Sequence[str], checkpoint: str, *sinks: object) -> None:
    if isinstance(keep, str):
        raise TypeError(f"keep is a list of names, found the string {keep!r}")
    for one in keep:
        if one.lower() in (BATCH, REASON, UNREADABLE, CORRUPT):
            raise ValueError(f"keep: {one!r} is the name of a column that is added; rename yours")
    paths = [sink if isinstance(sink, str) else getattr(sink, "path", None) for sink in sinks]
    folders = [path.rstrip("/") for path in (checkpoint, *paths) if path is not None]
    if len(set(folders)) < len(folders):
        raise ValueError("checkpoint, sink and rejects need a folder each")


class MicroBatches:
    """What is done with each micro-batch: an object that can be sent to where that is."""

    def __init__(
        self,
        keep: tuple[str, ...],
        attributes: str | None,
        options: dict[str, Any],
        rules: ChangingRules,
        matches: StreamSink,
        rejects: StreamSink | None,
    ) -> None:
        self._keep = keep
        self._attributes = attributes
        self._options = options
        self._rules = rules
        self._matches = matches
        self._rejects = rejects
        self._told: str | None = None  # the version that has been compared with the events

    def begin(self, events: DataFrame) -> None:
        """Whatever is wrong with rules, columns or sinks is said before the query starts."""
        spark = session_of(events)
        note = self._rules.begin(spark)
        none = without_rules(spark, note["id_type"], self._rules.schema)
        found, bad = self._rows(events, none)
        self._matches.begin(spark, note["stream"], found.drop(REASON).schema)
        if self._rejects is not None:
            self._rejects.begin(spark, note["stream"], self._rejected(found, bad).schema)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Match and write one micro-batch."""
        spark = session_of(batch)
        sinks = [sink for sink in (self._matches, self._rejects) if sink is not None]
        if all(sink.done(spark, number) for sink in sinks):
            log.info("batch %d: was complete", number)
            return
        compiled = self._rules.for_batch(spark, number)
        self._tell(batch, compiled)
        found, bad = self._rows(batch, compiled)
        if self._rejects is None:
            self._matches.write(found, number)
            return
        with persisted(found):
            self._matches.write(found.where(F.col(REASON).isNull()).drop(REASON), number)
            self._rejects.write(self._rejected(found, bad), number)

    def _rows(
        self, events: DataFrame, compiled: CompiledRules
    ) -> tuple[DataFrame, DataFrame | None]:
        """The matches, with the reason of events that have none; and lines that Spark rejected."""
        bad = None
        if CORRUPT in events.columns:
            bad = events.where(F.col(CORRUPT).isNotNull())
            events = events.where(F.col(CORRUPT).isNull()).drop(CORRUPT)
        reason = None if self._rejects is None else REASON
        found = match_events(
            events,
            compiled,
            keep=self._keep,
            attributes=self._attributes,
            rejects=reason,
            **self._options,
        )
        return found, bad

    def _rejected(self, found: DataFrame, bad: DataFrame | None) -> DataFrame:
        """The events that could not be read, and the line where there is one."""
        kept = [column(name) for name in self._keep]
        line = F.lit(None).cast("string").alias(UNREADABLE)
        rejected = found.where(F.col(REASON).isNotNull()).select(*kept, REASON, line)
        if bad is None:
            return rejected
        told = F.lit("the line cannot be read").alias(REASON)
        return rejected.unionByName(bad.select(*kept, told, F.col(CORRUPT).alias(UNREADABLE)))

    def _tell(self, batch: DataFrame, compiled: CompiledRules) -> None:
        if self._told != compiled.version:
            self._told = compiled.version
            for problem in compiled.check(batch, self._attributes):
                log.warning("rules %s: %s", compiled.version, problem)


def without_rules(spark: SparkSession, id_type: str, schema: Schema | None) -> CompiledRules:
    """No rules, with ids of a type: enough to learn the columns of matches."""
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
    """Two sinks take from a frame, which is made once."""
    frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield
    finally:
        frame.unpersist()
