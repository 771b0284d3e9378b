"""Many events as the codes of a segment, and those of rows; `table_codes` has those of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.records import code_of_list, list_of_code
from matchwood.language.events import Event
from matchwood.match.batch.codes.card_columns import CardColumns
from matchwood.match.batch.codes.lazy_columns import AskedColumn, LazyColumns
from matchwood.match.event.encode import Strings, encode
from matchwood.match.event.event_matcher import SegmentMatcher
from matchwood.match.event.lazy_atoms import LazyAtoms

# The opaque atoms that are true of the values of one attribute: which value each event has (-1:
# none), bounds of each value's atoms, and these atoms.
Hits = tuple[Int32Array, Int64Array, Int32Array]


class BatchCodes:
    """Some events as codes of a segment: codes[i, event] is the code of slots[i].

    Codes that a card can make by itself are made here only if something asks for `codes`.
    """

    def __init__(
        self,
        slots: Int32Array,
        codes: Int32Array | Callable[[], Int32Array],
        list_start: Int32Array,
        list_codes: Int32Array,
        hits: list[Hits],  # one per attribute with patterns
        events: int,
        lazy: LazyColumns | None,  # of a segment with lazy atoms
        columns: CardColumns | None = None,
    ) -> None:
        self.slots = slots
        self._codes = codes
        self.list_start = list_start
        self.list_codes = list_codes
        self.hits = hits
        self.events = events
        self.lazy = lazy
        self.columns = columns

    @property
    def codes(self) -> Int32Array:
        if callable(self._codes):  # of several threads each may make them
            self._codes = self._codes()
        return self._codes

    def event(
        self, event: int
    ) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, Int32Array]:
        """One event: its slots, their codes, bounds and codes of lists, and its hits."""
        column = self.codes[:, event]
        there = np.flatnonzero(column)
        hits = [
            atoms[bounds[which[event]] : bounds[which[event] + 1]]
            for which, bounds, atoms in self.hits
            if which[event] >= 0
        ]
        joined = np.concatenate(hits) if hits else np.empty(0, np.int32)
        return self.slots[there], column[there], self.list_start, self.list_codes, joined


def codes_of_rows(
    events: Sequence[Mapping[str, object] | Event], matcher: SegmentMatcher
) -> tuple[BatchCodes, list[Event | None]]:
    """The codes of events that are mappings, and the events that had to be read for that."""
    slots: dict[int, int] = {}
    cells: list[tuple[int, int, int]] = []
    list_start = [0]
    list_codes: list[int] = []
    strings: dict[str, list[tuple[int, Strings]]] = {}
    read: list[Event | None] = []
    found: list[list[int]] = []
    for number, event in enumerate(events):
        encoded, seen = encode(event, matcher.encoding)
        read.append(seen)
        found.append(encoded.hits)
        base = len(list_start) - 1
        for slot, code in zip(encoded.slots, encoded.codes, strict=True):
            row = slots.setdefault(slot, len(slots))
            moved = code if code >= 0 else code_of_list(base + list_of_code(code))
            cells.append((row, number, moved))
        if len(encoded.list_start) > 1:
            at = len(list_codes)
            list_codes.extend(encoded.list_codes)
            list_start.extend(at + bound for bound in encoded.list_start[1:])
        for attribute, value in encoded.strings:
            strings.setdefault(attribute, []).append((number, value))
    codes = np.zeros((len(slots), len(events)), np.int32)
    if cells:
        rows, numbers, values = np.array(cells, np.int64).T
        codes[rows, numbers] = values
    hits = [
        hits_of_rows(attribute, values, len(events), matcher)
        for attribute, values in strings.items()
    ]
    if any(found):
        bounds = np.r_[0, np.cumsum(list(map(len, found)))]
        joined = np.fromiter(chain.from_iterable(found), np.int32, bounds[-1])
        hits.append((np.arange(len(events), dtype=np.int32), bounds, joined))
    arrays = (
        np.array(list(slots), np.int32),
        codes,
        np.array(list_start, np.int32),
        np.array(list_codes, np.int32),
    )
    lazy = None if matcher.lazy is None else _lazy_rows(matcher.lazy, events, read)
    return BatchCodes(*arrays, hits, len(events), lazy), read


def _lazy_rows(
    atoms: LazyAtoms, events: Sequence[Mapping[str, object] | Event], read: Sequence[Event | None]
) -> LazyColumns:
    """The lazy atoms of events that are mappings; those that were not read are flat."""
    pairs = zip(events, read, strict=True)
    given: list[Any] = [event if seen is None else seen.raw for event, seen in pairs]

    def asked(name: str) -> AskedColumn:
        if atoms.aliases is not None:
            return AskedColumn(name, None, lambda: [row(n).given(name) for n in range(len(given))])
        return AskedColumn(name, None, lambda: [event.get(name) for event in given])

    known: list[Event | None] = list(read)

    def row(number: int) -> Event:
        seen = known[number]
        if seen is None:
            seen = known[number] = Event(events[number], atoms.aliases)
        return seen

    return LazyColumns(atoms, len(given), asked, row)


def hits_of_rows(
    attribute: str,
    values: list[tuple[int, Strings]],
    events: int,
    matcher: SegmentMatcher,
) -> Hits:
    """The opaque atoms that are true of the strings or lists that some events have."""
    distinct: dict[Strings, int] = {}
    which = np.full(events, -1, np.int32)
    for number, value in values:
        which[number] = distinct.setdefault(value, len(distinct))
    if all(isinstance(value, str) for value in distinct):
        texts = [str(value) for value in distinct]
        bounds, atoms = matcher.patterns[attribute].hits_of_many(texts)
        return which, bounds, atoms
    lists = [matcher.hits(attribute, value) for value in distinct]
    bounds = np.r_[0, np.cumsum([len(atoms) for atoms in lists])].astype(np.int64)
    return which, bounds, np.concatenate([np.empty(0, np.int32), *lists])
