"""Columns that no Arrow array stands for: values of several types, objects, and lists of objects.

A number here and a string there, as JSON has them, or a column of Python objects in pandas. Such a
column is read value by value, on its own: the other columns of its table stay columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from matchwood.arrow.reading import only_rows_tell
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.records import MISSING, code_of_list
from matchwood.language.events import Event
from matchwood.language.seen import LISTS, see
from matchwood.language.subjects import lower_case, lowered_values
from matchwood.language.values import Family, Value, is_text
from matchwood.match.batch.codes.column_codes import attributes_of
from matchwood.match.batch.codes.event_tables import Table
from matchwood.match.event.encode import Coder, EncodedEvent, Strings, put_list, put_single

# Types of values that hold no others, and that equal nothing of another one of these types which
# rules see differently, once the type is compared as well.
_PLAIN = frozenset((str, int, float, bool, NoneType))


class MixedColumn(NamedTuple):
    """The values of an attribute as they were given, row by row; None where a row has none."""

    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)


def attributes_of_events(table: Table) -> dict[str, Any] | None:
    """Every attribute of a table as an Arrow array of a plain type, or as a `MixedColumn`.

    None if only whole rows tell what they say: where a row may spell an attribute two ways, and
    where a name is not valid, which is an error of the row.
    """
    if not all(map(is_text, table.columns)):
        return None
    mixed = {
        name: column
        for name, column in table.columns.items()
        if column.array is None or only_rows_tell(column.array.type)
    }
    attributes = attributes_of(
        {name: column.array for name, column in table.columns.items() if name not in mixed}
    )
    if attributes is None:
        return None
    for name, column in mixed.items():
        for attribute, values in _attributes_within(name, column.python()):
            if attribute in attributes:
                return None
            attributes[attribute] = MixedColumn(values)
    return attributes


def _attributes_within(name: str, values: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The attributes that the values of a column have: its own, and those of objects in it."""
    nested = {kind for kind in set(map(type, values)) if _may_nest(kind)}
    if not nested:
        yield name, values
        return
    own: list[Any] = [None] * len(values)
    columns = {name: own}
    for row, value in enumerate(values):
        if type(value) not in nested:
            own[row] = value
            continue
        for attribute, given in Event({name: value}).raw.items():
            if attribute not in columns:
                columns[attribute] = [None] * len(values)
            columns[attribute][row] = given
    yield from columns.items()


def _may_nest(kind: type) -> bool:
    return issubclass(kind, (Mapping, *LISTS, np.ndarray))


class MixedCodes(NamedTuple):
    """The codes of a mixed column, for one slot of its attribute."""

    codes: Int32Array  # of each row; below zero: `code_of_list`, numbered in the order of rows
    list_start: Int64Array
    list_codes: Int32Array


class EncodedMixedColumn(NamedTuple):
    """The codes of a mixed column, and the rows that patterns are matched against."""

    main: MixedCodes
    time: MixedCodes
    strings: list[tuple[int, Strings]]


def code_mixed_column(name: str, column: MixedColumn, coder: Coder) -> EncodedMixedColumn:
    """The codes of a mixed column; an EventError if one of its values cannot be read."""
    main, time = _SlotWriter(len(column)), _SlotWriter(len(column))
    strings: list[tuple[int, Strings]] = []
    known: dict[tuple[type, Any], tuple[int, int, bool]] = {}
    for row, value in enumerate(column.values):
        kind = type(value)
        key = (kind, value) if kind in _PLAIN else None
        codes = None if key is None else known.get(key)
        if codes is None:
            seen = lowered_values(see(name, value)) if coder.lowers else see(name, value)
            if not isinstance(seen, Value):
                encoded = EncodedEvent()
                put_list(encoded, coder, seen)
                _take_lists(encoded, coder, row, main, time)
                strings.append((row, seen))
                continue
            codes = _codes_of(coder, seen)
            if key is not None:
                known[key] = codes
            elif codes[2]:
                value = str(seen.value)
        main.codes[row], time.codes[row], is_string = codes
        if is_string:
            strings.append((row, lower_case(value) if coder.lowers else value))
    return EncodedMixedColumn(main.written(), time.written(), strings)


def _codes_of(coder: Coder, value: Value) -> tuple[int, int, bool]:
    """The codes of a single value in both slots, and whether it is a string."""
    encoded = EncodedEvent()
    put_single(encoded, coder, value)
    codes = dict(zip(encoded.slots, encoded.codes, strict=True))
    main, time = codes.get(coder.slot, MISSING), codes.get(coder.time_slot, MISSING)
    return main, time, value.family is Family.STRING


class _SlotWriter:
    """The codes of one slot, row by row."""

    def __init__(self, rows: int) -> None:
        self.codes = [MISSING] * rows
        self._start = [0]
        self._list_codes: list[int] = []

    def put_list(self, row: int, codes: list[int]) -> None:
        self.codes[row] = code_of_list(len(self._start) - 1)
        self._list_codes.extend(codes)
        self._start.append(len(self._list_codes))

    def written(self) -> MixedCodes:
        return MixedCodes(
            np.array(self.codes, np.int32),
            np.array(self._start, np.int64),
            np.array(self._list_codes, np.int32),
        )


def _take_lists(
    encoded: EncodedEvent, coder: Coder, row: int, main: _SlotWriter, time: _SlotWriter
) -> None:
    bounds = zip(encoded.slots, encoded.list_start[:-1], encoded.list_start[1:], strict=True)
    for slot, low, high in bounds:
        writer = main if slot == coder.slot else time
        writer.put_list(row, encoded.list_codes[low:high])
