"""Many events as the codes of a segment: from rows, or from columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.records import MISSING, code_of_list, list_of_code
from matchwood.language.events import Event
from matchwood.language.values import Value
from matchwood.match.batch.hit_kernels import join_hits
from matchwood.match.event.encode import Coder, Strings, encode
from matchwood.match.event.event_matcher import SegmentMatcher

# The opaque atoms that are true of the values of one attribute: which value each event has (-1:
# none), bounds of each value's atoms, and these atoms.
Hits = tuple[Int32Array, Int64Array, Int32Array]


class BatchCodes(NamedTuple):
    """Some events as codes of a segment: codes[i, event] is the code of slots[i]."""

    slots: Int32Array
    codes: Int32Array
    list_start: Int32Array
    list_codes: Int32Array
    hits: list[Hits]  # one per attribute with patterns
    events: int

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
    for number, event in enumerate(events):
        encoded, seen = encode(event, matcher.coders, matcher.patterned)
        read.append(seen)
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
        _hits_of_rows(attribute, values, len(events), matcher)
        for attribute, values in strings.items()
    ]
    arrays = (
        np.array(list(slots), np.int32),
        codes,
        np.array(list_start, np.int32),
        np.array(list_codes, np.int32),
    )
    return BatchCodes(*arrays, hits, len(events)), read


def _hits_of_rows(
    attribute: str,
    values: list[tuple[int, Strings]],
    events: int,
    matcher: SegmentMatcher,
) -> Hits:
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


class ColumnCodes:
    """The columns of a table, encoded once for one segment, then cut into batches."""

    def __init__(self, attributes: Mapping[str, Any], matcher: SegmentMatcher) -> None:
        from matchwood.match.batch.column_codes import EncodedColumn, code_column

        self._coded: list[tuple[Coder, str, EncodedColumn]] = []
        self._hits: dict[str, Hits] = {}
        for name, column in attributes.items():
            coder = matcher.coders.get(name)
            if coder is None:
                continue
            patterned = name in matcher.patterned
            coded = code_column(column, coder, patterned)
            self._coded.append((coder, name, coded))
            if patterned and coded.distinct is not None and coded.which is not None:
                bounds, atoms = matcher.patterns[name].hits_of_many(coded.distinct)
                self._hits[name] = coded.which, bounds, atoms
            elif patterned and coded.bounds is not None:
                self._hits[name] = _hits_of_lists(column, name, matcher)

    def codes(self, low: int, high: int) -> BatchCodes:
        """The codes of the rows low..high."""
        slots: list[int] = []
        rows: list[Int32Array] = []
        list_start = [np.zeros(1, np.int64)]
        list_codes: list[Int32Array] = []
        lists = 0
        for coder, _, coded in self._coded:
            for slot, codes in ((coder.slot, coded.main), (coder.time_slot, coded.time)):
                if slot < 0 or codes is None:
                    continue
                slots.append(slot)
                if coded.bounds is None or coded.there is None:
                    rows.append(codes[low:high])
                    continue
                bounds, there = coded.bounds[low : high + 1], coded.there[low:high]
                count = high - low
                numbered = code_of_list(lists + np.arange(count))
                rows.append(np.where(there, numbered, MISSING).astype(np.int32))
                piece = codes[bounds[0] : bounds[-1]]
                local = bounds - bounds[0]
                if slot == coder.time_slot:
                    kept = np.r_[0, np.cumsum(piece != 0)]
                    piece, local = piece[piece != 0], kept[local]
                list_start.append(local[1:] + list_start[-1][-1])
                list_codes.append(piece.astype(np.int32))
                lists += count
        matrix = np.stack(rows) if rows else np.zeros((0, high - low), np.int32)
        hits = [(which[low:high], bounds, atoms) for which, bounds, atoms in self._hits.values()]
        return BatchCodes(
            np.array(slots, np.int32),
            np.ascontiguousarray(matrix),
            np.concatenate(list_start).astype(np.int32),
            np.concatenate([np.empty(0, np.int32), *list_codes]),
            hits,
            high - low,
        )


def _hits_of_lists(column: Any, name: str, matcher: SegmentMatcher) -> Hits:
    from matchwood.match.batch.column_codes import distinct_elements

    elements = distinct_elements(column)
    if elements is None:
        return _hits_of_rows(name, _read_lists(column, name), len(column), matcher)
    bounds, atoms = matcher.patterns[name].hits_of_elements(elements.distinct)
    most = len(matcher.segment.opaque)
    return elements.rows, *join_hits(elements.bounds, elements.which, bounds, atoms, most)


def _read_lists(column: Any, name: str) -> list[tuple[int, Strings]]:
    from matchwood.arrow.reading import values_of

    found: list[tuple[int, Strings]] = []
    for row, value in enumerate(values_of(column)):
        if value is not None:
            seen = Event({name: value})[name]
            assert not isinstance(seen, Value)
            found.append((row, seen))
    return found
