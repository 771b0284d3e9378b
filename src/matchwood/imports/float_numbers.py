"""Numbers of formats that compute with floats of 64 bits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from matchwood.imports.imported import Inexpressible


def number_of(value: Any, place: str) -> int | Decimal:
    """A number that a float of 64 bits holds, up to its shortest spelling."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise Inexpressible(f"expected a number, found {value!r}", place)
    try:
        kept = Decimal(repr(float(value)))
    except OverflowError:
        kept = Decimal("Infinity")
    if kept != value:
        raise Inexpressible(f"no float of 64 bits is {value}", place)
    return value
