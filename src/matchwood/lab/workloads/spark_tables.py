"""Rules and events of a workload, made on Spark at any size.

The work is a table of blocks. A block is made by its number and the seed alone, so that the rows
are the same however many tasks there are, and no task holds more than a block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchwood.lab.workloads.catalogue import OF_PAPERS, rule_ids
from matchwood.lab.workloads.catalogue import workload as workload_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The formats that tables can be written in.
FORMATS = ("parquet", "json", "csv")

# Rows that a task makes at a time.
BLOCK = 10_000

# The names of the columns with an event's key and with its attributes.
KEY, ATTRIBUTES = "key", "attributes"

# The attributes of a page view with their Spark types.
VISIT: dict[str, str] = {
    **dict.fromkeys(("country", "city", "language", "device", "os", "browser"), "string"),
    **dict.fromkeys(("connection", "page", "site", "position"), "string"),
    **{"floor_price": "double", "hour": "int", "weekday": "string", "interests": "array<string>"},
    **{"frequency": "int", "campaigns_seen": "array<string>", "returning": "boolean"},
    **{"age": "int", "gender": "string", "income": "int", "viewport": "int"},
}

# The columns of a table of rules and their Spark types, by workload.
RULES: dict[str, dict[str, str]] = {
    "audiences": {"id": "string", "rule": "string"},
    **{name: {"id": "bigint", "rule": "string"} for name in OF_PAPERS},
}

# The columns of a table of page views, one per attribute, and their Spark types.
AS_COLUMNS = {KEY: "bigint", **VISIT}

# The columns of a table of events whose attributes are a map, and their Spark types.
AS_MAP = {KEY: "bigint", ATTRIBUTES: "map<string, bigint>"}

# The columns of a table of events whose attributes are JSON text, and their Spark types.
AS_TEXT = {KEY: "bigint", ATTRIBUTES: "string"}

Make = Callable[[int, int], dict[str, list[Any]]]


def generate_rules(
    spark: SparkSession, workload: str, rules: int, seed: int = 1, tasks: int | None = None
) -> DataFrame:
    """A table of rules with the columns `id` and `rule`.

    Ids are strings in audiences and integers elsewhere.
    """
    make = rule_maker(workload, rules, seed)
    return _table(spark, rules, make, RULES[workload], tasks)


def generate_events(
    spark: SparkSession,
    workload: str,
    events: int,
    seed: int = 1,
    text: bool = False,
    tasks: int | None = None,
) -> DataFrame:
    """A table of events with a column `key` that numbers them.

    The attributes are columns in audiences, and one map elsewhere, where each event has few of
    many; with `text`, one column of JSON, for formats that have neither lists nor maps.
    """
    make = event_maker(workload, seed, text)
    return _table(spark, events, make, events_schema(workload, text), tasks)


def rule_maker(workload: str, rules: int, seed: int) -> Make:
    """A function that makes the columns of a table of rules, from one row to another."""
    made = workload_of(workload, rules=rules, seed=seed)

    def make(start: int, stop: int) -> dict[str, list[Any]]:
        return {"id": list(rule_ids(workload, start, stop)), "rule": made.texts(start, stop)}

    return make


def event_maker(workload: str, seed: int, text: bool) -> Make:
    """A function that makes the columns of a table of events, from one row to another."""
    made = workload_of(workload, seed=seed)

    def make(start: int, stop: int) -> dict[str, list[Any]]:
        numbers = list(range(start, stop))
        happened: list[Any] = list(made.events(stop - start, start=start))
        if text:
            written = [json.dumps(event, ensure_ascii=False) for event in happened]
            return {KEY: numbers, ATTRIBUTES: written}
        if workload in OF_PAPERS:
            return {KEY: numbers, ATTRIBUTES: [list(event.items()) for event in happened]}
        return {KEY: numbers} | {n: [event.get(n) for event in happened] for n in VISIT}

    return make


def generate(
    spark: SparkSession,
    workload: str,
    out: str,
    *,
    rules: int,
    events: int,
    format: str = "parquet",
    seed: int = 1,
    mode: str = "error",
) -> dict[str, str]:
    """Write the tables `rules` and `events` to a folder; returns their paths."""
    if format not in FORMATS:
        raise ValueError(f"no format {format!r}: expected {', '.join(FORMATS)}")
    paths = {name: f"{out.rstrip('/')}/{name}" for name in ("rules", "events")}
    text = format == "csv"
    # A quote within a CSV field is doubled, which is what other programs read.
    options = {"header": "true", "escape": '"'} if text else {}
    frames = {
        "rules": generate_rules(spark, workload, rules, seed),
        "events": generate_events(spark, workload, events, seed, text),
    }
    for name, frame in frames.items():
        frame.write.format(format).mode(mode).options(**options).save(paths[name])
    return paths


def write_pipeline(workload: str, format: str, folder: Path) -> Path:
    """A pipeline file beside the tables, ready to be run."""
    in_one_column = format == "csv" or workload in OF_PAPERS
    schemas = {"rules": RULES[workload], "events": events_schema(workload, format == "csv")}
    lines = [f"# matchwood run pipeline.toml: {workload}"]
    for name, schema in schemas.items():
        lines += ["", f"[{name}]", f'format = "{format}"', f'path = "${{HERE}}/{name}"']
        if format != "parquet":
            lines.append(f'schema = "{_ddl(schema)}"')
        if format == "csv":
            lines.append("options = { header = true, escape = '\"' }")
    lines += [f'keep = ["{KEY}"]', *([f'attributes = "{ATTRIBUTES}"'] if in_one_column else [])]
    for name in ("matches", "rejects", "rejected_rules"):
        lines += ["", f"[{name}]", 'format = "parquet"', f'path = "${{HERE}}/{name}"']
        lines.append('mode = "overwrite"')
    file = folder / "pipeline.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def events_schema(workload: str, text: bool) -> dict[str, str]:
    """The columns of a table of events and their Spark types."""
    return AS_TEXT if text else AS_MAP if workload in OF_PAPERS else AS_COLUMNS


def _ddl(schema: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


def _table(
    spark: SparkSession, rows: int, make: Make, schema: dict[str, str], tasks: int | None
) -> DataFrame:
    """Rows 0 to rows - 1, a block at a time."""
    blocks = -(-rows // BLOCK)
    # As many tasks as Spark suggests; with very many rows, enough to keep each task small.
    if tasks is None and blocks > 1000:
        tasks = blocks // 20

    def run(batches: Any) -> Iterator[Any]:
        import pyarrow as pa

        arrow = arrow_schema(schema)
        for batch in batches:
            for block in batch.column(0).to_pylist():
                start = block * BLOCK
                yield pa.RecordBatch.from_pydict(make(start, min(start + BLOCK, rows)), arrow)

    return spark.range(0, blocks, 1, tasks).mapInArrow(run, _ddl(schema))


def arrow_schema(schema: dict[str, str]) -> Any:
    """The Arrow schema for columns with these Spark types."""
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "array<string>": pa.list_(pa.string()),
        "map<string, bigint>": pa.map_(pa.string(), pa.int64()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in schema.items()])
