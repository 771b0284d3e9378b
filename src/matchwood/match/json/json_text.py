"""JSON text as `json.loads` reads it, with errors that say where: what JSON events mean."""

from __future__ import annotations

import json
from typing import Any

from matchwood.language.errors import EventError

# A JSON text as callers hand it in.
JsonText = bytes | bytearray | memoryview | str

_BYTE_ORDER_MARK = "\ufeff"


def event_of(text: JsonText) -> dict[str, Any]:
    """The event that a JSON text spells; an EventError says where the text is not JSON.

    >>> event_of(b'{"age": 18}')
    {'age': 18}
    >>> event_of(b'{"age": }')
    Traceback (most recent call last):
    ...
    matchwood.language.errors.EventError: not JSON: Expecting value at column 9
    """
    value = _loads(text if isinstance(text, str) else _decoded(bytes(text)))
    if not isinstance(value, dict):
        raise EventError(f"an event is an object, found {type(value).__name__}")
    return value


def encoded(text: JsonText) -> bytes | None:
    """A text as bytes; None for a string that UTF-8 cannot hold."""
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return None
    return bytes(text)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        line = f"line {text.count(10, 0, error.start) + 1}, " if 10 in text else ""
        raise EventError(f"not UTF-8: {error.reason} at {line}byte {error.start}") from None


def _loads(text: str) -> Any:
    try:
        return json.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise EventError(f"not JSON: {error.msg} at {line}column {error.colno}") from None
    except RecursionError:
        raise EventError("not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise EventError(f"not JSON that can be read: {error}") from None
