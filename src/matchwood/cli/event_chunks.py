"""Events in chunks that fit into memory, and the events that are rejected."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from matchwood.cli.entry_point import dumps
from matchwood.tables import BadRow, TableError, read_events
from matchwood.tables.formats import KEPT_CHARACTERS, STDIN, check_file, format_of

# Events of the first chunk. The size of the following chunks depends on the number of matches.
FIRST_EVENTS = 256

# Events of the largest chunk of dicts.
MOST_ROWS = 1 << 14

# Events of the largest chunk of an Arrow table.
MOST_IN_TABLE = 1 << 16

# Matches that a chunk should have at most.
MOST_MATCHES = 1 << 21

# Rejected events that are shown on standard error.
MOST_REPORTED = 100


class EventChunk(NamedTuple):
    """Some events, with the name of each in the output and its line in the input."""

    events: Any  # what Matcher.match_batches takes: a list of dicts, or an Arrow table
    names: list[Any]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.lines)

    def event_at(self, index: int) -> dict[str, Any]:
        """One event as a dict."""
        if isinstance(self.events, list):
            return dict(self.events[index])
        from matchwood.arrow.reading import rows_of

        return rows_of(self.events.slice(index, 1))[0]

    def only(self, indexes: list[int]) -> EventChunk:
        """The chunk with only these events."""
        if isinstance(self.events, list):
            events: Any = [self.events[index] for index in indexes]
        else:
            events = self.events.take(indexes)
        names = [self.names[index] for index in indexes]
        return EventChunk(events, names, [self.lines[index] for index in indexes])


class Size:
    """The number of events in the next chunk, which follows the matches of the chunks before."""

    def __init__(self) -> None:
        self.events = FIRST_EVENTS

    def learn(self, events: int, matches: int) -> None:
        """Adapt to the matches that a chunk of events had."""
        fit = MOST_MATCHES * events // max(1, matches)
        self.events = max(64, min(fit, 4 * self.events, MOST_IN_TABLE))


class Rejects:
    """Writes events that could not be read or matched to a file of JSON lines, or to stderr."""

    def __init__(self, source: str, file: IO[str] | None) -> None:
        self.source = "standard input" if source == STDIN else source
        self.file = file
        self.count = 0

    def add(self, line: int, reason: str, text: str) -> None:
        """Report one event."""
        self.count += 1
        if self.file is not None:
            rejected = {"line": line, "reason": reason, "text": text}
            self.file.write(dumps(rejected) + "\n")
        elif self.count <= MOST_REPORTED:
            print(f"{self.source}:{line}: {reason}", file=sys.stderr)
        elif self.count == MOST_REPORTED + 1:
            print(
                f"{self.source}: more events were rejected; --rejects FILE keeps all",
                file=sys.stderr,
            )


def is_json(path: str) -> bool:
    """Whether events are JSON lines."""
    return path == STDIN or format_of(path) == "jsonl"


def chunks(
    path: str, key: str | None, strings: bool, size: Size, rejects: Rejects
) -> Iterator[EventChunk]:
    """All events of a file, or of standard input for "-", except those that cannot be read."""
    if path != STDIN and format_of(path) == "parquet":
        return _table_chunks(path, key, size, rejects)
    return _row_chunks(path, key, strings, size, rejects)


def _row_chunks(
    path: str, key: str | None, strings: bool, size: Size, rejects: Rejects
) -> Iterator[EventChunk]:
    chunk = EventChunk([], [], [])
    as_text = path != STDIN and format_of(path) == "csv"  # because 7 and 007 are different keys
    for number, row in enumerate(read_events(path, strings=strings)):
        if isinstance(row, BadRow):
            rejects.add(row.line, row.reason, row.text)
            continue
        name: Any = number
        if key is not None:
            name = row.event.get(key)
            if name is None:
                rejects.add(row.line, f"no {key!r} to name the event by", shown(row.event))
                continue
            name = str(name) if as_text and not strings else name
        chunk.events.append(row.event)
        chunk.names.append(name)
        chunk.lines.append(row.line)
        if len(chunk) >= min(size.events, MOST_ROWS):
            yield chunk
            chunk = EventChunk([], [], [])
    if len(chunk):
        yield chunk


def _table_chunks(path: str, key: str | None, size: Size, rejects: Rejects) -> Iterator[EventChunk]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_file(path)
    done = 0
    try:
        with pq.ParquetFile(path) as file:
            if key is not None and key not in file.schema_arrow.names:
                raise TableError(f"{path}: no column {key!r} to name the events by")
            for batch in file.iter_batches(batch_size=MOST_IN_TABLE):
                table = pa.Table.from_batches([batch])
                while table.num_rows:
                    piece = table.slice(0, size.events)
                    yield _named(piece, key, done, rejects)
                    done += piece.num_rows
                    table = table.slice(piece.num_rows)
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: {error}") from None


def _named(piece: Any, key: str | None, done: int, rejects: Rejects) -> EventChunk:
    lines = list(range(done + 1, done + piece.num_rows + 1))
    if key is None:
        return EventChunk(piece, list(range(done, done + piece.num_rows)), lines)
    from matchwood.arrow.reading import values_of
    from matchwood.language.values import is_text

    names = values_of(piece[key])
    chunk = EventChunk(piece, names, lines)
    good = []
    for index, name in enumerate(names):
        if name is None:
            rejects.add(
                lines[index], f"no {key!r} to name the event by", shown(chunk.event_at(index))
            )
        elif isinstance(name, str) and not is_text(name):
            rejects.add(
                lines[index], f"its {key!r} is not valid UTF-8", shown(chunk.event_at(index))
            )
        else:
            good.append(index)
    return chunk if len(good) == len(chunk) else chunk.only(good)


def without_bad(
    chunk: EventChunk, attempt: Callable[[dict[str, Any]], Any], rejects: Rejects
) -> EventChunk:
    """The chunk with only the events that can be matched; the others are rejected."""
    from matchwood.language import EventError

    good = []
    for index in range(len(chunk)):
        text = ""
        try:
            event = chunk.event_at(index)
            text = shown(event)
            attempt(event)
        except EventError as error:
            rejects.add(chunk.lines[index], str(error), text)
        else:
            good.append(index)
    return chunk.only(good)


def shown(event: object) -> str:
    """The start of an event as JSON text."""
    try:
        return dumps(event, str)[:KEPT_CHARACTERS]
    except (ValueError, RecursionError):
        return repr(type(event))


def check_source(path: str) -> None:
    """Raise a TableError if there are no events to read, before any rules are built."""
    if path != STDIN:
        check_file(Path(path))
    elif sys.stdin is None:
        raise TableError("standard input is closed")
