"""Matches as JSON lines or Parquet, in files that appear only once they are complete."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import IO, Any, NoReturn, Protocol

import numpy as np

from matchwood.cli.entry_point import dumps, misuse
from matchwood.cli.standard_streams import failure_of


class Output(Protocol):
    """Where matches go."""

    def write(self, names: list[Any], pieces: list[Any]) -> None:
        """Write the matches of a chunk: the names of its events, and pairs as record batches."""

    def write_numbers(self, first: int, events: Any, rules: Any, ids: Any) -> None:
        """Write matches of events that are named by numbers: `events` are counted from `first`.

        `rules` are indices into `ids`, which are the same in every call.
        """


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A temporary path to write to, which replaces the target if all went well.

    A target that is not a regular file, such as /dev/null or a pipe, is written directly.
    """
    if target.is_dir():
        misuse(f"{target} is a folder")
    itself = target.exists() and not target.is_file()
    written = target
    if not itself:
        target = Path(os.path.realpath(target))
        written = target.with_name(f"{target.name}.tmp-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        yield written
        if not itself:
            os.replace(written, target)
    except BaseException as error:
        if not itself:
            written.unlink(missing_ok=True)
        is_write_error = isinstance(error, OSError) and not isinstance(error, BrokenPipeError)
        if not is_write_error or failure_of(sys.stdout) is not None:
            raise
        misuse(f"{target}: {getattr(error, 'strerror', None) or error}")


@contextmanager
def text_file(target: Path | None) -> Iterator[IO[str] | None]:
    """A text file that appears once it is complete; None without a target."""
    if target is None:
        yield None
        return
    # Half of a surrogate pair is written as \\udc80, which is its spelling in JSON.
    with beside(target) as path, open(path, "w", encoding="utf-8", errors="backslashreplace") as f:
        yield f


@contextmanager
def open_output(target: Path | None, kind: str) -> Iterator[Output]:
    """Where matches of a format go: a file, or standard output."""
    if kind == "parquet":
        if target is None:
            misuse("Parquet needs a file to go to: --output FILE")
        with beside(target) as path:
            parquet = ParquetOutput(path)
            try:
                yield parquet
            finally:
                parquet.close()
        return
    with text_file(target) as file:
        yield JsonOutput(file or sys.stdout)


class JsonOutput:
    """One line per event that matches: the name of the event, and the ids of its rules."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self._ids: np.ndarray[Any, Any] | None = None

    def write(self, names: list[Any], pieces: list[Any]) -> None:
        if not pieces:
            return
        if self._ids is None:  # the rules do not change, so neither does the dictionary
            ids = pieces[0].column("rule_id").dictionary.to_pylist()
            self._ids = np.array([dumps(i) for i in ids], object)
        events = np.concatenate([piece.column("event").to_numpy() for piece in pieces])
        rules = np.concatenate([piece.column("rule_id").indices.to_numpy() for piece in pieces])
        order = np.argsort(events, kind="stable")
        events, rules = events[order], rules[order]
        starts = np.flatnonzero(np.r_[True, events[1:] != events[:-1]])
        for low, high in zip(starts, [*starts[1:], len(events)], strict=True):
            name = dumps(names[events[low]], plain)
            self.file.write(f'{{"event": {name}, "rules": [')
            self.file.write(", ".join(self._ids[rules[low:high]]))
            self.file.write("]}\n")

    def write_numbers(self, first: int, events: Any, rules: Any, ids: Any) -> None:
        if self._ids is None:
            self._ids = np.array([dumps(i) for i in ids.to_pylist()], object)
        if not len(events):
            return
        order = np.argsort(events, kind="stable")
        events, texts = events[order], self._ids[rules[order]].tolist()
        starts = np.flatnonzero(np.r_[True, events[1:] != events[:-1]])
        names = (events[starts].astype(np.int64) + first).tolist()
        bounds = [*starts.tolist(), len(texts)]
        lines = [
            f'{{"event": {name}, "rules": [{", ".join(texts[low:high])}]}}\n'
            for name, low, high in zip(names, bounds[:-1], bounds[1:], strict=True)
        ]
        self.file.write("".join(lines))


def plain(value: Any) -> Any:
    """A key that JSON has no form for: times in ISO 8601, anything else as text."""
    return value.isoformat() if isinstance(value, date | time) else str(value)


class ParquetOutput:
    """One row per match, with the columns event and rule_id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: Any = None

    def write(self, names: list[Any], pieces: list[Any]) -> None:
        import pyarrow as pa

        from matchwood.arrow.making import Mixed, array_of

        if not pieces:
            return
        try:
            keys = array_of(names, joined=True)
        except Mixed:
            self._several_types()
        rule_type = pieces[0].schema.field("rule_id").type
        schema = pa.schema([("event", keys.type), ("rule_id", rule_type)])
        if self._writer is None:
            self._open(schema)
        elif keys.type != self._writer.schema.field("event").type:
            self._several_types()
        for piece in pieces:
            columns = [keys.take(piece.column("event")), piece.column("rule_id")]
            self._writer.write_batch(pa.record_batch(columns, schema=schema))

    def write_numbers(self, first: int, events: Any, rules: Any, ids: Any) -> None:
        import pyarrow as pa

        rule_type = pa.dictionary(pa.int32(), ids.type)
        schema = pa.schema([("event", pa.int64()), ("rule_id", rule_type)])
        if self._writer is None:
            self._open(schema)
        numbers = pa.array(events.astype(np.int64) + first)
        rule_id = pa.DictionaryArray.from_arrays(pa.array(rules), ids)
        self._writer.write_batch(pa.record_batch([numbers, rule_id], schema=schema))

    def _several_types(self) -> NoReturn:
        misuse("the keys of the events are of several types, which Parquet cannot hold: use jsonl")

    def _open(self, schema: Any) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(self.path, schema)

    def close(self) -> None:
        import pyarrow as pa

        if self._writer is None:  # nothing matched: an empty table
            self._open(pa.schema([("event", pa.int64()), ("rule_id", pa.string())]))
        self._writer.close()
