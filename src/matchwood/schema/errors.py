"""`SchemaError`, and the nearest known spelling of a name, for errors of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SchemaError(ValueError):
    """A schema is malformed; the message says where, and what was expected.

    >>> from matchwood import Schema
    >>> Schema.from_dict({"attributes": {"age": "numbr"}})
    Traceback (most recent call last):
    ...
    matchwood.schema.errors.SchemaError: attributes.age: expected one of number, ...
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """', did you mean …?' with the nearest known spelling; '' if none is near.

    >>> nearest("prise", ["price", "colour"])
    ", did you mean 'price'?"
    """
    names = sorted(known)
    by_case = {other.lower(): other for other in names}
    if name.lower() in by_case:
        return f", did you mean {by_case[name.lower()]!r}?"
    close = get_close_matches(name, names, n=1)
    return f", did you mean {close[0]!r}?" if close else ""
