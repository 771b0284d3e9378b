"""Tables of events: one JSON object per line, or one row of CSV or Parquet per event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.tables.formats import (
    STDIN,
    BadRow,
    TableError,
    csv_lines,
    csv_text,
    format_of,
    json_lines,
    parquet_rows,
)

# Numbers as JSON writes them; 007 is not a number.
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

# Spellings of true and false.
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False}
BOOLEANS["FALSE"] = False

# Distinct fields of CSV whose values are cached.
KNOWN = 100_000


class EventRow(NamedTuple):
    """An event of a table and its line; in Parquet, `line` is the number of the row."""

    file: str
    line: int
    event: dict[str, Any]


def read_events(path: str | Path, *, strings: bool = False) -> Iterator[EventRow | BadRow]:
    """The events of a file in order; "-" reads JSON lines from standard input.

    In CSV, `field_value` converts the fields; with `strings`, all are strings, also empty ones.

    >>> from pathlib import Path
    >>> _ = Path("events.csv").write_text("age,city,zip\\n18,Rome,00184\\n,Oslo,\\n")
    >>> [row.event for row in read_events("events.csv")]
    [{'age': 18, 'city': 'Rome', 'zip': '00184'}, {'city': 'Oslo'}]
    """
    file = str(path)
    kind = "jsonl" if file == STDIN else format_of(path)
    if kind == "csv":
        yield from _csv_events(path, strings)
    elif kind == "parquet":
        for number, event in enumerate(parquet_rows(path, None), 1):
            yield EventRow(file, number, event)
    else:
        for line in json_lines(path):
            if isinstance(line, BadRow):
                yield line
            elif isinstance(line[1], dict):
                yield EventRow(file, line[0], line[1])
            else:
                reason = f"an event is an object, found {type(line[1]).__name__}"
                yield BadRow(file, line[0], reason, repr(line[1])[:100])


def _csv_events(path: str | Path, strings: bool) -> Iterator[EventRow | BadRow]:
    """The events of a CSV; a row with more or fewer fields than the header is a BadRow."""
    file = str(path)
    header: list[str] | None = None
    value = _all_strings if strings else _cached()
    for line in csv_lines(path):
        if isinstance(line, BadRow):
            yield line
            continue
        number, row = line
        if header is None:
            header = _header(file, row)
        elif len(row) != len(header):
            reason = f"expected {len(header)} fields, found {len(row)}"
            yield BadRow(file, number, reason, csv_text(row))
        else:
            pairs = zip(header, map(value, row), strict=True)
            yield EventRow(file, number, {name: read for name, read in pairs if read is not None})
    if header is None:
        raise TableError(f"{path}: expected a header with the names of attributes")


def _header(file: str, row: list[str]) -> list[str]:
    names = [name.strip() for name in row]
    for name in names:
        if not name:
            raise TableError(f"{file}: a column has no name")
        if names.count(name) > 1:
            raise TableError(f"{file}: two columns are named {name!r}")
    return names


def field_value(field: str) -> Any:
    """The value of a field of CSV: a number as JSON writes it, true or false, None if empty.

    Anything else is a string: `007`, `1,000`, `NaN`, and times, which still compare as times.

    >>> field_value("18"), field_value("007"), field_value("true"), field_value("")
    (18, '007', True, None)
    """
    if field in BOOLEANS:
        return BOOLEANS[field]
    number = NUMBER.fullmatch(field)
    if number is None:
        return field or None
    try:
        return float(field) if number[2] or number[3] else int(field)
    except ValueError:  # thousands of digits
        return field


def _all_strings(field: str) -> Any:
    return field


def _cached() -> Callable[[str], Any]:
    """`field_value` with a cache."""
    known: dict[str, Any] = {}

    def value(field: str) -> Any:
        try:
            return known[field]
        except KeyError:
            if len(known) >= KNOWN:
                known.clear()
            converted = known[field] = field_value(field)
            return converted

    return value
