"""A row of a table as an event, of which only the columns that are asked for are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.language.aliases import Aliases
from matchwood.language.events import Event, attributes_of
from matchwood.language.values import listed
from matchwood.match.batch.codes.event_tables import Table

# Rows that are read together when one of them is needed as a whole.
_ROWS_READ = 32


class TableRows:
    """The rows low..high of a table as Python values, column by column; one thread uses it."""

    def __init__(self, table: Table, low: int, high: int, aliases: Aliases | None) -> None:
        self._table = table
        self._aliases = aliases
        self._low = low
        self._high = high
        self._values: dict[str, list[Any]] = {}  # of the columns that were read
        self._holders: dict[str, list[str]] = {}  # by attribute: the columns that may hold it
        self._whole: dict[int, list[dict[str, Any]]] = {}

    def event(self, row: int) -> Event:
        """A row as an event; rows are counted from `low`."""
        return TableEvent(self, row, self._aliases)

    def whole(self, row: int) -> dict[str, object]:
        """All columns of a row."""
        block, offset = divmod(row, _ROWS_READ)
        if block not in self._whole:
            first = self._low + block * _ROWS_READ
            self._whole[block] = self._table.slice(
                first, min(_ROWS_READ, self._high - first)
            ).rows()
        return self._whole[block][offset]

    def value(self, row: int, attribute: str) -> object:
        """The value of an attribute as it was given; None if the row has none."""
        holders = self._holders.get(attribute)
        if holders is None:
            holders = self._holders[attribute] = _holders(self._table.columns, attribute)
        if holders == [attribute]:
            return listed(self._column(attribute)[row])
        return attributes_of({name: self._column(name)[row] for name in holders}).get(attribute)

    def _column(self, name: str) -> list[Any]:
        values = self._values.get(name)
        if values is None:
            piece = self._table.columns[name].slice(self._low, self._high - self._low)
            values = self._values[name] = piece.python()
        return values


def _holders(columns: Mapping[str, Any], attribute: str) -> list[str]:
    """The columns that may hold an attribute: those of its name, or of what it is within."""
    parts = attribute.split(".")
    names = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    found = [name for name in names if name in columns]
    return found if len(found) < 2 else [name for name in columns if name in names]


class TableEvent(Event):
    """A row of a table; each attribute is read from its own column when it is first needed."""

    __slots__ = ("_all", "_row", "_rows")

    def __init__(self, rows: TableRows, row: int, aliases: Aliases | None) -> None:
        self.aliases = aliases
        self._rows = rows
        self._row = row
        self._all: dict[str, object] | None = None
        self._read = {}
        self.elements = {}
        self._inside = {}

    @property
    def raw(self) -> dict[str, object]:  # type: ignore[override]
        """All attributes, for which all columns are read."""
        if self._all is None:
            self._all = attributes_of(self._rows.whole(self._row))
        return self._all

    def named(self, name: str) -> object:
        return self._rows.value(self._row, name)
