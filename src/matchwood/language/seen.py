"""What predicates see of a value: one value of a family, or the values of a list."""

from __future__ import annotations

from collections.abc import Mapping

from matchwood.language.errors import EventError
from matchwood.language.values import NULL, OPAQUE, Value, is_text, read

# Values of one event. An object that occurs twice counts twice, so that an event of shared objects
# cannot expand without bound.
MAX_VALUES = 1_000_000

# What counts as a list.
LISTS = (list, tuple, set, frozenset)

# What predicates see of an attribute: a single value, or the values of a list.
Seen = Value | tuple[Value, ...]


def see(attribute: str, value: object) -> Seen:
    """What predicates see of the value of an attribute; an EventError if it cannot be read."""
    try:
        if isinstance(value, LISTS):
            return tuple(NULL if item is None else _single(attribute, item) for item in value)
        return _single(attribute, value)
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, EventError):
            raise
        raise EventError(f"its value cannot be read: {error}", attribute) from error


def _single(attribute: str, value: object) -> Value:
    if isinstance(value, (Mapping, *LISTS)):
        return OPAQUE
    if isinstance(value, str) and not is_text(value):
        raise EventError("a string is not valid Unicode", attribute)
    return read(value)
