"""All values of an event, `*`, as the codes of its slots and the tests that are true of them.

They are a list: what counts is which codes occur in it, and a test is true if it is true of some
value. What a value adds is worked out once, and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from sys import getsizeof
from typing import Any, NamedTuple

from matchwood.kernels.records import MISSING
from matchwood.language.events import ElementEvent, Event
from matchwood.language.seen import LISTS, see
from matchwood.language.subjects import flat_values
from matchwood.language.values import Family, Value, exact
from matchwood.match.event.encode import Coder, EncodedEvent
from matchwood.match.event.value_tables import TextTable, ValueTable
from matchwood.match.patterns.pattern_index import PatternIndex

# Bytes of an int of Python.
_INT = getsizeof(1 << 16)


class ValueCodes(NamedTuple):
    """What one value adds: its codes, MISSING where there is none, and the tests true of it."""

    main: int
    time: int
    hits: tuple[int, ...]


def _size_of_codes(codes: ValueCodes) -> int:
    return getsizeof(codes.hits) + _INT * len(codes.hits)


class Everywhere(NamedTuple):
    """What the values of an event add together; nothing if it has no values."""

    main: set[int]
    time: set[int]
    hits: set[int]

    def add(self, codes: ValueCodes) -> None:
        """Add what one value adds."""
        self.main.add(codes.main)
        if codes.time != MISSING:
            self.time.add(codes.time)
        if codes.hits:
            self.hits.update(codes.hits)


class EverythingCodes:
    """The codes of `*` in one segment; threads share it."""

    def __init__(self, coder: Coder, patterns: PatternIndex | None) -> None:
        self.coder = coder
        self.patterns = patterns
        number, text, truth = Family.NUMBER, Family.STRING, Family.BOOLEAN
        self._tables: dict[type, Callable[[Any], ValueCodes]] = {
            str: TextTable(
                lambda value: self.codes(Value(text, value)), size_of=_size_of_codes
            ).__getitem__,
            int: ValueTable(lambda value: self.codes(Value(number, value))).__getitem__,
            bool: ValueTable(lambda value: self.codes(Value(truth, value))).__getitem__,
            float: ValueTable(lambda value: self.codes(Value(number, exact(value)))).__getitem__,
        }

    def codes(self, value: Value) -> ValueCodes:
        """What a value that is not null adds."""
        family, plain = value
        time = MISSING
        if self.coder.time_slot >= 0:
            time = self.coder.time_code(family, plain)
        hits = () if self.patterns is None else tuple(self.patterns.list_hits((value,)).tolist())
        return ValueCodes(self.coder.code(family, plain), time, hits)

    def put(self, encoded: EncodedEvent, event: Mapping[str, object] | Event) -> None:
        """Add the list of all values to an encoded event; one that is no `Event` is flat.

        An EventError if one of the values cannot be read.
        """
        if isinstance(event, ElementEvent):
            found = self.of_values(event.values())
        else:
            found = self.of_attributes(event.raw if isinstance(event, Event) else event)
        if found.main:
            encoded.put_list(self.coder.slot, list(found.main))
            encoded.put_list(self.coder.time_slot, list(found.time))
            encoded.hits.extend(found.hits)

    def of_values(self, values: Iterable[Value]) -> Everywhere:
        """What some values that are not null add."""
        found = Everywhere(set(), set(), set())
        for value in values:
            found.add(self.codes(value))
        return found

    def of_attributes(self, attributes: Mapping[str, object]) -> Everywhere:
        """What all attributes of an event add, by the names that it gives them."""
        found = Everywhere(set(), set(), set())
        tables = self._tables
        for name, value in attributes.items():
            find = tables.get(type(value))
            if find is None:
                self._add_general(name, value, found)
            elif value == value:
                try:
                    found.add(find(value))
                except KeyError:
                    see(name, value)  # which says what is wrong with it
                    raise
        return found

    def _add_general(self, name: str, value: object, found: Everywhere) -> None:
        """Add the values of a list, or a single value of any type."""
        if value is None or isinstance(value, Mapping):
            return  # the attributes of an object are those of the event
        for item in value if isinstance(value, LISTS) else (value,):
            if not isinstance(item, Mapping):
                for inner in flat_values(name, item):
                    found.add(self.codes(inner))
