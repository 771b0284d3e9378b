"""Rules that change while a stream runs: which version each micro-batch is matched with.

The version of a micro-batch is written to the checkpoint before any of its events is matched, and
the compiled rules are kept there. A micro-batch that is run again is therefore matched with the
same version, however the rules have changed since.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from time import monotonic
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from matchwood.schema import Schema
from matchwood.spark.compile.compiled_rules import CompiledRules, load
from matchwood.spark.compile.compiler import compile_rules
from matchwood.spark.endpoints import ENDINGS, RuleSource, Sink, format_of
from matchwood.spark.storage import exists, reason, write
from matchwood.spark.stream.durable_log import DurableLog, Note, clear
from matchwood.spark.stream.rule_signatures import frame_of, listed, paths_of, signature

# Seconds after which rules that could not be compiled are tried again, even if unchanged.
RETRY_SECONDS = 60.0
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
    ) -> None:
        self._source = source
        self._operators = operators
        self._folder = folder.rstrip("/")
        self.schema = schema
        self._poll = poll
        self._rejected = rejected
        self._versions = DurableLog(f"{self._folder}/versions")
        self._looked: float | None = None
        self._failed: tuple[str, float] | None = None
        self._open: tuple[str, CompiledRules] | None = None

    def begin(self, spark: SparkSession) -> Note:
        """The note of the last micro-batch; before the first one, the rules are compiled."""
        last = self._versions.newest(spark)
        if last is not None:
            return last
        note = self._compiled(spark, signature(spark, self._source, self.schema), None)
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
        if last["number"] < number:
            note = self._changed(spark, last) or last
            last = self._versions.write(spark, number, note)
        compiled = self._opened(spark, last)
        log.info("batch %d: rules %s are noted", number, compiled.version)
        return compiled

    def _changed(self, spark: SparkSession, last: Note) -> Note | None:
        """The note of new rules; None if they are the same as before, or cannot be used."""
        now = monotonic()
        if self._looked is not None and now - self._looked < self._poll:
            return None
        self._looked = now
        signed = ""
        try:
            signed = signature(spark, self._source, self.schema)
            if signed == last["signature"] or self._failed_lately(signed, now):
                return None
            return self._compiled(spark, signed, last)
        except Exception as error:  # whatever is wrong with new rules, the stream goes on
            if not self._failed_lately(signed, now):
                log.warning("rules stay at %s: %s", last["version"], reason(error))
            self._failed = (signed, now)
            return None

    def _failed_lately(self, signed: str, now: float) -> bool:
        if self._failed is None:
            return False
        failed, when = self._failed
        return failed == signed and now - when < RETRY_SECONDS

    def _compiled(self, spark: SparkSession, signed: str, last: Note | None) -> Note:
        """Compile into the slot that no micro-batch needs any more."""
        slot = 0 if last is None else 1 - int(last["slot"])
        path = self._path(slot)
        clear(spark, path)
        source = self._source
        if source.compiled is not None:
            compiled = load(spark, source.compiled)
            compiled.save(path)
        else:
            compiled = compile_rules(
                frame_of(spark, source),
                source.id,
                source.rule,
                path,
                tags=source.tags,
                priority=source.priority,
                schema=self.schema,
                operators=self._operators,
            )
        self._write_rejected(compiled)
        if compiled.rejected_count and not compiled.rules:
            raise UnusableRules(f"all {compiled.rejected_count:,} rules were rejected")
        if last is not None and compiled.id_type != last["id_type"]:
            raise UnusableRules(
                f"ids are {compiled.id_type} now and {last['id_type']} in what the stream wrote"
            )
        note = {
            "stream": uuid.uuid4().hex if last is None else last["stream"],
            "signature": signed,
            "version": compiled.version,
            "slot": slot,
            "id_type": compiled.id_type,
            "rules": compiled.rules,
            "rejected": compiled.rejected_count,
        }
        self._open = (signed, compiled)
        return note

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

    def _opened(self, spark: SparkSession, note: Note) -> CompiledRules:
        if self._open is None or self._open[0] != note["signature"]:
            self._open = (note["signature"], load(spark, self._path(note["slot"])))
        return self._open[1]

    def _path(self, slot: int) -> str:
        return f"{self._folder}/rules/{slot}"

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
