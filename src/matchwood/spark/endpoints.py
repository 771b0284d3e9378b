"""Where rows are read and written: the sources and sinks that a stream or a pipeline is given.

These are plain descriptions: this module does not import PySpark, so that a pipeline file can be
checked without it. `matchwood.spark.storage` reads and writes what they describe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Texts = tuple[str, ...]
# The format that each file ending stands for.
ENDINGS = {
    **{".parquet": "parquet", ".orc": "orc", ".csv": "csv"},
    **{".json": "json", ".jsonl": "json", ".ndjson": "json"},
}


@dataclass(frozen=True, kw_only=True)
class RowSource:
    """Rows to read: a path, a catalog table, a query, or a format that needs only options."""

    format: str | None = None
    path: str | Texts | None = None
    table: str | None = None
    query: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    select: Texts = ()
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class RuleSource(RowSource):
    """Where rules are read, and which columns hold them."""

    id: str = "id"
    rule: str = "rule"
    tags: str | None = None
    priority: str | None = None
    data: Texts = ()  # columns that the rules carry
    compiled: str | None = None
    save: str | None = None


@dataclass(frozen=True, kw_only=True)
class EventSource(RowSource):
    """Where events are read, which columns are attributes and which are kept with matches."""

    keep: Texts
    attributes: str | None = None
    value: Literal["json"] | None = None  # of Kafka: what the values of messages are
    aliases: Mapping[str, str | Texts] = field(default_factory=dict)  # other names of attributes


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where rows are written."""

    format: str | None = None
    path: str | None = None
    table: str | None = None
    mode: Literal["append", "overwrite", "error", "ignore"] = "error"
    partition_by: Texts = ()
    options: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None  # of Kafka: the column with the key of each message
    headers: Texts = ()  # of Kafka: the columns that are headers of each message


@dataclass(frozen=True, kw_only=True)
class MatchSink(Sink):
    """Where matches are written: one row per match, or one row per event with an array."""

    output: Literal["rows", "events"] = "rows"
    writer: Literal["auto", "spark", "workers"] = "auto"  # who writes files of Parquet
    rule_columns: Texts = ()  # what matches have about their rules


def format_of(endpoint: RowSource | Sink) -> str | None:
    """The format that is named, or else the one that the ending of the path stands for."""
    if endpoint.format is not None or endpoint.path is None:
        return endpoint.format
    paths = (endpoint.path,) if isinstance(endpoint.path, str) else endpoint.path
    endings = {ENDINGS.get(Path(path.removesuffix(".gz")).suffix) for path in paths}
    return endings.pop() if len(endings) == 1 else None
