"""Matches that workers write to files of Parquet themselves, with their figures.

Spark then moves no matches between Python and Java, which costs more than to find them. It gets one
row per task, which names the file and has the figures, and the events that were rejected.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from matchwood.match.batch.grouping_kernels import count_events
from matchwood.spark.match.devices_used import telling_devices
from matchwood.spark.match.event_files import EventFiles
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.plan import Plan, SlicePairs
from matchwood.spark.match.replicated import match_replicated

# The column with the figures of a task.
FACTS = "facts"
# Rows of a row group, about.
GROUP_ROWS = 1 << 20
# Bytes of a row group, about, unless one batch has more.
GROUP_BYTES = 64 << 20


class FileFacts(NamedTuple):
    """What a task has written, and the figures of its events."""

    file: str | None  # its name; None if there was nothing to write
    rows: int
    events: dict[int, int]  # by the largest power of two in their number of matches; -1 for none
    rule_indexes: NDArray[np.int64]  # of the rules that matched
    rule_counts: NDArray[np.int64]
    rejected: int  # events that could not be read

    @classmethod
    def read(cls, data: bytes) -> FileFacts:
        return cls(*pickle.loads(data))


def writing(
    plan: Plan, folder: str, version: str, files: EventFiles | None
) -> Callable[[Any], Iterator[Any]]:
    """A task that writes a file of matches, and returns its facts and the rejected events.

    It is given the events, or, where it reads them from files itself, its number.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        with FileWriter(plan, Path(folder), version) as writer:
            events = batches if files is None else files.batches(batches)
            written = match_replicated(plan, events, writer)
            for rejected in telling_devices(plan.devices_used, written):
                yield rejected.append_column(FACTS, pa.nulls(len(rejected), pa.binary()))
        yield from writer.facts()

    return run


class FileWriter(MatchWriter):
    """Writes matches to one file; only rejected events are given back."""

    def __init__(self, plan: Plan, folder: Path, version: str) -> None:
        super().__init__(plan._replace(rejects=True))
        self._folder = folder
        self._version = version
        self._kinds: list[Any] | None = None  # of the kept columns, once there are events
        self._file: str | None = None
        self._parquet: Any = None
        self._waiting: list[Any] = []
        self._waiting_rows = self._waiting_bytes = self._written = 0
        self._rejected = 0
        self._powers: dict[int, int] = {}
        self._of_rule = np.zeros(1, np.int64)  # the matches of rule i are at i + 1

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        if self._parquet is not None:
            self._parquet.close()

    def rejected(self, kept: Sequence[Any], rejected: list[tuple[int, str]]) -> Iterator[Any]:
        self._kinds = [column.type for column in kept]
        self._rejected += len(rejected)
        yield from super().rejected(kept, rejected)

    def matches(
        self, kept: Sequence[Any], events: int, pairs: Iterator[SlicePairs], ids: Any
    ) -> Iterator[Any]:
        """Write the matches of some events, and give nothing back."""
        if len(self._of_rule) == 1:
            self._of_rule = np.zeros(len(ids) + 1, np.int64)
        of_event = np.zeros(events + 1, np.int64)  # the matches of event i are at i + 1
        for batch in super().matches(kept, events, self._counted(pairs, of_event), ids):
            self._add(batch.remove_column(batch.num_columns - 1))  # the reason, which is null
        powers, counts = np.unique(_powers(of_event[1:]), return_counts=True)
        for power, count in zip(powers.tolist(), counts.tolist(), strict=True):
            self._powers[power] = self._powers.get(power, 0) + count
        yield from ()

    def _counted(
        self, pairs: Iterator[SlicePairs], of_event: NDArray[np.int64]
    ) -> Iterator[SlicePairs]:
        for numbers, rule_indexes in pairs:
            count_events(numbers, of_event)
            count_events(rule_indexes, self._of_rule)
            yield numbers, rule_indexes

    def _ids(self, ids: Any, indexes: Any) -> Any:
        """Texts stay indexes, which Parquet can write as they are."""
        if ids.type == pa.int64() or self._has_facts:
            return ids.take(indexes)
        return pa.DictionaryArray.from_arrays(indexes, ids)

    def _add(self, batch: Any) -> None:
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= GROUP_ROWS or self._waiting_bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write what waits as a row group."""
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        self._waiting = []
        self._waiting_rows = self._waiting_bytes = 0
        versions = pa.DictionaryArray.from_arrays(
            np.zeros(table.num_rows, np.int32), pa.array([self._version])
        )
        table = table.append_column("rules_version", versions)
        if self._parquet is None:
            self._file = f"{uuid.uuid4().hex}.parquet"
            # Without the schema of Arrow, in which texts would remain dictionaries.
            self._parquet = pq.ParquetWriter(
                self._folder / self._file, table.schema, store_schema=False
            )
        self._parquet.write_table(table, row_group_size=table.num_rows)
        self._written += table.num_rows

    def facts(self) -> Iterator[Any]:
        """The row about the file; nothing if there were no events."""
        if self._kinds is None:
            return
        matched = np.flatnonzero(self._of_rule[1:])
        counts = self._of_rule[1:][matched]
        facts = FileFacts(self._file, self._written, self._powers, matched, counts, self._rejected)
        nulls = [pa.nulls(1, kind) for kind in (*self._kinds, *self._types, pa.string())]
        columns = [*nulls, pa.array([pickle.dumps(tuple(facts))], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, [*self._names, FACTS])


def _powers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The largest power of two in each number; -1 for none."""
    return np.frexp(counts.astype(np.float64))[1].astype(np.int64) - 1
