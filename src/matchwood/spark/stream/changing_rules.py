"""Rules that change while a stream runs: which version each micro-batch is matched with.

The version of a micro-batch is written to the checkpoint before any of its events is matched, and
the compiled rules are kept there. A micro-batch that is run again is therefore matched with the
same version, however the rules have changed since.

Of many rules, only the buckets in which some have changed are compiled again, as a layer over the
others.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from time import monotonic
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from matchwood.schema import Schema
from matchwood.spark.compile.compiled_rules import CompiledRules, OutdatedRulesError, load
from matchwood.spark.compile.compiler import RULES_PER_SHARD, compile_rows
from matchwood.spark.compile.layered_rules import Layer, merged_buckets
from matchwood.spark.compile.rule_buckets import BUCKETS, Buckets, is_in_buckets
from matchwood.spark.compile.rule_rows import rule_rows
from matchwood.spark.endpoints import ENDINGS, RowSource, RuleSource, Sink, format_of
from matchwood.spark.match.given_lists import PickledList, check_given
from matchwood.spark.storage import exists, reason, was_stopped, write
from matchwood.spark.stream.changed_buckets import (
    BucketHashes,
    differing,
    hash_buckets,
    read_alike,
)
from matchwood.spark.stream.changing_lists import ChangingLists
from matchwood.spark.stream.durable_log import DurableLog, Note
from matchwood.spark.stream.rule_places import RulePlaces, StoredRules
from matchwood.spark.stream.rule_signatures import (
    Look,
    frame_of,
    listed,
    look,
    paths_of,
)
from matchwood.spark.stream.stored_rows import rows_after
from matchwood.spark.stream.table_changes import TableChanges, table_changes

# Seconds after which rules that could not be compiled are tried again, even if unchanged.
RETRY_SECONDS = 60.0
# Rules from which on only those that changed are compiled again: fewer are compiled in less time
# than it takes to find out what has changed.
MANY_RULES = 20_000
log = logging.getLogger("matchwood.spark.stream")


class UnusableRules(ValueError):
    """A set of rules that a stream cannot use; says why."""


class ChangingRules:
    """The rules of a stream, checked between micro-batches and compiled when they changed."""

    def __init__(
        self,
        source: RuleSource,
        folder: str,
        schema: Schema | None,
        poll: float,
        rejected: Sink | None,
        operators: str | None = None,
        lists: Mapping[str, RowSource] | None = None,
    ) -> None:
        self._source = source
        self._operators = operators
        self._folder = folder.rstrip("/")
        self._places = RulePlaces(self._folder)
        self._lists = ChangingLists(lists or {}, self._folder, poll)
        self.many_rules = MANY_RULES
        self.schema = schema
        self._poll = poll
        self._rejected = rejected
        self._versions = DurableLog(f"{self._folder}/versions")
        self._looked: float | None = None
        self._failed: tuple[str, float] | None = None
        self._open: StoredRules | None = None
        self._feeds = True  # whether the table told what had changed, when it was asked last

    def begin(self, spark: SparkSession) -> Note:
        """The note of the last micro-batch; before the first one, the rules are compiled."""
        last = self._versions.newest(spark)
        if last is not None:
            return last
        note = self._compiled(spark, self._look(spark), None)
        return self._versions.write(spark, -1, note)

    def for_batch(self, spark: SparkSession, number: int) -> CompiledRules:
        """The rules of a micro-batch, whose version is in the checkpoint from now on."""
        last = self._versions.last or self._versions.newest(spark)
        if last is None:
            raise UnusableRules(f"{self._folder}: the checkpoint has lost its versions of rules")
        if last["number"] > number:
            raise UnusableRules(
                f"{self._folder}: micro-batch {number} comes after {last['number']}: "
                "the checkpoint was changed by hand; begin with a new one and a new sink"
            )
        usable = self._renewed(spark, last) or last
        if last["number"] < number:
            note = self._changed(spark, usable) or usable
            noted = self._lists.looked_at(spark, note.get("lists", {}))
            last = self._versions.write(spark, number, {**note, "lists": noted})
        elif usable is not last:
            last = self._versions.write(spark, number, usable)
        compiled = self._stored(spark, last).rules
        log.info("batch %d: rules %s are noted", number, compiled.version)
        return compiled

    def lists(self, spark: SparkSession) -> dict[str, PickledList]:
        """The lists that rules name, with their values in the last micro-batch."""
        last = self._versions.last
        return {} if last is None else self._lists.opened(spark, last.get("lists", {}))

    def _renewed(self, spark: SparkSession, last: Note) -> Note | None:
        """The note of rules that an older matchwood compiled, once they are compiled again."""
        try:
            self._stored(spark, last)
        except OutdatedRulesError as error:
            log.warning("all rules are compiled again: %s", error)
            seen = self._look(spark)
            note = self._noted(spark, seen, last, self._base(spark, seen, last), seen.hashes)
            if note["version"] != last["version"]:
                log.warning("rules %s are %s now", last["version"], note["version"])
            return note
        return None

    def _look(self, spark: SparkSession) -> Look:
        return look(spark, self._source, self.schema, self._lists.names)

    def _changed(self, spark: SparkSession, last: Note) -> Note | None:
        """The note of new rules; None if they are the same as before, or cannot be used."""
        now = monotonic()
        if self._looked is not None and now - self._looked < self._poll:
            return None
        self._looked = now
        signed = ""
        try:
            seen = self._look(spark)
            signed = seen.signature
            if signed == last["signature"] or self._failed_lately(signed, now):
                return None
            return self._compiled(spark, seen, last)
        except Exception as error:  # whatever is wrong with new rules, the stream goes on
            if was_stopped(error):
                raise
            if not self._failed_lately(signed, now):
                log.warning("rules stay at %s: %s", last["version"], reason(error))
            self._failed = (signed, now)
            return None

    def _failed_lately(self, signed: str, now: float) -> bool:
        if self._failed is None:
            return False
        failed, when = self._failed
        return failed == signed and now - when < RETRY_SECONDS

    def _compiled(self, spark: SparkSession, seen: Look, last: Note | None) -> Note:
        """The note of new rules, which are compiled where no micro-batch needs any others."""
        if last is None or not self._has_many(last) or not self._is_read_like(last, seen):
            return self._noted(spark, seen, last, self._base(spark, seen, last), seen.hashes)
        if seen.version is not None:
            before = json.loads(last["signature"]).get("version")
            with table_changes(spark, self._source, before, seen.version) as told:
                if isinstance(told, TableChanges):
                    self._feeds = True
                    if not told.ids:
                        return {**last, "signature": seen.signature}
                    layer = self._layer(spark, seen, last, told.buckets, told)
                    stored = layer or self._base(spark, seen, last)
                    return self._noted(spark, seen, last, stored, None)
            if self._feeds:
                log.warning("all rules are read to find what has changed: %s", told.why)
            self._feeds = False
        return self._compared(spark, seen, last)

    def _compared(self, spark: SparkSession, seen: Look, last: Note) -> Note:
        """The note of new rules, where hashes of all rows tell what has changed."""
        known = self._places.hashes(spark, last)
        if known is None:
            return self._noted(spark, seen, last, self._base(spark, seen, last), seen.hashes)
        hashes = seen.hashes
        if hashes is None:
            hashes = hash_buckets(frame_of(spark, self._source, seen.version), self._source)
        changed = differing(known, hashes)
        if not changed:
            return {**last, "signature": seen.signature}
        stored = self._layer(spark, seen, last, changed) or self._base(spark, seen, last)
        return self._noted(spark, seen, last, stored, hashes)

    def _noted(
        self,
        spark: SparkSession,
        seen: Look,
        last: Note | None,
        stored: StoredRules,
        hashes: BucketHashes | None,
    ) -> Note:
        """The note of rules that were compiled, if a stream can use them."""
        compiled = stored.rules
        self._write_rejected(compiled)
        if compiled.rejected_count and not compiled.rules:
            raise UnusableRules(f"all {compiled.rejected_count:,} rules were rejected")
        if last is not None and compiled.id_type != last["id_type"]:
            raise UnusableRules(
                f"ids are {compiled.id_type} now and {last['id_type']} in what the stream wrote"
            )
        noted = {} if last is None else last.get("lists", {})
        try:
            check_given(compiled, {*noted, *self._lists.names})
            noted = self._lists.added(spark, noted, compiled.lists)
        except ValueError as error:
            raise UnusableRules(str(error)) from error
        newest = stored.layers[-1].place if stored.layers else stored.slot
        note = {
            "stream": uuid.uuid4().hex if last is None else last["stream"],
            "signature": seen.signature,
            "hashes": self._keep_hashes(spark, seen, newest, hashes, compiled),
            "lists": noted,
            **stored.note(),
        }
        self._open = stored
        return note

    def _has_many(self, note: Note) -> bool:
        return self._source.compiled is None and int(note["rules"]) >= self.many_rules

    def _is_read_like(self, last: Note, seen: Look) -> bool:
        return "layers" in last and read_alike(last["signature"], seen.signature)

    def _keep_hashes(
        self,
        spark: SparkSession,
        seen: Look,
        place: str,
        hashes: BucketHashes | None,
        compiled: CompiledRules,
    ) -> str | None:
        """The place where hashes of all rows are kept; None if they are not needed, or not known.

        They must not be of rows that are newer than the signature.
        """
        told = seen.version is not None and self._feeds
        if told or self._source.compiled is not None or compiled.rules < self.many_rules:
            return None
        if hashes is None:
            hashes = hash_buckets(frame_of(spark, self._source, seen.version), self._source)
            if self._look(spark).signature != seen.signature:
                return None
        self._places.write_hashes(spark, place, hashes)
        return place

    def _base(self, spark: SparkSession, seen: Look, last: Note | None) -> StoredRules:
        """All rules, compiled."""
        place = self._places.free_base(last)
        path = self._places.cleared(spark, place)
        source = self._source
        if source.compiled is not None:
            compiled = load(spark, source.compiled)
            compiled.save(path)
        else:
            compiled = self._compile(self._rows(frame_of(spark, source, seen.version)), path)
        return StoredRules.of(place, compiled)

    def _layer(
        self,
        spark: SparkSession,
        seen: Look,
        last: Note,
        changed: Buckets,
        told: TableChanges | None = None,
    ) -> StoredRules | None:
        """The rules of the buckets that changed, compiled as a layer; None if they are too many."""
        before = self._stored(spark, last)
        merged = merged_buckets([layer.buckets for layer in before.layers], changed)
        if merged is None or not before.base.buckets:
            return None
        stay, buckets = merged
        rows = None if told is None else rows_after(spark, before.rules, told, buckets)
        if rows is None:
            rows = self._rows(frame_of(spark, self._source, seen.version), buckets)
        place = self._places.free_layer(last)
        about = before.rules.rules * len(buckets) // BUCKETS
        path = self._places.cleared(spark, place)
        compiled = self._compile(rows, path, 1 + about // RULES_PER_SHARD)
        if compiled.id_type != before.base.id_type:
            return None
        layers = [*before.layers[:stay], Layer(place, buckets, compiled)]
        return StoredRules.of(before.slot, before.base, layers)

    def _rows(self, frame: DataFrame, buckets: Buckets | None = None) -> DataFrame:
        """The rows of rules, of all or of some buckets, in the form in which they are compiled."""
        source = self._source
        if buckets is not None:
            frame = frame.where(is_in_buckets(source.id, buckets))
        return frame.select(
            *rule_rows(frame, source.id, source.rule, source.tags, source.priority, source.data)
        )

    def _compile(self, rows: DataFrame, path: str, shards: int | None = None) -> CompiledRules:
        return compile_rows(
            rows,
            path,
            shards=shards,
            schema=self.schema,
            operators=self._operators,
            lists=self._lists.names,
        )

    def _write_rejected(self, compiled: CompiledRules) -> None:
        if compiled.rejected_count:
            log.warning("rules %s: %d were rejected", compiled.version, compiled.rejected_count)
        sink = self._rejected
        if sink is None:
            return
        if sink.path is None:
            version = F.lit(compiled.version).alias("version")
            write(compiled.rejected.select("*", version), replace(sink, mode="append"))
        else:
            path = f"{sink.path.rstrip('/')}/version={compiled.version}"
            form = format_of(sink) or "parquet"
            write(compiled.rejected, replace(sink, path=path, format=form, mode="overwrite"))

    def _stored(self, spark: SparkSession, note: Note) -> StoredRules:
        """The rules of a note, which are open already unless the stream has just begun."""
        if self._open is None or not self._open.are_of(note):
            self._open = self._places.opened(spark, note)
        return self._open

    def __getstate__(self) -> dict[str, Any]:
        """The state that is sent to where micro-batches run, without what belongs to a session."""
        return {**self.__dict__, "_open": None, "_looked": None, "_failed": None}


# Where rules are


def source_of(spark: SparkSession, rules: str | RuleSource) -> RuleSource:
    """The source that a text means: a table, a folder of compiled rules, or one of rules."""
    if isinstance(rules, RuleSource):
        if rules.path is not None and format_of(rules) is None:
            return replace(rules, format=_format_in(spark, paths_of(rules)))
        return rules
    if _is_table(spark, rules):
        return RuleSource(table=rules)
    if exists(spark, f"{rules.rstrip('/')}/manifest"):
        return RuleSource(compiled=rules)
    return RuleSource(path=rules, format=_format_in(spark, [rules]))


def _is_table(spark: SparkSession, name: str) -> bool:
    try:
        return bool(spark.catalog.tableExists(name))
    except AnalysisException:  # a path is no valid name of a table
        return False


def _format_in(spark: SparkSession, paths: Sequence[str]) -> str:
    """The format that the endings of the files stand for."""
    files = listed(spark, paths).select("path").limit(1_000).collect()
    names = {PurePosixPath(row.path.removesuffix(".gz")).suffix for row in files}
    formats = {ENDINGS[name] for name in names if name in ENDINGS}
    if len(formats) != 1:
        raise UnusableRules(
            f"{', '.join(paths)}: the endings of the files there do not name one format; "
            "use RuleSource(path=…, format=…)"
        )
    return formats.pop()
