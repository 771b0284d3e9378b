"""All values of each row of a table, `*`, as codes, column by column.

The codes of a column are those that any attribute has; they are then joined row by row. Which codes
occur in the list of a row is all that counts, so each is there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.arrow.reading import is_list, is_text, list_parts, values_of
from matchwood.kernels.array_types import BoolArray, Int32Array, Int64Array
from matchwood.kernels.records import MISSING
from matchwood.language.values import Family, Value
from matchwood.match.batch.codes.batch_codes import Hits
from matchwood.match.batch.codes.card_columns import as_array
from matchwood.match.batch.codes.column_codes import code_column
from matchwood.match.batch.codes.mixed_columns import MixedColumn
from matchwood.match.event.everywhere import EverythingCodes


class Pairs(NamedTuple):
    """Rows, and what each of them has: a code, or a test that is true of a value."""

    rows: Int64Array
    what: Int64Array


class ValuesOfRows(NamedTuple):
    """The codes of all values of each row, in both slots of `*`, and the tests true of them."""

    everything: EverythingCodes
    has_values: BoolArray  # of each row
    main: Pairs
    time: Pairs
    hits: Hits | None

    def slots(self) -> Iterator[tuple[int, Int64Array, Int32Array]]:
        """(slot, bounds by row, codes) of each slot that there is."""
        coder = self.everything.coder
        for slot, pairs in ((coder.slot, self.main), (coder.time_slot, self.time)):
            if slot >= 0:
                yield slot, *_by_row(pairs, len(self.has_values))


def values_of_columns(attributes: Mapping[str, Any], everything: EverythingCodes) -> ValuesOfRows:
    """What the values of the columns add to each row."""
    rows = max((len(column) for column in attributes.values()), default=0)
    gathered = _Gathered(everything)
    for name, column in attributes.items():
        if isinstance(column, MixedColumn):
            gathered.add_values(name, column.values)
        elif not pa.types.is_struct(column.type):  # its fields are attributes of their own
            gathered.add(name, column)
    main, time, hits = (_joined(pairs) for pairs in gathered.pairs)
    has_values = np.zeros(rows, np.bool_)
    has_values[main.rows] = True
    found = None
    if everything.patterns is not None:
        found = np.arange(rows, dtype=np.int32), *_by_row(hits, rows)
    return ValuesOfRows(everything, has_values, main, time, found)


class _Gathered:
    """What columns add, one after the other: codes in both slots, and tests."""

    def __init__(self, everything: EverythingCodes) -> None:
        self._everything = everything
        self.pairs: tuple[list[Pairs], list[Pairs], list[Pairs]] = ([], [], [])

    def add(self, name: str, column: Any) -> None:
        """Add a column of one plain type, or of lists of one."""
        owner = None
        if is_list(column.type):
            bounds, inner = list_parts(column)
            lengths = np.where(np.asarray(column.is_valid()), np.diff(bounds), 0)
            owner = np.repeat(np.arange(len(column)), np.diff(bounds))
            kept = np.repeat(lengths > 0, np.diff(bounds))
            column, owner = inner.filter(pa.array(kept)), owner[kept]
        texts = is_text(_kind(column))
        patterns = self._everything.patterns
        if patterns is not None and not texts and patterns.seeks_values:
            self._add_each(name, values_of(column), owner)
            return
        coded = code_column(column, self._everything.coder, texts and patterns is not None)
        for pairs, codes in zip(self.pairs, (coded.main, coded.time), strict=False):
            if codes is not None:
                each = as_array(codes)
                _add(pairs, np.flatnonzero(each != MISSING), owner, each)
        if coded.distinct is not None and coded.which is not None and patterns is not None:
            values = [Value(Family.STRING, text) for text in coded.distinct]
            bounds, tests = patterns.hits_of_elements(values)
            self._add_hits(coded.which, bounds, tests, owner)

    def add_values(self, name: str, values: list[Any]) -> None:
        """Add a column of values as they were given."""
        self._add_each(name, values, None)

    def _add_each(self, name: str, values: list[Any], owner: Int64Array | None) -> None:
        places: list[list[int]] = [[], [], []]
        added: list[list[int]] = [[], [], []]
        for place, value in enumerate(values):
            everywhere = self._everything.of_attributes({name: value})
            for mine, what, found in zip(places, added, everywhere, strict=True):
                mine.extend(place for _ in found)
                what.extend(found)
        for pairs, mine, what in zip(self.pairs, places, added, strict=True):
            rows = np.array(mine, np.int64)
            rows = rows if owner is None else owner[rows]
            pairs.append(Pairs(rows, np.array(what, np.int64)))

    def _add_hits(
        self, which: Int32Array, bounds: Int64Array, tests: Int32Array, owner: Int64Array | None
    ) -> None:
        rows = np.flatnonzero(which >= 0)
        low, high = bounds[which[rows]], bounds[which[rows] + 1]
        counts = high - low
        first = np.cumsum(counts) - counts
        places = np.repeat(low - first, counts) + np.arange(counts.sum())
        owners = rows if owner is None else owner[rows]
        self.pairs[2].append(Pairs(np.repeat(owners, counts), tests[places].astype(np.int64)))


def _kind(column: Any) -> pa.DataType:
    kind = column.type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _add(
    pairs: list[Pairs], places: Int64Array, owner: Int64Array | None, codes: Int32Array
) -> None:
    rows = places if owner is None else owner[places]
    pairs.append(Pairs(rows, codes[places].astype(np.int64)))


def _joined(several: list[Pairs]) -> Pairs:
    """All pairs, each once, by row."""
    if not several:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64))
    rows, what = (np.concatenate(arrays).astype(np.int64) for arrays in zip(*several, strict=True))
    distinct = np.unique(rows << 32 | what)
    return Pairs(distinct >> 32, distinct & ((1 << 32) - 1))


def _by_row(pairs: Pairs, rows: int) -> tuple[Int64Array, Int32Array]:
    """(bounds of each row, what it has)."""
    bounds = np.searchsorted(pairs.rows, np.arange(rows + 1)).astype(np.int64)
    return bounds, pairs.what.astype(np.int32)
