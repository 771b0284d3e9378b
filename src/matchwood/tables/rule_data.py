"""The data that a rule carries, any JSON: kept as text, and given back with matches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

from matchwood.language.values import is_text

# Characters of the JSON text of one rule's data.
MOST_DATA = 1 << 20

# The text of a rule without data.
NO_DATA = ""


def data_text(data: object) -> str:
    """Data as JSON text; a ValueError or TypeError says why it is none.

    >>> data_text({"owner": "ann", "level": 3})
    '{"owner":"ann","level":3}'
    """
    if data is None:
        return NO_DATA
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise type(error)(f"the data of a rule is any JSON: {error}") from None
    if len(text) > MOST_DATA:
        raise ValueError(
            f"the data of a rule has at most {MOST_DATA:,} characters as JSON, found {len(text):,}"
        )
    if not is_text(text):
        raise ValueError("the data of a rule is not valid Unicode")
    return text


def data_of(text: str) -> Any:
    """The data of a JSON text; None if a rule has none."""
    return json.loads(text) if text else None


def data_of_columns(fields: Mapping[str, object], known: tuple[str, ...]) -> object:
    """The data of a row of a table: its further columns, without those that are null.

    What a column `data` holds is added if it is an object. If it is not, it is the data itself, and
    there may be no further columns.

    >>> data_of_columns(
    ...     {"id": 1, "rule": "a", "owner": "ann", "data": {"level": 3}}, ("id", "rule")
    ... )
    {'owner': 'ann', 'level': 3}
    """
    further = {
        name: plain(value)
        for name, value in fields.items()
        if name not in known and name != "data" and not _is_null(value)
    }
    own = plain(fields.get("data"))
    if own is None or own == "":
        return further or None
    if isinstance(own, dict):
        return further | own
    if further:
        names = ", ".join(map(repr, further))
        raise ValueError(f"'data' is an object where there are further columns ({names})")
    return own


def plain(value: Any) -> Any:
    """A value of a table as JSON has it: times in ISO 8601, and decimals as text."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items() if not _is_null(inner)}
    if isinstance(value, list | tuple):
        return [None if _is_null(inner) else plain(inner) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
