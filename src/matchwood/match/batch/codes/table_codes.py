"""The columns of a table as the codes of a segment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from matchwood.arrow.reading import values_of
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.masks import EVENTS
from matchwood.kernels.records import MISSING, code_of_list
from matchwood.language.events import Event
from matchwood.language.subjects import lowered_values
from matchwood.language.tree.subjects import EVERYTHING, Lowered
from matchwood.language.values import Value
from matchwood.match.batch.codes.batch_codes import (
    BatchCodes,
    Hits,
    hits_of_rows,
)
from matchwood.match.batch.codes.card_columns import (
    CardColumns,
    ColumnOfCodes,
    LookedUpCodes,
    Moments,
    as_array,
)
from matchwood.match.batch.codes.column_codes import EncodedColumn, code_column, distinct_elements
from matchwood.match.batch.codes.everything_columns import values_of_columns
from matchwood.match.batch.codes.hit_kernels import join_hits
from matchwood.match.batch.codes.lazy_columns import AskedColumn, LazyColumns
from matchwood.match.batch.codes.mixed_columns import MixedColumn, code_mixed_column
from matchwood.match.batch.codes.number_columns import NumberColumns, is_number
from matchwood.match.batch.codes.spelled_columns import spelled_columns
from matchwood.match.event.encode import Coder, Strings
from matchwood.match.event.event_matcher import SegmentMatcher
from matchwood.match.event.everywhere import EverythingCodes

_NO_BOUNDS: Int64Array = np.zeros(1, np.int64)
_NO_CODES: Int32Array = np.empty(0, np.int32)


class SlotCodes(NamedTuple):
    """The codes that the rows of a table have in one slot; lists are numbered in order of rows."""

    slot: int
    codes: ColumnOfCodes  # of each row; below zero: `code_of_list`
    lists_before: Int64Array | None = None  # of each row, and of all; None: there are no lists
    list_start: Int64Array = _NO_BOUNDS
    list_codes: Int32Array = _NO_CODES

    def cut(self, low: int, high: int, lists: int) -> tuple[Int32Array, Int64Array, Int32Array]:
        """(codes, bounds, codes of lists) of the rows low..high, for which `lists` come before."""
        if not isinstance(self.codes, np.ndarray):
            return self.codes.cut(low, high), _NO_BOUNDS, _NO_CODES
        codes = self.codes[low:high]
        if self.lists_before is None:
            return codes, _NO_BOUNDS, _NO_CODES
        first, last = self.lists_before[low], self.lists_before[high]
        moved = np.where(codes < 0, codes + (first - lists), codes).astype(np.int32)
        bounds = self.list_start[first : last + 1]
        return moved, bounds - bounds[0], self.list_codes[bounds[0] : bounds[-1]]


class ColumnCodes:
    """The columns of a table as codes of one segment, in batches.

    Columns of numbers and times are encoded batch by batch, as are those whose distinct values were
    looked up; all others once, when this is made. Those that a card can encode come last.
    """

    def __init__(self, attributes: Mapping[str, Any], matcher: SegmentMatcher) -> None:
        given = attributes
        if matcher.aliases is not None:
            asked = dict.fromkeys([*matcher.coders, *_named_by_lazy_atoms(matcher)])
            attributes = spelled_columns(attributes, matcher.aliases, asked)
        self._attributes = attributes
        self._lazy = matcher.lazy
        self._slots: list[SlotCodes] = []
        self._hits: dict[str, Hits] = {}
        if matcher.everything is not None:
            self._add_everything(given, matcher.everything)
        numbers: list[tuple[Any, Coder]] = []
        for name, column in attributes.items():
            coder = matcher.coders.get(name)
            if coder is None:
                continue
            if isinstance(column, MixedColumn):
                self._add_mixed(name, column, coder, matcher)
                continue
            if is_number(column.type):
                if coder.slot >= 0:
                    numbers.append((column, coder))
            else:
                self._add(name, column, coder, matcher)
            if coder.lowered is not None:
                self._add(Lowered(name), column, coder.lowered, matcher)
        self._numbers = NumberColumns(numbers)
        self._looked_up = [coded for coded in self._slots if _is_small_lookup(coded.codes)]
        self._moments = [coded for coded in self._slots if isinstance(coded.codes, Moments)]
        self._slots = [
            coded
            for coded in self._slots
            if not (_is_small_lookup(coded.codes) or isinstance(coded.codes, Moments))
        ]
        slots = [coded.slot for coded in (*self._slots, *self._looked_up)]
        slots += [coder.slot for _, coder in numbers] + [coded.slot for coded in self._moments]
        self._numbered = np.array(slots, np.int32)

    def _add(self, name: str, column: Any, coder: Coder, matcher: SegmentMatcher) -> None:
        patterned = name in matcher.patterned
        coded = code_column(column, coder, patterned)
        for slot, codes in ((coder.slot, coded.main), (coder.time_slot, coded.time)):
            if slot >= 0 and codes is not None:
                self._slots.append(_slot_codes(slot, codes, coded, slot == coder.time_slot))
        if patterned and coded.distinct is not None and coded.which is not None:
            bounds, atoms = matcher.patterns[name].hits_of_many(coded.distinct)
            self._hits[name] = coded.which, bounds, atoms
        elif patterned and coded.bounds is not None:
            self._hits[name] = _hits_of_lists(column, name, matcher)

    def _add_everything(self, attributes: Mapping[str, Any], everything: EverythingCodes) -> None:
        found = values_of_columns(attributes, everything)
        for slot, start, codes in found.slots():
            has_values = found.has_values
            before = np.r_[0, np.cumsum(has_values)]
            numbered = np.where(has_values, code_of_list(before[:-1]), MISSING).astype(np.int32)
            bounds = np.r_[0, start[1:][has_values]].astype(np.int64)
            self._slots.append(SlotCodes(slot, numbered, before, bounds, codes))
        if found.hits is not None:
            self._hits[EVERYTHING] = found.hits

    def _add_mixed(
        self, name: str, column: MixedColumn, coder: Coder, matcher: SegmentMatcher
    ) -> None:
        if coder.lowered is not None:
            self._add_mixed(Lowered(name), column, coder.lowered, matcher)
        main, time, strings = code_mixed_column(name, column, coder)
        for slot, (codes, list_start, list_codes) in ((coder.slot, main), (coder.time_slot, time)):
            if slot >= 0:
                before = np.r_[0, np.cumsum(codes < 0)] if len(list_start) > 1 else None
                self._slots.append(SlotCodes(slot, codes, before, list_start, list_codes))
        if name in matcher.patterned:
            self._hits[name] = hits_of_rows(name, strings, len(column), matcher)

    def codes(self, low: int, high: int, row: Callable[[int], Event]) -> BatchCodes:
        """The codes of the rows low..high; `row` gives one of them, counted from `low`."""
        cuts: list[Int32Array] = []
        list_start: list[Int64Array] = [_NO_BOUNDS]
        list_codes: list[Int32Array] = [_NO_CODES]
        lists = size = 0
        for coded in self._slots:
            codes, bounds, values = coded.cut(low, high, lists)
            cuts.append(codes)
            list_start.append(bounds[1:] + size)
            list_codes.append(values)
            lists += len(bounds) - 1
            size += len(values)
        return BatchCodes(
            self._numbered,
            partial(self._written, cuts, low, high),
            np.concatenate(list_start).astype(np.int32),
            np.concatenate(list_codes).astype(np.int32),
            [(which[low:high], bounds, atoms) for which, bounds, atoms in self._hits.values()],
            high - low,
            self._lazy_columns(low, high, row),
            self._for_card(cuts, low, high),
        )

    def _written(self, cuts: list[Int32Array], low: int, high: int) -> Int32Array:
        """The codes of all slots, of which `cuts` are the first."""
        matrix = np.empty((len(self._numbered), high - low), np.int32)
        cuts = [*cuts, *(coded.cut(low, high, 0)[0] for coded in self._looked_up)]
        for place, codes in enumerate(cuts):
            matrix[place] = codes
        at = len(cuts) + len(self._numbers)
        self._numbers.write(low, high, matrix[len(cuts) : at])
        for place, coded in enumerate(self._moments, at):
            matrix[place] = coded.cut(low, high, 0)[0]
        return matrix

    def _for_card(self, cuts: list[Int32Array], low: int, high: int) -> CardColumns:
        looked_up = [
            LookedUpCodes(coded.codes.table, coded.codes.rows[low:high])
            for coded in self._looked_up
            if isinstance(coded.codes, LookedUpCodes)
        ]
        moments = [
            coded.codes.moments[low:high]
            for coded in self._moments
            if isinstance(coded.codes, Moments)
        ]
        return CardColumns(
            looked_up,
            len(self._numbers),
            partial(self._numbers.write_doubles, low, high),
            partial(self._numbers.write, low, high),
            moments,
            lambda: np.concatenate([_NO_CODES, *cuts]),
        )

    def _lazy_columns(self, low: int, high: int, row: Callable[[int], Event]) -> LazyColumns | None:
        def asked(name: str) -> AskedColumn | None:
            column = self._attributes.get(name)
            if column is None:
                return None
            if isinstance(column, MixedColumn):
                return AskedColumn(name, None, lambda: column.values[low:high])
            piece = column.slice(low, high - low)
            return AskedColumn(name, piece, lambda: values_of(piece))

        return None if self._lazy is None else LazyColumns(self._lazy, high - low, asked, row)


def _is_small_lookup(codes: ColumnOfCodes) -> bool:
    """Whether codes are looked up in a table that is no longer than a batch, which a card is given
    with each of them."""
    return isinstance(codes, LookedUpCodes) and len(codes.table) <= EVENTS


def _named_by_lazy_atoms(matcher: SegmentMatcher) -> Iterable[str]:
    segment = matcher.segment
    return (name for number in segment.lazy for name in segment.opaque[number].attributes)


def _slot_codes(
    slot: int, codes: ColumnOfCodes, coded: EncodedColumn, is_second: bool
) -> SlotCodes:
    """The codes of a slot; an element of a list that a second slot cannot read is left out."""
    if coded.bounds is None or coded.there is None:
        return SlotCodes(slot, codes)
    each = as_array(codes)
    rows = np.arange(len(coded.there) + 1)
    numbered = np.where(coded.there, code_of_list(rows[:-1]), MISSING).astype(np.int32)
    bounds = coded.bounds
    if is_second:
        bounds = np.r_[0, np.cumsum(each != MISSING)][bounds]
        each = each[each != MISSING]
    return SlotCodes(slot, numbered, rows, bounds, each)


def _hits_of_lists(column: Any, name: str, matcher: SegmentMatcher) -> Hits:
    elements = distinct_elements(column)
    if elements is None:
        return hits_of_rows(name, _read_lists(column, name), len(column), matcher)
    distinct = elements.distinct
    if isinstance(name, Lowered):
        lower = lowered_values(tuple(distinct))
        assert not isinstance(lower, Value)
        distinct = list(lower)
    bounds, atoms = matcher.patterns[name].hits_of_elements(distinct)
    most = len(matcher.segment.opaque)
    return elements.rows, *join_hits(elements.bounds, elements.which, bounds, atoms, most)


def _read_lists(column: Any, name: str) -> list[tuple[int, Strings]]:
    found: list[tuple[int, Strings]] = []
    for row, value in enumerate(values_of(column)):
        if value is not None:
            seen = Event({name.base if isinstance(name, Lowered) else name: value})[name]
            assert not isinstance(seen, Value)
            found.append((row, seen))
    return found
