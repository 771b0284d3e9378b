"""The entries of values that were seen before, found by name, type and value.

An event of plain values is encoded by three lookups per value, and its entries are joined as bytes.
A value that is seen for the first time is encoded as `encode` does. Types are told apart because
Python's dicts do not: 1, 1.0 and True are the same key. What is not of a plain type is a KeyError
or a TypeError, and the whole event is then read in the general way, which also finds its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct
from sys import getsizeof
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.event_entries import HIT, pack_entry
from matchwood.kernels.records import MISSING, list_of_code
from matchwood.language.subjects import lower_case
from matchwood.language.tree.subjects import Lowered
from matchwood.language.values import Family, exact, is_text
from matchwood.match.event.encode import Coder, EncodedEvent
from matchwood.match.event.spelled_names import SpelledNames

# Values of one type that an attribute remembers; then it starts again.
MOST_VALUES = 1024

# Characters of the longest string that is remembered.
MOST_CHARACTERS = 64

# Bytes of what is made of a string, with the patterns that are true of it, if it is remembered.
MOST_BYTES = 16 << 10

# Names of attributes that no rule asks for which are remembered.
MOST_NAMES = 4096

Made = TypeVar("Made")

# The family as a global: looking it up in the enum costs more.
_STRING = Family.STRING

# The bytes of an entry.
_word = Struct("=q").pack

# Bytes that an entry takes as an object of Python, and that a tuple takes to refer to it.
_WORD_SIZE = getsizeof(bytes(8))
_POINTER_SIZE = 8

# The opaque atoms that are true of a string, or of a list of strings, of an attribute.
HitsOf = Callable[[str, Any], Int32Array]


class ValueTable(dict[Any, Made]):
    """What is made of values of one type: once, when a value is first seen. Threads share it."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make

    def __missing__(self, value: Any) -> Made:
        entries = self._make(value)
        if len(self) >= MOST_VALUES:
            self.clear()
        self[value] = entries
        return entries


class FloatTable(ValueTable[bytes]):
    """The entries of floats; NaN is null."""

    __slots__ = ()

    def __missing__(self, value: float) -> bytes:
        return super().__missing__(value) if value == value else b""


class TextTable(ValueTable[Made]):
    """What is made of strings; one that is not valid Unicode, or no string, is a KeyError."""

    __slots__ = ("_size_of",)

    def __init__(self, make: Callable[[str], Made], size_of: Callable[[Any], int] = len) -> None:
        super().__init__(make)
        self._size_of = size_of

    def __missing__(self, value: str) -> Made:
        if type(value) is not str or not (value.isascii() or is_text(value)):
            raise KeyError(value)
        made = self._make(value)
        if len(value) <= MOST_CHARACTERS and self._size_of(made) <= MOST_BYTES:
            if len(self) >= MOST_VALUES:
                self.clear()
            self[value] = made
        return made


def _heads(slot: int) -> ValueTable[bytes]:
    """By length: the entry that so many elements of a list follow."""
    return ValueTable(lambda length: _word(pack_entry(slot, -1 - length)))


class ListTable:
    """The entries of lists of strings, joined from those of their elements."""

    __slots__ = ("_elements", "_heads")

    def __init__(self, slot: int, elements: TextTable[bytes]) -> None:
        self._heads = _heads(slot)
        self._elements = elements

    def __getitem__(self, values: list[Any]) -> bytes:
        elements = self._elements
        found = [elements[value] for value in values]
        return b"".join([self._heads[len(values)], *found])


class PatternedListTable:
    """The entries of lists of strings that patterns are matched against.

    An opaque atom that is true of several elements is named once.
    """

    __slots__ = ("_elements", "_heads")

    def __init__(self, slot: int, elements: TextTable[tuple[bytes, tuple[bytes, ...]]]) -> None:
        self._heads = _heads(slot)
        self._elements = elements  # of each string: the entry of its code, and those of its hits

    def __getitem__(self, values: list[Any]) -> bytes:
        elements = self._elements
        entries = [self._heads[len(values)]]
        hits: set[bytes] = set()
        for value in values:
            code, true = elements[value]
            entries.append(code)
            if true:
                hits.update(true)
        entries += hits
        return b"".join(entries)


class _IgnoredLists:
    """The entries of lists of strings that no rule asks for."""

    def __getitem__(self, values: list[Any]) -> bytes:
        if not are_texts(values):
            raise KeyError(values)
        return b""


class _Nothing(dict[Any, bytes]):
    """What values of an attribute that no rule asks for are."""

    def __missing__(self, value: object) -> bytes:
        return b""


def are_texts(values: list[Any]) -> bool:
    """Whether a list holds only valid strings."""
    return all(type(value) is str and is_text(value) for value in values)


# By type: what finds the entries of a value.
TypeTables = Mapping[type, Any]

_NULL = {None: b""}
_IGNORED: TypeTables = {
    **dict.fromkeys((str, int, float, bool), _Nothing()),
    NoneType: _NULL,
    list: _IgnoredLists(),
}


class EventTables(dict[str, TypeTables]):
    """By name and type: what finds the entries of a value. Threads share it."""

    def __init__(
        self,
        coders: Mapping[str, Coder],
        patterned: set[str],
        hits: HitsOf,
        spelled: SpelledNames | None = None,
    ) -> None:
        """With `spelled`, names may be those of aliases; then an event has one per attribute."""
        self._coders = coders
        self._patterned = patterned
        self._hits = hits
        self._spelled = spelled

    def __missing__(self, name: str) -> TypeTables:
        attributes = [name] if name in self._coders else []
        if self._spelled is not None and type(name) is str:
            attributes = list(self._spelled.attributes_of(name))
        if attributes:
            each = [tables for attribute in attributes for tables in self._of(attribute)]
            tables = self[name] = _joined_tables(each)
            return tables
        if type(name) is not str or not is_text(name):
            raise KeyError(name)
        if len(name) <= MOST_CHARACTERS and len(self) < len(self._coders) + MOST_NAMES:
            self[name] = _IGNORED
        return _IGNORED

    def _of(self, attribute: str) -> Iterable[TypeTables]:
        """The tables of an attribute, and of it in lower case."""
        coder = self._coders[attribute]
        yield _tables_of(attribute, coder, self._hits if attribute in self._patterned else None)
        if coder.lowered is not None:
            lowered = Lowered(attribute)
            hits = self._lowered_hits if lowered in self._patterned else None
            yield _tables_of(lowered, coder.lowered, hits)

    def _lowered_hits(self, name: str, value: Any) -> Int32Array:
        lower = lower_case(value) if isinstance(value, str) else tuple(map(lower_case, value))
        return self._hits(name, lower)


class _JoinedTable:
    """The entries of a value that is that of several attributes."""

    def __init__(self, tables: Sequence[Any]) -> None:
        self._tables = tables

    def __getitem__(self, value: Any) -> bytes:
        return b"".join([table[value] for table in self._tables])


def _joined_tables(several: Sequence[TypeTables]) -> TypeTables:
    if len(several) == 1:
        return several[0]
    kinds = set.intersection(*(set(tables) for tables in several))
    return {kind: _JoinedTable([tables[kind] for tables in several]) for kind in kinds}


def _tables_of(name: str, coder: Coder, hits: HitsOf | None) -> TypeTables:
    """The tables of an attribute that rules ask for; `hits` if they ask for patterns."""
    code, slot, second = coder.code, coder.slot, coder.time_slot
    first_entry = pack_entry(slot, 0)  # codes of single values are added to it

    def single(family: Family, value: Any) -> bytes:
        entry = _word(first_entry + code(family, value)) if slot >= 0 else b""
        if second < 0:
            return entry
        time_code = coder.time_code(family, value)
        return entry if time_code == MISSING else entry + _word(pack_entry(second, time_code))

    def text(value: str) -> bytes:
        return _word(first_entry + code(_STRING, value))

    def read_text(value: str) -> bytes:
        entries = single(Family.STRING, value)
        return entries if hits is None else entries + _hit_entries(hits(name, value))

    def element(value: str) -> bytes:
        return _word(pack_entry(0, code(_STRING, value)))

    def element_with_hits(value: str) -> tuple[bytes, tuple[bytes, ...]]:
        true = () if hits is None else hits(name, (value,)).tolist()
        return element(value), tuple(_word(pack_entry(HIT, hit)) for hit in true)

    tables: dict[type, Any] = {
        str: TextTable(text if slot >= 0 and second < 0 and hits is None else read_text),
        int: ValueTable(lambda value: single(Family.NUMBER, value)),
        float: FloatTable(lambda value: single(Family.NUMBER, exact(value))),
        bool: ValueTable(lambda value: single(Family.BOOLEAN, value)),
        NoneType: _NULL,
    }
    if second < 0 and slot < 0:
        tables[list] = _IgnoredLists()
    elif second < 0:
        if hits is None:
            tables[list] = ListTable(slot, TextTable(element))
        else:
            tables[list] = PatternedListTable(slot, TextTable(element_with_hits, _size_of_hits))
    return tables


def _size_of_hits(made: tuple[bytes, tuple[bytes, ...]]) -> int:
    return (_WORD_SIZE + _POINTER_SIZE) * len(made[1])


def _hit_entries(hits: Int32Array) -> bytes:
    if not len(hits):
        return b""
    return np.array([pack_entry(HIT, hit) for hit in hits.tolist()], np.int64).tobytes()


def entries_of(encoded: EncodedEvent, hits: Iterable[Int32Array]) -> bytes:
    """The entries of an event that was encoded in the general way, with its opaque atoms."""
    entries: list[int] = []
    for slot, code in zip(encoded.slots, encoded.codes, strict=True):
        if code >= 0:
            entries.append(pack_entry(slot, code))
            continue
        number = list_of_code(code)
        low, high = encoded.list_start[number], encoded.list_start[number + 1]
        entries.append(pack_entry(slot, -1 - (high - low)))
        entries.extend(pack_entry(0, value) for value in encoded.list_codes[low:high])
    entries.extend(pack_entry(HIT, hit) for hit in encoded.hits)
    return np.array(entries, np.int64).tobytes() + b"".join(map(_hit_entries, hits))
