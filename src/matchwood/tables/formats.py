"""Rows of JSONL, CSV and Parquet files, each with its line number."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

# Characters of one field of CSV. A rule has at most 1 MiB.
MAX_FIELD = 1 << 24

# Bytes of one line of JSON, so that a file without line ends is not read into memory.
MAX_LINE = 1 << 26

# Bytes of a file of lines that are read at a time: few enough to stay in the processor's cache.
PIECE = 1 << 21

# The most characters that a `BadRow` keeps of a line that cannot be read.
KEPT_CHARACTERS = 10_000

# The name of a file that stands for JSON lines on standard input.
STDIN = "-"

# Formats by the ending of the file name.
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
    """A row that cannot be read; `text` is the row itself, or its start."""

    file: str
    line: int
    reason: str
    text: str = ""


class LostLine(NamedTuple):
    """A line that cannot be read, in place of its bytes; `text` is its start."""

    reason: str
    text: str = ""


def format_of(path: str | Path) -> str:
    """The format of a file by the ending of its name: jsonl, csv or parquet."""
    name = str(path).removesuffix(".gz")
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS or (name != str(path) and suffix == ".parquet"):
        raise TableError(f"{path}: expected a .jsonl, .csv or .parquet file")
    return FORMATS[suffix]


def check_file(path: str | Path) -> None:
    """Raise a TableError if there is no such file."""
    format_of(path)
    if not Path(path).is_file():
        raise TableError(f"{path}: no such file")


def open_bytes(path: str | Path) -> IO[bytes]:
    """Open a file, decompressed if its name ends in .gz."""
    check_file(path)
    if str(path).endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return open(path, "rb")


def json_lines(path: str | Path) -> Iterator[tuple[int, object] | BadRow]:
    """The value of every line that is not blank, with the line number from 1."""
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
                    text = line[:KEPT_CHARACTERS].decode(errors="replace")
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_LINE)
                    yield BadRow(str(path), number, f"the line has over {MAX_LINE:,} bytes", text)
                elif line.strip():
                    yield _json_line(str(path), number, line)
        except (OSError, EOFError) as error:
            yield BadRow(str(path), number + 1, f"the file cannot be read further: {error}")


def line_pieces(path: str | Path) -> Iterator[bytes | LostLine]:
    """The bytes of a file, or of standard input for "-", in pieces of whole lines.

    A line that is too long is a LostLine, and so is the place from which on nothing can be read.
    Lines are not counted here, because whoever finds their ends counts them at no further cost.
    """
    if str(path) == STDIN and sys.stdin is None:
        raise TableError("standard input is closed")
    piped = str(path) == STDIN
    opened: AbstractContextManager[IO[bytes]] = (
        nullcontext(sys.stdin.buffer) if piped else open_bytes(path)
    )
    with opened as file:
        # from a pipe, what is there: lines are not held back until a piece is full
        read = cast(
            Callable[[int], bytes], getattr(file, "read1", file.read) if piped else file.read
        )
        rest = b""
        try:
            while piece := read(PIECE):
                end = piece.rfind(b"\n") + 1
                if end:
                    whole = b"".join((rest, memoryview(piece)[:end]))  # copied once
                    rest = piece[end:]
                    yield whole
                else:
                    rest += piece
                if len(rest) >= MAX_LINE:
                    text = rest[:KEPT_CHARACTERS].decode(errors="replace")
                    yield LostLine(f"the line has over {MAX_LINE:,} bytes", text)
                    piece = read(PIECE)
                    while piece and b"\n" not in piece:
                        piece = read(PIECE)
                    rest = piece[piece.find(b"\n") + 1 :]
            if rest:
                yield rest
        except (OSError, EOFError) as error:
            yield LostLine(f"the file cannot be read further: {error}")


def _json_line(file: str, number: int, line: bytes) -> tuple[int, object] | BadRow:
    try:
        return number, json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:  # not UTF-8, huge numbers, deep nesting
        reason = f"not JSON that can be read: {error}"
    return BadRow(
        file, number, reason, line[:KEPT_CHARACTERS].decode(errors="replace").rstrip("\r\n")
    )


def csv_lines(path: str | Path) -> Iterator[tuple[int, list[str]] | BadRow]:
    """Every row that is not blank, including the header, with the line on which it starts."""
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
    path: str | Path,
    columns: tuple[str, ...],
    optional: tuple[str, ...] = (),
    further: bool = False,
) -> Iterator[tuple[int, dict[str, str]] | BadRow]:
    """The named columns of every row, with the line on which the row starts.

    With `further`, also all others, as far as a row has them.
    """
    indexes: dict[str, int] | None = None
    others: dict[str, int] = {}
    for line in csv_lines(path):
        if isinstance(line, BadRow):
            yield line
            continue
        start, row = line
        if indexes is None:
            header = [name.strip() for name in row]
            indexes = _indexes(str(path), header, columns, optional)
            if further:
                named = {name: header.index(name) for name in header if name}
                others = {name: at for name, at in named.items() if name not in indexes}
        elif len(row) <= max(indexes.values()):
            expected = f"expected at least {max(indexes.values()) + 1} fields"
            yield BadRow(str(path), start, f"{expected}, found {len(row)}", csv_text(row))
        else:
            fields = {name: row[index] for name, index in indexes.items()}
            yield start, fields | {name: row[at] for name, at in others.items() if at < len(row)}
    if indexes is None:
        raise TableError(f"{path}: expected a header with {' and '.join(columns)}")


def csv_text(row: list[str]) -> str:
    """A row as CSV text."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()[:KEPT_CHARACTERS]


def parquet_rows(
    path: str | Path,
    columns: tuple[str, ...] | None,
    optional: tuple[str, ...] = (),
    further: bool = False,
) -> Iterator[dict[str, Any]]:
    """Every row as a dict, with the named columns, or with all if `columns` is None.

    With `further`, the named columns must be there, and all others are read too.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from matchwood.arrow.reading import rows_of

    check_file(path)
    try:
        with pq.ParquetFile(path) as file:
            chosen = None
            if columns is not None:
                names = list(file.schema_arrow.names)
                chosen = list(_indexes(str(path), names, columns, optional))
                chosen = None if further else chosen
            for batch in file.iter_batches(columns=chosen):
                yield from rows_of(batch)
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: {error}") from None


def _indexes(
    file: str, header: list[str], columns: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, int]:
    """The indexes of columns in a header; a TableError if one that must be there is missing."""
    for name in columns:
        if name not in header:
            names = ", ".join(header) or "none"
            raise TableError(f"{file}: expected a column {name!r}, found {names}")
    return {name: header.index(name) for name in (*columns, *optional) if name in header}
