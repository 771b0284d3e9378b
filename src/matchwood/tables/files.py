"""Files by their ending, line by line, with the number of each line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

MAX_FIELD = 1 << 24  # characters of one CSV field: a rule has at most 1 MiB

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


class TableError(ValueError):
    """A file cannot be read as a table at all."""


class BadRow(NamedTuple):
    """A row that cannot be read."""

    file: str
    line: int
    reason: str


def format_of(path: str | Path) -> str:
    """jsonl, csv or parquet, by the ending of the name."""
    name = str(path).removesuffix(".gz")
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS or (name != str(path) and suffix == ".parquet"):
        raise TableError(f"{path}: expected a .jsonl, .csv or .parquet file")
    return FORMATS[suffix]


def check_file(path: str | Path) -> None:
    """A TableError where there is no such file."""
    format_of(path)
    if not Path(path).is_file():
        raise TableError(f"{path}: no such file")


def open_bytes(path: str | Path) -> IO[bytes]:
    check_file(path)
    if str(path).endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return open(path, "rb")


def json_lines(path: str | Path) -> Iterator[tuple[int, object] | BadRow]:
    """The value of every line that is not blank, with its number from 1."""
    with open_bytes(path) as file:
        number = 0
        try:
            for number, line in enumerate(file, 1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield _json_line(str(path), number, line)
        except (OSError, EOFError) as error:
            yield BadRow(str(path), number + 1, f"the file cannot be read further: {error}")


def _json_line(file: str, number: int, line: bytes) -> tuple[int, object] | BadRow:
    try:
        return number, json.loads(line)
    except json.JSONDecodeError as error:
        return BadRow(file, number, f"not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:  # not UTF-8, huge numbers, deep nesting
        return BadRow(file, number, f"not JSON that can be read: {error}")


def csv_rows(
    path: str | Path, columns: tuple[str, ...]
) -> Iterator[tuple[int, list[str]] | BadRow]:
    """The named columns of every row, with the number of the line on which the row starts."""
    csv.field_size_limit(MAX_FIELD)
    with open_bytes(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, strict=True)
        places: list[int] | None = None
        while True:
            start = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                break
            except (csv.Error, OSError, EOFError) as error:
                yield BadRow(str(path), start, f"not CSV: {error}")
                continue
            if not row:
                continue
            if places is None:
                places = _places(str(path), [name.strip() for name in row], columns)
            elif len(row) <= max(places):
                yield BadRow(
                    str(path),
                    start,
                    f"expected at least {max(places) + 1} fields, found {len(row)}",
                )
            else:
                yield start, [row[place] for place in places]
        if places is None:
            raise TableError(f"{path}: expected a header with {' and '.join(columns)}")


def parquet_rows(path: str | Path, columns: tuple[str, ...] | None) -> Iterator[dict[str, Any]]:
    """Every row as a dict, only the named columns where there are any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_file(path)
    try:
        with pq.ParquetFile(path) as file:
            if columns is not None:
                _places(str(path), list(file.schema_arrow.names), columns)
            for batch in file.iter_batches(columns=list(columns) if columns else None):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: {error}") from None


def _places(file: str, header: list[str], columns: tuple[str, ...]) -> list[int]:
    for name in columns:
        if name not in header:
            found = ", ".join(header) or "none"
            raise TableError(f"{file}: expected a column {name!r}, found {found}")
    return [header.index(name) for name in columns]
