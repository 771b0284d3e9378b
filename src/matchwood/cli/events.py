"""Events in chunks that fit into memory, and those that cannot be matched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from matchwood.cli.program import dumps
from matchwood.tables import BadRow, TableError, read_events
from matchwood.tables.files import SHOWN, STDIN, check_file, format_of

FIRST = 256  # events of the first chunk; the next ones are as large as their matches allow
MOST_ROWS = 1 << 14
MOST_IN_TABLE = 1 << 16
PAIRS = 1 << 21  # matches that a chunk should have at most
REPORTED = 100  # rejected events that are shown on standard error


class Chunk(NamedTuple):
    """Some events, what the output calls each, and the line each is on."""

    events: Any  # what Matcher.match_batches takes: a list of dicts, or an Arrow table
    names: list[Any]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.lines)

    def one(self, place: int) -> dict[str, Any]:
        if isinstance(self.events, list):
            return dict(self.events[place])
        from matchwood.arrow.reading import rows_of

        return rows_of(self.events.slice(place, 1))[0]

    def only(self, places: list[int]) -> Chunk:
        """The chunk with nothing but these events."""
        if isinstance(self.events, list):
            events: Any = [self.events[place] for place in places]
        else:
            events = self.events.take(places)
        return Chunk(events, [self.names[p] for p in places], [self.lines[p] for p in places])


class Size:
    """How many events the next chunk takes, by how many matches the last ones had."""

    def __init__(self) -> None:
        self.events = FIRST

    def learn(self, events: int, matches: int) -> None:
        fit = PAIRS * events // max(1, matches)
        self.events = max(64, min(fit, 4 * self.events, MOST_IN_TABLE))


class Rejects:
    """Events that could not be read or matched: in a file of JSON lines, or on standard error."""

    def __init__(self, source: str, file: IO[str] | None) -> None:
        self.source = "standard input" if source == STDIN else source
        self.file = file
        self.count = 0

    def add(self, line: int, reason: str, text: str) -> None:
        self.count += 1
        if self.file is not None:
            rejected = {"line": line, "reason": reason, "text": text}
            self.file.write(dumps(rejected) + "\n")
        elif self.count <= REPORTED:
            print(f"{self.source}:{line}: {reason}", file=sys.stderr)
        elif self.count == REPORTED + 1:
            print(f"{self.source}: more was rejected; --rejects keeps it", file=sys.stderr)


def chunks(
    path: str, key: str | None, strings: bool, size: Size, rejects: Rejects
) -> Iterator[Chunk]:
    """All events of a file, or of standard input for "-", but those that cannot be read."""
    if path != STDIN and format_of(path) == "parquet":
        return _table_chunks(path, key, size, rejects)
    return _row_chunks(path, key, strings, size, rejects)


def _row_chunks(
    path: str, key: str | None, strings: bool, size: Size, rejects: Rejects
) -> Iterator[Chunk]:
    chunk = Chunk([], [], [])
    as_text = path != STDIN and format_of(path) == "csv"  # 7 and 007 are two keys
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
            chunk = Chunk([], [], [])
    if len(chunk):
        yield chunk


def _table_chunks(path: str, key: str | None, size: Size, rejects: Rejects) -> Iterator[Chunk]:
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


def _named(piece: Any, key: str | None, done: int, rejects: Rejects) -> Chunk:
    lines = list(range(done + 1, done + piece.num_rows + 1))
    if key is None:
        return Chunk(piece, list(range(done, done + piece.num_rows)), lines)
    from matchwood.arrow.reading import values_of
    from matchwood.language.values import is_text

    names = values_of(piece[key])
    chunk = Chunk(piece, names, lines)
    good = []
    for place, name in enumerate(names):
        if name is None:
            rejects.add(lines[place], f"no {key!r} to name the event by", shown(chunk.one(place)))
        elif isinstance(name, str) and not is_text(name):
            rejects.add(lines[place], f"its {key!r} is not valid UTF-8", shown(chunk.one(place)))
        else:
            good.append(place)
    return chunk if len(good) == len(chunk) else chunk.only(good)


def without_bad(chunk: Chunk, attempt: Callable[[dict[str, Any]], Any], rejects: Rejects) -> Chunk:
    """The events of a chunk that can be matched; the others are rejected."""
    from matchwood.language import EventError

    good = []
    for place in range(len(chunk)):
        text = ""
        try:
            event = chunk.one(place)
            text = shown(event)
            attempt(event)
        except EventError as error:
            rejects.add(chunk.lines[place], str(error), text)
        else:
            good.append(place)
    return chunk.only(good)


def shown(event: object) -> str:
    """An event as text, as far as it is worth keeping."""
    try:
        return dumps(event, str)[:SHOWN]
    except (ValueError, RecursionError):
        return repr(type(event))


def check_source(path: str) -> None:
    """A TableError where there are no events to read, before rules are built in vain."""
    if path != STDIN:
        check_file(Path(path))
    elif sys.stdin is None:
        raise TableError("standard input is closed")
