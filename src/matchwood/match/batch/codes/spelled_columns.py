"""Columns under the names of the attributes that rules ask for, where attributes have aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.arrow.reading import values_of
from matchwood.language.aliases import Aliases
from matchwood.language.seen import see
from matchwood.language.values import NULL
from matchwood.match.batch.codes.mixed_columns import MixedColumn


def spelled_columns(
    columns: Mapping[str, Any], aliases: Aliases, asked: Iterable[str]
) -> dict[str, Any]:
    """By attribute: its column, or of each row the first value that its columns have.

    >>> found = spelled_columns(
    ...     {"a": pa.array([1, None]), "b": pa.array([2, 3])}, Aliases({"a": "b"}), ["a", "c"]
    ... )
    >>> {name: column.to_pylist() for name, column in found.items()}
    {'a': [1, 3]}
    """
    found: dict[str, Any] = {}
    for attribute in asked:
        names = [name for name in aliases.spellings(attribute) if name in columns]
        if names:
            found[attribute] = _first_values(attribute, [columns[name] for name in names])
    return found


def _first_values(attribute: str, columns: list[Any]) -> Any:
    if len(columns) == 1:
        return columns[0]
    if not any(isinstance(column, MixedColumn) for column in columns):
        kinds = {column.type for column in columns}
        if len(kinds) == 1 and not pa.types.is_nested(columns[0].type):
            try:
                return pc.coalesce(*map(_without_nan, columns))
            except pa.ArrowNotImplementedError:
                pass  # such as dictionaries that differ
    rows = zip(*(_values(column) for column in columns), strict=True)
    return MixedColumn([_first(attribute, row) for row in rows])


def _without_nan(column: Any) -> Any:
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _values(column: Any) -> list[Any]:
    return column.values if isinstance(column, MixedColumn) else values_of(column)


def _first(attribute: str, values: Iterable[object]) -> object:
    for value in values:
        if value is not None and see(attribute, value) != NULL:
            return value
    return None
