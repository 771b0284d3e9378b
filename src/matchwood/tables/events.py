"""Tables of events: an object a line in JSONL, a row in CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.tables.files import (
    BadRow,
    TableError,
    check_file,
    format_of,
    json_lines,
    parquet_rows,
)


class EventRow(NamedTuple):
    """An event of a table and its place; in CSV and Parquet, `line` is the number of the row."""

    file: str
    line: int
    event: dict[str, Any]


def read_events(path: str | Path) -> Iterator[EventRow | BadRow]:
    """The events of a file, in order; the values of a CSV have the types that pyarrow finds."""
    file = str(path)
    kind = format_of(path)
    if kind == "jsonl":
        for line in json_lines(path):
            if isinstance(line, BadRow):
                yield line
            elif isinstance(line[1], dict):
                yield EventRow(file, line[0], line[1])
            else:
                found = type(line[1]).__name__
                yield BadRow(file, line[0], f"an event is an object, found {found}")
        return
    rows = parquet_rows(path, None) if kind == "parquet" else _csv_events(path)
    for number, event in enumerate(rows, 1):
        yield EventRow(file, number, event)


def _csv_events(path: str | Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    from pyarrow import csv

    check_file(path)
    try:
        with csv.open_csv(path) as reader:
            for batch in reader:
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: {error}") from None
