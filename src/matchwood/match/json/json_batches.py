"""Texts that are scanned, as a batch: their codes, and the values that rules read on demand.

Atoms such as comparisons of two attributes are evaluated on columns, of which the scanner notes
where each value stands in its text. Whatever else they need is read from the whole text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.arrow.making import plain_array
from matchwood.index.build.index_form import evaluated_whole
from matchwood.kernels.array_types import Int32Array, Int64Array, UInt8Array
from matchwood.language.events import Event
from matchwood.language.tree import TruthTest
from matchwood.language.tree.elements import reads_everything
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.codes.lazy_columns import AskedColumn, LazyColumns
from matchwood.match.event.lazy_atoms import LazyAtoms
from matchwood.match.json.json_arrays import NO_VALUE, NOT_SINGLE
from matchwood.match.json.json_event_kernels import (
    ROWS,
    CodeRows,
)
from matchwood.match.json.json_text import event_of


class Texts(NamedTuple):
    """Some JSON texts in one run of bytes, and which of them are left to Python's parser."""

    address: int  # see `kernels.text_bytes`
    starts: Int64Array
    ends: Int64Array
    left_out: UInt8Array
    owner: object  # what keeps the bytes alive

    def __len__(self) -> int:
        return len(self.starts)

    def bytes_of(self, number: int) -> bytes:
        """One text."""
        view = memoryview(self.owner)  # type: ignore[arg-type]
        return bytes(view[self.starts[number] : self.ends[number]])


def noted_attributes(atoms: LazyAtoms | None) -> list[str]:
    """The attributes that are read one by one, and not with the whole event."""
    names: dict[str, None] = {}
    for node in () if atoms is None else atoms.nodes():
        asked = node.operands[0] if isinstance(node, TruthTest) else node
        if not evaluated_whole(asked) and not reads_everything(asked):
            names.update(dict.fromkeys(asked.attributes))
    return list(names)


def rows_between(rows: CodeRows, texts: Texts, first: int, end: int) -> Int64Array:
    """The rows of the texts first..end, without those that are left out."""
    numbers = rows.event[: int(rows.sizes[ROWS])]
    kept = (numbers >= first) & (numbers < end) & (texts.left_out[numbers] == 0)
    return np.flatnonzero(kept)


def batch_codes(
    rows: CodeRows, chosen: Int64Array, lazy: LazyColumns | None
) -> tuple[BatchCodes, Int32Array]:
    """Some rows in the form that other strategies take, and the number of the text of each."""
    count, codes, lists, elements, hits = (int(size) for size in rows.sizes)
    kept = np.zeros(count, np.bool_)
    kept[chosen] = True
    place = np.cumsum(kept) - 1
    sizes = np.diff(rows.start[: count + 1])
    in_kept = np.repeat(kept, sizes)
    slots, row_of_slot = np.unique(rows.slots[:codes][in_kept], return_inverse=True)
    matrix = np.zeros((len(slots), len(chosen)), np.int32)
    matrix[row_of_slot, np.repeat(place, sizes)[in_kept]] = rows.codes[:codes][in_kept]
    found = (
        chosen.astype(np.int32),
        rows.hit_start[: count + 1].astype(np.int64),
        rows.hits[:hits].copy(),
    )
    batch = BatchCodes(
        slots,
        matrix,
        rows.list_start[: lists + 1].copy(),
        rows.list_codes[:elements].copy(),
        [found],
        len(chosen),
        lazy,
    )
    return batch, rows.event[chosen]


class ScannedEvents:
    """Some rows, as atoms that are evaluated on demand read them; one thread uses it."""

    def __init__(
        self,
        atoms: LazyAtoms,
        places: Mapping[str, int],
        texts: Texts,
        numbers: Int32Array,
        noted: NDArray[np.int32],
    ) -> None:
        """`places` says which of the noted values, of which each row has some, are whose."""
        self._atoms = atoms
        self._places = places
        self._texts = texts
        self._numbers = numbers
        self._noted = noted
        self._events: dict[int, Event] = {}

    def columns(self) -> LazyColumns:
        """The atoms of all of these events."""
        return LazyColumns(self._atoms, len(self._numbers), self._column, self.event)

    def event(self, place: int) -> Event:
        """One of the events, read as a whole."""
        seen = self._events.get(place)
        if seen is None:
            text = self._texts.bytes_of(int(self._numbers[place]))
            seen = self._events[place] = Event(event_of(text), self._atoms.aliases)
        return seen

    def _column(self, name: str) -> AskedColumn:
        if name not in self._places:
            return AskedColumn(
                name, None, lambda: [self.event(n).given(name) for n in range(len(self._numbers))]
            )
        values = self._values(name)
        return AskedColumn(name, plain_array(values), lambda: values)

    def _values(self, name: str) -> list[object]:
        start, end = self._noted[:, 2 * self._places[name] :][:, :2].T.astype(np.int64)
        values: list[object] = [None] * len(self._numbers)
        single = np.flatnonzero(end > NO_VALUE)
        at = self._texts.starts[self._numbers[single]]
        view = memoryview(self._texts.owner)  # type: ignore[arg-type]
        bounds = zip((at + start[single]).tolist(), (at + end[single]).tolist(), strict=True)
        joined = b",".join([view[low:high] for low, high in bounds])
        for place, value in zip(single.tolist(), json.loads(b"[" + joined + b"]"), strict=True):
            values[place] = value
        for place in np.flatnonzero(end == NOT_SINGLE).tolist():
            values[place] = self.event(place).given(name)
        return values
