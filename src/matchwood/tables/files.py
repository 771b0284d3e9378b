"""Files by their ending, line by line, with the number of each line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

MAX_FIELD = 1 << 24  # characters of one CSV field: a rule has at most 1 MiB
MAX_LINE = 1 << 26  # bytes of one line of JSON: a file without line ends is not read into memory
SHOWN = 10_000  # characters that are kept of a line that cannot be read
STDIN = "-"  # in the place of a file: JSON lines on standard input

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
    """A row that cannot be read; `text` is the row, as far as there is one to show."""

    file: str
    line: int
    reason: str
    text: str = ""


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
    if str(path) == STDIN and sys.stdin is None:
        raise TableError("standard input is closed")
    opened: AbstractContextManager[IO[bytes]] = (
        nullcontext(sys.stdin.buffer) if str(path) == STDIN else open_bytes(path)
    )
    with opened as file:
        number = 0
        try:
            while line := file.readline(MAX_LINE):
                number += 1
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if len(line) == MAX_LINE and not line.endswith(b"\n"):
                    text = line[:SHOWN].decode(errors="replace")
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_LINE)
                    yield BadRow(str(path), number, f"the line has over {MAX_LINE:,} bytes", text)
                elif line.strip():
                    yield _json_line(str(path), number, line)
        except (OSError, EOFError) as error:
            yield BadRow(str(path), number + 1, f"the file cannot be read further: {error}")


def _json_line(file: str, number: int, line: bytes) -> tuple[int, object] | BadRow:
    try:
        return number, json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:  # not UTF-8, huge numbers, deep nesting
        reason = f"not JSON that can be read: {error}"
    return BadRow(file, number, reason, line[:SHOWN].decode(errors="replace").rstrip("\r\n"))


def csv_lines(path: str | Path) -> Iterator[tuple[int, list[str]] | BadRow]:
    """Every row that is not blank, the header too, with the line on which it starts."""
    csv.field_size_limit(MAX_FIELD)
    with open_bytes(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, strict=True)
        while True:
            start = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield BadRow(str(path), start, f"not CSV: {error}")
            except (OSError, EOFError) as error:
                yield BadRow(str(path), start, f"the file cannot be read further: {error}")
                return
            else:
                if row:
                    yield start, row


def csv_rows(
    path: str | Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[tuple[int, dict[str, str]] | BadRow]:
    """The named columns of every row, with the number of the line on which the row starts."""
    places: dict[str, int] | None = None
    for line in csv_lines(path):
        if isinstance(line, BadRow):
            yield line
            continue
        start, row = line
        if places is None:
            places = _places(str(path), [name.strip() for name in row], columns, optional)
        elif len(row) <= max(places.values()):
            expected = f"expected at least {max(places.values()) + 1} fields"
            yield BadRow(str(path), start, f"{expected}, found {len(row)}", csv_text(row))
        else:
            yield start, {name: row[place] for name, place in places.items()}
    if places is None:
        raise TableError(f"{path}: expected a header with {' and '.join(columns)}")


def csv_text(row: list[str]) -> str:
    """A row as CSV writes it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()[:SHOWN]


def parquet_rows(
    path: str | Path, columns: tuple[str, ...] | None, optional: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Every row as a dict, only the named columns where there are any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from matchwood.arrow.reading import rows_of

    check_file(path)
    try:
        with pq.ParquetFile(path) as file:
            chosen = None
            if columns is not None:
                names = list(file.schema_arrow.names)
                chosen = list(_places(str(path), names, columns, optional))
            for batch in file.iter_batches(columns=chosen):
                yield from rows_of(batch)
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: {error}") from None


def _places(
    file: str, header: list[str], columns: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, int]:
    """Where the columns are in a header; those that must be there, and others that may be."""
    for name in columns:
        if name not in header:
            found = ", ".join(header) or "none"
            raise TableError(f"{file}: expected a column {name!r}, found {found}")
    return {name: header.index(name) for name in (*columns, *optional) if name in header}
