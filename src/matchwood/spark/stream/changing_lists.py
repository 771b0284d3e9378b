"""Lists with names that change while a stream runs: which values each micro-batch has.

The values of a list are written to the checkpoint before any event is matched with them, in one of
two places that take turns, and the note of the micro-batch says in which. A micro-batch that is run
again therefore has the same values, however the list has changed since.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from matchwood.language.errors import RuleError
from matchwood.spark.endpoints import RowSource
from matchwood.spark.match.given_lists import PickledList, distinct_values, pickled
from matchwood.spark.storage import corrupt_columns, reason, was_stopped
from matchwood.spark.stream.durable_log import Note
from matchwood.spark.stream.rule_signatures import frame_of, list_signature

log = logging.getLogger("matchwood.spark.stream")

# What the note of a micro-batch says about the lists of its rules, by name.
ListNotes = Mapping[str, Note]


class ChangingLists:
    """The lists of a stream, looked at between micro-batches and stored when they changed."""

    def __init__(self, sources: Mapping[str, RowSource], folder: str, poll: float) -> None:
        self._sources = dict(sources)
        self._folder = f"{folder.rstrip('/')}/lists"
        self._poll = poll
        self._looked: float | None = None
        self._failed: dict[str, str] = {}  # what was wrong with a list when it was looked at last
        self._open: dict[str, tuple[Note, PickledList]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that rules may use."""
        return tuple(sorted(self._sources))

    def added(self, spark: SparkSession, noted: ListNotes, names: Iterable[str]) -> ListNotes:
        """The notes of all lists that new rules name; those that are known stay as they are."""
        return {
            name: noted[name] if name in noted else self._stored(spark, name, None)
            for name in names
        }

    def looked_at(self, spark: SparkSession, noted: ListNotes) -> ListNotes:
        """The notes of lists as they are now; one that cannot be read stays as it was."""
        now = monotonic()
        if not noted or (self._looked is not None and now - self._looked < self._poll):
            return noted
        self._looked = now
        return {name: self._looked_at(spark, name, note) for name, note in noted.items()}

    def _looked_at(self, spark: SparkSession, name: str, note: Note) -> Note:
        if name not in self._sources:  # the rules have not been compiled without it yet
            return note
        try:
            note = self._stored(spark, name, note)
        except Exception as error:  # whatever is wrong with a list, the stream goes on
            if was_stopped(error):
                raise
            told = reason(error)
            if self._failed.get(name) != told:
                log.warning("the list %r stays as it was: %s", name, told)
            self._failed[name] = told
        else:
            self._failed.pop(name, None)
        return note

    def _stored(self, spark: SparkSession, name: str, note: Note | None) -> Note:
        """The note of a list, whose values are stored first if they may be others than noted."""
        source = self._sources[name]
        signed = list_signature(spark, source)
        if note is not None and note["signature"] == signed:
            return note
        place = 0 if note is None else 1 - int(note["place"])
        frame = frame_of(spark, source)
        try:
            values = distinct_values(frame.drop(*corrupt_columns(frame)))
        except RuleError as error:
            raise ValueError(f"the list {name!r}: {error.reason}") from None
        # As many files as cores would be read one by one.
        values.coalesce(1).write.mode("overwrite").parquet(self._path(name, place))
        stored = {"signature": signed, "place": place}
        self._open[name] = stored, self._read(spark, name, place)
        if note is not None:
            log.info("the list %r has changed", name)
        return stored

    def _read(self, spark: SparkSession, name: str, place: int) -> PickledList:
        return pickled(name, spark.read.parquet(self._path(name, place)))

    def _path(self, name: str, place: int) -> str:
        """A place for the values of a list, whose name may be any text."""
        return f"{self._folder}/{hashlib.sha256(name.encode()).hexdigest()[:16]}/{place}"

    def opened(self, spark: SparkSession, noted: ListNotes) -> dict[str, PickledList]:
        """The lists of a note, ready to be sent; those that are the same as before are kept."""
        for name in set(self._open) - set(noted):
            del self._open[name]
        for name, note in noted.items():
            if name not in self._open or self._open[name][0] != note:
                self._open[name] = note, self._read(spark, name, int(note["place"]))
        return {name: self._open[name][1] for name in noted}

    def __getstate__(self) -> dict[str, Any]:
        """The state that is sent to where micro-batches run, without what belongs to a session."""
        return {**self.__dict__, "_open": {}, "_looked": None, "_failed": {}}
