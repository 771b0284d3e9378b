"""Matches as JSON lines or Parquet, in files that appear only once they are complete."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from matchwood.cli.entry_point import dumps, misuse
from matchwood.cli.standard_streams import failure_of

if TYPE_CHECKING:
    from matchwood.match.parts.rule_columns import RuleDetails
    from matchwood.matcher import Matcher


class Output(Protocol):
    """Where matches go."""

    def write(self, names: list[Any], pieces: list[Any]) -> None:
        """Write the matches of a chunk: the names of its events, and pairs as record batches."""

    def write_numbers(self, first: int, events: Any, rules: Any, ids: Any) -> None:
        """Write matches of events that are named by numbers: `events` are counted from `first`.

        `rules` are indices into `ids`, which are mostly the same in every call.
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
def open_output(target: Path | None, kind: str, facts: RuleFacts) -> Iterator[Output]:
    """Where matches of a format go: a file, or standard output; `facts` go with each match."""
    if kind == "parquet":
        if target is None:
            misuse("Parquet needs a file to go to: --output FILE")
        with beside(target) as path:
            parquet = ParquetOutput(path, facts)
            try:
                yield parquet
            finally:
                parquet.close()
        return
    with text_file(target) as file:
        yield JsonOutput(file or sys.stdout, facts)


class RuleFacts:
    """What is written about each rule beside its id: none, or some of `FACTS`."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = names
        self._details: dict[Any, RuleDetails] = {}
        self._columns: tuple[Any, list[Any]] | None = None  # with the ids that they are about

    def of(self, matcher: Matcher) -> None:
        """Read the facts of all rules of a matcher."""
        if self.names:
            self._details = {one.id: one for one in matcher.store.snapshot.details()}

    def as_json(self, ids: Any) -> np.ndarray[Any, Any]:
        """The JSON text that stands for each rule."""
        if not self.names:
            return np.array([dumps(rule_id) for rule_id in ids.to_pylist()], object)
        return np.array([dumps(self._object(rule_id)) for rule_id in ids.to_pylist()], object)

    def _object(self, rule_id: Any) -> dict[str, Any]:
        details = self._details[rule_id]
        found = {"tags": sorted(details.tags), "data": details.data}
        about = {name: found.get(name, getattr(details, name)) for name in self.names}
        return {"id": rule_id, **about}

    def fields(self) -> list[tuple[str, Any]]:
        """The names and types of the columns about rules."""
        from matchwood.match.search.rule_facts import FACTS

        return [(name, FACTS[name]) for name in self.names]

    def columns(self, ids: Any) -> list[Any]:
        """The columns about rules, by the indices of their ids."""
        if self._columns is None or not _are_same(self._columns[0], ids):
            from matchwood.match.search.rule_facts import fact_array

            details = [self._details[i] for i in ids.to_pylist()] if self.names else []
            self._columns = ids, [fact_array(details, name) for name in self.names]
        return self._columns[1]


def _are_same(known: Any, ids: Any) -> bool:
    """Whether rules have the same indices as before: they change when pending rules are built."""
    return known is ids or bool(known.equals(ids))


class JsonOutput:
    """One line per event that matches: the name of the event, and the ids of its rules.

    With facts about rules, an object for each rule stands in place of its id.
    """

    def __init__(self, file: IO[str], facts: RuleFacts) -> None:
        self.file = file
        self._facts = facts
        self._texts: tuple[Any, np.ndarray[Any, Any]] | None = None  # with the ids of these rules

    def write(self, names: list[Any], pieces: list[Any]) -> None:
        if not pieces:
            return
        texts = self._texts_of(pieces[0].column("rule_id").dictionary)
        events = np.concatenate([piece.column("event").to_numpy() for piece in pieces])
        rules = np.concatenate([piece.column("rule_id").indices.to_numpy() for piece in pieces])
        order = np.argsort(events, kind="stable")
        events, rules = events[order], rules[order]
        starts = np.flatnonzero(np.r_[True, events[1:] != events[:-1]])
        for low, high in zip(starts, [*starts[1:], len(events)], strict=True):
            name = dumps(names[events[low]], plain)
            self.file.write(f'{{"event": {name}, "rules": [')
            self.file.write(", ".join(texts[rules[low:high]]))
            self.file.write("]}\n")

    def write_numbers(self, first: int, events: Any, rules: Any, ids: Any) -> None:
        if not len(events):
            return
        if np.any(events[1:] < events[:-1]):
            order = np.argsort(events, kind="stable")
            events, rules = events[order], rules[order]
        texts = self._texts_of(ids)[rules].tolist()
        starts = np.flatnonzero(np.r_[True, events[1:] != events[:-1]])
        names = (events[starts].astype(np.int64) + first).tolist()
        bounds = [*starts.tolist(), len(texts)]
        lines = [
            f'{{"event": {name}, "rules": [{", ".join(texts[low:high])}]}}\n'
            for name, low, high in zip(names, bounds[:-1], bounds[1:], strict=True)
        ]
        self.file.write("".join(lines))

    def _texts_of(self, ids: Any) -> np.ndarray[Any, Any]:
        """The JSON text that stands for each rule."""
        if self._texts is None or not _are_same(self._texts[0], ids):
            self._texts = ids, self._facts.as_json(ids)
        return self._texts[1]


def plain(value: Any) -> Any:
    """A key that JSON has no form for: times in ISO 8601, anything else as text."""
    return value.isoformat() if isinstance(value, date | time) else str(value)


class ParquetOutput:
    """One row per match, with the columns event and rule_id, and those about rules."""

    def __init__(self, path: Path, facts: RuleFacts) -> None:
        self.path = path
        self._facts = facts
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
        schema = self._schema(keys.type, rule_type)
        if self._writer is None:
            self._open(schema)
        elif keys.type != self._writer.schema.field("event").type:
            self._several_types()
        for piece in pieces:
            rule_id = piece.column("rule_id")
            about = self._facts.columns(rule_id.dictionary)
            columns = [keys.take(piece.column("event")), rule_id]
            columns += [values.take(rule_id.indices) for values in about]
            self._writer.write_batch(pa.record_batch(columns, schema=schema))

    def write_numbers(self, first: int, events: Any, rules: Any, ids: Any) -> None:
        import pyarrow as pa

        rule_type = pa.dictionary(pa.int32(), ids.type)
        schema = self._schema(pa.int64(), rule_type)
        if self._writer is None:
            self._open(schema)
        numbers = pa.array(events.astype(np.int64) + first)
        rule_id = pa.DictionaryArray.from_arrays(pa.array(rules), ids)
        about = [values.take(rule_id.indices) for values in self._facts.columns(ids)]
        self._writer.write_batch(pa.record_batch([numbers, rule_id, *about], schema=schema))

    def _schema(self, event: Any, rule_id: Any) -> Any:
        import pyarrow as pa

        return pa.schema([("event", event), ("rule_id", rule_id), *self._facts.fields()])

    def _several_types(self) -> NoReturn:
        misuse("the keys of the events are of several types, which Parquet cannot hold: use jsonl")

    def _open(self, schema: Any) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(self.path, schema)

    def close(self) -> None:
        import pyarrow as pa

        if self._writer is None:  # nothing matched: an empty table
            self._open(self._schema(pa.int64(), pa.string()))
        self._writer.close()
