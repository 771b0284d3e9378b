"""`SchemaError`, and the nearest spelling of a name for errors of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SchemaError(ValueError):
    """A schema has no sense; says where in it and what was expected."""


def nearest(name: str, known: Iterable[str]) -> str:
    """', did you mean …?' for the nearest known spelling, '' where none is near."""
    names = sorted(known)
    by_case = {other.lower(): other for other in names}
    if name.lower() in by_case:
        return f", did you mean {by_case[name.lower()]!r}?"
    close = get_close_matches(name, names, n=1)
    return f", did you mean {close[0]!r}?" if close else ""
