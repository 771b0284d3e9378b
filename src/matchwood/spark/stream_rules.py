"""Rules that change while a stream runs: which version a micro-batch is matched with.

For each micro-batch the version is noted in the checkpoint before any event is matched, and the
compiled rules are kept there. A micro-batch that is run again finds its version, whatever has
become of the rules since.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from time import monotonic
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from matchwood.schema import Schema
from matchwood.spark.attributes import column
from matchwood.spark.compile import compile_rules
from matchwood.spark.pipeline import ENDINGS, Rules, Sink, format_of
from matchwood.spark.rules import CompiledRules, load
from matchwood.spark.storage import load_source, reason, write
from matchwood.spark.stream_log import Note, Register, clear, is_missing
from matchwood.spark.version import schema_to_json

RETRY = 60.0  # seconds until rules that could not be compiled are tried again as they are
# Tables of these are their files; of others only their rows tell whether they changed.
_FILE_TABLES = {"parquet", "orc", "json", "csv", "text", "avro"}
log = logging.getLogger("matchwood.spark.stream")


class UnusableRules(ValueError):
    """A set of rules that a stream does not change to."""


class ChangingRules:
    """The rules of a stream: looked at between micro-batches, compiled when they have changed."""

    def __init__(
        self,
        source: Rules,
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
        self._register = Register(f"{self._folder}/versions")
        self._looked: float | None = None
        self._failed: tuple[str, float] | None = None
        self._open: tuple[str, CompiledRules] | None = None

    def begin(self, spark: SparkSession) -> Note:
        """The note of the last micro-batch; compiles the rules where there has been none."""
        found = self._register.newest(spark)
        if found is not None:
            return found
        note = self._compiled(spark, signature(spark, self._source, self.schema), None)
        return self._register.write(spark, -1, note)

    def for_batch(self, spark: SparkSession, number: int) -> CompiledRules:
        """The rules of a micro-batch, noted by now."""
        last = self._register.last or self._register.newest(spark)
        if last is None:
            raise UnusableRules(f"{self._folder}: the checkpoint has lost its versions of rules")
        if last["number"] > number:
            raise UnusableRules(
                f"{self._folder}: micro-batch {number} comes after {last['number']}: "
                "the checkpoint was changed by hand; begin with a new one and a new sink"
            )
        if last["number"] < number:
            note = self._changed(spark, last) or last
            last = self._register.write(spark, number, note)
        compiled = self._opened(spark, last)
        log.info("batch %d: rules %s are noted", number, compiled.version)
        return compiled

    def _changed(self, spark: SparkSession, last: Note) -> Note | None:
        """What to note of rules that are new; None if they are the same, or cannot be used."""
        now = monotonic()
        if self._looked is not None and now - self._looked < self._poll:
            return None
        self._looked = now
        found = ""
        try:
            found = signature(spark, self._source, self.schema)
            if found == last["signature"] or self._given_up(found, now):
                return None
            return self._compiled(spark, found, last)
        except Exception as error:  # whatever is wrong with new rules, the stream goes on
            if not self._given_up(found, now):
                log.warning("rules stay at %s: %s", last["version"], reason(error))
            self._failed = (found, now)
            return None

    def _given_up(self, found: str, now: float) -> bool:
        return (
            self._failed is not None and self._failed[0] == found and now - self._failed[1] < RETRY
        )

    def _compiled(self, spark: SparkSession, found: str, last: Note | None) -> Note:
        """Compile into the place that no micro-batch needs any more."""
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
            "signature": found,
            "version": compiled.version,
            "slot": slot,
            "id_type": compiled.id_type,
            "rules": compiled.rules,
            "rejected": compiled.rejected_count,
        }
        self._open = (found, compiled)
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
        """As it travels to where micro-batches are run: without what belongs to a session."""
        return {**self.__dict__, "_open": None, "_looked": None, "_failed": None}


# Where rules are


def source_of(spark: SparkSession, rules: str | Rules) -> Rules:
    """Where rules are: a folder of rules or of compiled rules, or a table of the catalog."""
    if isinstance(rules, Rules):
        if rules.path is not None and format_of(rules) is None:
            return replace(rules, format=_format_in(spark, _paths(rules)))
        return rules
    if _is_table(spark, rules):
        return Rules(table=rules)
    if _files(spark, [f"{rules.rstrip('/')}/manifest"]):
        return Rules(compiled=rules)
    return Rules(path=rules, format=_format_in(spark, [rules]))


def _is_table(spark: SparkSession, name: str) -> bool:
    try:
        return bool(spark.catalog.tableExists(name))
    except AnalysisException:  # a path, which cannot be the name of a table
        return False


def frame_of(spark: SparkSession, source: Rules) -> DataFrame:
    """The rules as they are now."""
    if source.table is not None:
        spark.catalog.refreshTable(source.table)  # or Spark may remember its files
    frame = load_source(spark, source, False)
    if source.select:
        frame = frame.selectExpr(*source.select)
    return frame if source.where is None else frame.where(source.where)


def _format_in(spark: SparkSession, paths: Sequence[str]) -> str:
    """The format that the endings of files tell."""
    listed = _listed(spark, paths).select("path").limit(1_000).collect()
    names = {PurePosixPath(row.path.removesuffix(".gz")).suffix for row in listed}
    found = {ENDINGS[name] for name in names if name in ENDINGS}
    if len(found) != 1:
        raise UnusableRules(
            f"{', '.join(paths)}: the files there do not tell their format; "
            "use Rules(path=…, format=…)"
        )
    return found.pop()


def _paths(source: Rules) -> list[str]:
    return [source.path] if isinstance(source.path, str) else list(source.path or ())


def _listed(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Names, times and sizes of files; what they hold is not read."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.load(list(paths)).select("path", "modificationTime", "length")


def _files(spark: SparkSession, paths: Sequence[str]) -> bool:
    try:
        return _listed(spark, paths).limit(1).count() > 0
    except Exception as error:
        if is_missing(error):
            return False
        raise


# Whether rules have changed


def signature(spark: SparkSession, source: Rules, schema: Schema | None) -> str:
    """A text that is another one when the rules, or how they are read, have changed."""
    about = {**asdict(source), "schema": schema_to_json(schema), "files": None, "rows": None}
    if source.compiled is not None:
        about["files"] = _hash(_listed(spark, [f"{source.compiled.rstrip('/')}/manifest"]))
    elif source.path is not None:
        about["files"] = _hash(_listed(spark, _paths(source)))
    else:
        frame = frame_of(spark, source)
        files = frame.inputFiles() if _is_file_table(spark, source.table) else []
        if files:
            about["files"] = _hash(_listed(spark, files))
        else:
            names = [source.id, source.rule, source.tags, source.priority]
            about["rows"] = _hash(frame.select(*(column(name) for name in names if name)))
    return json.dumps(about, sort_keys=True, default=str)


def _hash(frame: DataFrame) -> list[str]:
    """Of rows in any order: where a sum and a xor of their hashes agree, so do they."""
    each = frame.select(F.xxhash64(*(column(name) for name in frame.columns)).alias("hash"))
    total = F.sum(F.col("hash").cast("decimal(20, 0)"))
    row = each.agg(F.count(F.lit(1)), total, F.bit_xor("hash")).collect()[0]
    return [str(value) for value in row]


def _is_file_table(spark: SparkSession, table: str | None) -> bool:
    if table is None or spark.catalog.getTable(table).tableType not in ("MANAGED", "EXTERNAL"):
        return False
    rows = spark.sql(f"describe table extended {table}").collect()
    provider = next((row.data_type for row in rows if row.col_name == "Provider"), "")
    return str(provider).lower() in _FILE_TABLES
