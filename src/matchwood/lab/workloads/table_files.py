"""Rules and events of a workload as tables in a local folder, written by this process.

They have the same rows as those of `spark_tables`. Drawing rules and events is plain Python, so
for the usual sizes this process is done before Spark has started; Spark is for sizes that need
all cores of a cluster, and for storage that only Spark can reach.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from matchwood.lab.workloads.spark_tables import (
    ATTRIBUTES,
    FORMATS,
    RULES,
    Make,
    arrow_schema,
    event_maker,
    events_schema,
    rule_maker,
)

# Rows that are made at a time.
BLOCK = 10_000
# Rows of one file; a table has as many files as it needs.
ROWS_PER_FILE = 200_000


def write_tables(
    workload: str,
    folder: Path,
    *,
    rules: int,
    events: int,
    format: str = "parquet",
    seed: int = 1,
    overwrite: bool = False,
) -> dict[str, str]:
    """Write the tables `rules` and `events` to a folder; returns their paths."""
    if format not in FORMATS:
        raise ValueError(f"no format {format!r}: expected {', '.join(FORMATS)}")
    text = format == "csv"
    tables = {
        "rules": (rule_maker(workload, rules, seed), RULES[workload], rules),
        "events": (event_maker(workload, seed, text), events_schema(workload, text), events),
    }
    for name, (make, schema, rows) in tables.items():
        table = folder / name
        if overwrite:
            shutil.rmtree(table, ignore_errors=True)
        table.mkdir(parents=True)
        # Without rows there is one file nevertheless: Spark cannot read a folder without any.
        for number, low in enumerate(range(0, max(rows, 1), ROWS_PER_FILE)):
            path = table / f"part-{number:05}.{format}"
            _WRITERS[format](path, make, schema, low, min(low + ROWS_PER_FILE, rows))
    return {name: str(folder / name) for name in tables}


def _blocks(make: Make, low: int, high: int) -> Iterator[dict[str, list[Any]]]:
    for start in range(low, high, BLOCK):
        yield make(start, min(start + BLOCK, high))


def _write_parquet(path: Path, make: Make, schema: dict[str, str], low: int, high: int) -> None:
    arrow = arrow_schema(schema)
    batches = [pa.RecordBatch.from_pydict(block, arrow) for block in _blocks(make, low, high)]
    pq.write_table(pa.Table.from_batches(batches, arrow), path)


def _write_json(path: Path, make: Make, schema: dict[str, str], low: int, high: int) -> None:
    """One object per line; what a row lacks is left out, as Spark does."""
    with path.open("w", encoding="utf-8") as file:
        for block in _blocks(make, low, high):
            if schema.get(ATTRIBUTES, "").startswith("map"):
                block[ATTRIBUTES] = [dict(pairs) for pairs in block[ATTRIBUTES]]
            for row in zip(*block.values(), strict=True):
                values = zip(block, row, strict=True)
                form = {name: value for name, value in values if value is not None}
                file.write(json.dumps(form, ensure_ascii=False) + "\n")


def _write_csv(path: Path, make: Make, schema: dict[str, str], low: int, high: int) -> None:
    """A quote within a field is doubled, which is what other programs read."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(schema)
        for block in _blocks(make, low, high):
            writer.writerows(zip(*block.values(), strict=True))


_WRITERS: dict[str, Callable[[Path, Make, dict[str, str], int, int], None]] = {
    "parquet": _write_parquet,
    "json": _write_json,
    "csv": _write_csv,
}
