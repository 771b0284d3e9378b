"""JSON lists in the bodies of requests, read item by item: as objects, all items of a large upload
would take many times as much memory as their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from matchwood.service.delivery.event_bodies import STRICT

_BLANKS = re.compile("[ \\t\\n\\r]*")


def items_of(body: bytes) -> Iterator[Any]:
    """The items of a JSON list; a ValueError, after those before it, says what is wrong.

    >>> list(items_of(b' [1, {"a": []} ] '))
    [1, {'a': []}]
    """
    text = body.decode(json.detect_encoding(body))
    at = after_blanks(text, 0)
    if not text.startswith("[", at):
        raise json.JSONDecodeError("Expecting a list", text, at)
    at = after_blanks(text, at + 1)
    if not text.startswith("]", at):
        while True:
            try:
                item, at = STRICT.raw_decode(text, at)
            except RecursionError:
                raise json.JSONDecodeError("It is nested too deeply", text, at) from None
            yield item
            at = after_blanks(text, at)
            if text.startswith("]", at):
                break
            at = after_sign(text, at, ",")
    if after_blanks(text, at + 1) != len(text):
        raise json.JSONDecodeError("Extra data", text, at + 1)


def after_sign(text: str, at: int, sign: str) -> int:
    """The place behind a sign and the blanks around it."""
    at = after_blanks(text, at)
    if not text.startswith(sign, at):
        raise json.JSONDecodeError(f"Expecting {sign!r}", text, at)
    return after_blanks(text, at + 1)


def after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()
