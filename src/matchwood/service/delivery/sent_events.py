"""Events as they were sent: text that compiled code has checked, and that Python does not read.

The scanner accepts nothing that a strict parser refuses, and gives up on what is unusual: such
bodies are read by `event_bodies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from matchwood.kernels.readiness import kernels_ready
from matchwood.service.delivery.event_bodies import JSON, LINES, STRICT, EventBatch, dumps
from matchwood.service.settings import Limits

# The first bytes of objects and lists.
OBJECT, LIST = ord("{"), ord("[")
# The least bytes that an event and the comma behind it have.
SHORTEST = 3
# The bytes of numbers: every digit is 0, both signs of an exponent are e, and all others blank.
_IN_NUMBERS = bytes(
    ord("0") if byte in b"0123456789" else ord("e") if byte in b"eE" else byte if byte == 43 else 32
    for byte in range(256)
)
# What a number has, as these bytes, that may be too large for a double, which no event may hold.
_MARKS = (b"0e000", b"0e+000", b"0" * 200)
# A number that has one of them, or a string that looks like it.
_MAYBE_TOO_LARGE = re.compile(rb"[:\[,]\s*-?(?:[0-9.]+[eE]\+?[0-9]{3}|[0-9]{200})")
# What JSON has around values.
_BLANKS = b" \t\r\n"


class SentEvent(Mapping[str, Any]):
    """An event that is JSON text, known to be right, and is read when something asks for it."""

    __slots__ = ("_text", "_values")

    def __init__(self, text: str) -> None:
        self._text = text
        self._values: dict[str, Any] | None = None

    def _read(self) -> dict[str, Any]:
        if self._values is None:
            self._values = STRICT.decode(self._text)
        return self._values

    def __getitem__(self, name: str) -> Any:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def sent_events(kind: str, body: bytes, limits: Limits) -> EventBatch | None:
    """The events of a body of JSON or JSON lines; None if Python has to read it.

    Each body is the text that came, unless that has line breaks, which streams could not pass on.
    """
    if kind == JSON:
        whole = body.strip(_BLANKS)
        single = whole[:1] == b"{"
        lines = [whole] if single else None
    elif kind in LINES:
        stripped = (line.strip(_BLANKS) for line in body.split(b"\n"))
        single, lines = False, [line for line in stripped if line]
        if len(lines) > limits.batch_events:
            return None
    else:
        return None
    text = whole if lines is None else b"[%s]" % b",".join(lines)
    if text[:1] != b"[" or _may_be_too_large(text):
        return None
    places = parts_of(text, 0, len(text), min(limits.batch_events, len(text) // SHORTEST + 1))
    if places is None or not are_events(text, places, limits):
        return None
    if lines is not None and not _are_whole(lines, places):
        return None
    bodies = [_on_one_line(text[low:high].decode()) for low, high in places]
    if any(len(body.encode()) > limits.event_bytes for body in bodies):  # some are written anew
        return None
    return EventBatch(list(map(SentEvent, bodies)), bodies, single)


def _may_be_too_large(text: bytes) -> bool:
    """Whether a number may be too large for a double; to look for marks first is much faster."""
    marks = text.translate(_IN_NUMBERS)
    return any(map(marks.__contains__, _MARKS)) and _MAYBE_TOO_LARGE.search(text) is not None


def _are_whole(lines: list[bytes], places: list[tuple[int, int]]) -> bool:
    """Whether each line is one of the events of the list that they were joined to."""
    if len(lines) != len(places):
        return False
    at = 1  # behind the bracket
    for line, (low, high) in zip(lines, places, strict=True):
        if (low, high) != (at, at + len(line)):
            return False
        at = high + 1
    return True


def _on_one_line(text: str) -> str:
    return dumps(STRICT.decode(text)) if "\n" in text or "\r" in text else text


def parts_of(body: bytes, start: int, end: int, most: int) -> list[tuple[int, int]] | None:
    """Where the parts of an object or list begin and end; None for what is unusual, or more."""
    if not kernels_ready():
        return None
    from matchwood.kernels.text_bytes import address_of_bytes
    from matchwood.match.json.json_part_kernels import part_bounds

    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    found = part_bounds(address_of_bytes(body), start, end, starts, ends)
    if found < 0:
        return None
    return list(zip(starts[:found].tolist(), ends[:found].tolist(), strict=True))


def are_events(body: bytes, places: list[tuple[int, int]], limits: Limits) -> bool:
    """Whether all parts are objects of the size that events may have."""
    most = limits.event_bytes
    return all(body[low] == OBJECT and high - low <= most for low, high in places)
