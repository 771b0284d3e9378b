"""Bodies of `POST /match` that compiled code has checked, so that no event is read by Python.

The scanner accepts nothing that a strict parser refuses, and gives up on what is unusual: such
bodies are read by `match_bodies` itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from matchwood.kernels.readiness import kernels_ready
from matchwood.service.delivery.event_bodies import STRICT
from matchwood.service.settings import Limits

# Fields that a body may have; of more, at least one is unknown.
_MOST_FIELDS = 16
# The first bytes of objects and lists.
_OBJECT, _LIST = ord("{"), ord("[")
# The least bytes that an event and the comma behind it have.
_SHORTEST = 3


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


class ScannedBody(NamedTuple):
    """The fields of a body, with events that nothing has read, and their texts."""

    fields: dict[str, Any]
    texts: dict[str, list[str]]  # of the field `event` or `events`


def scanned(body: bytes, limits: Limits) -> ScannedBody | None:
    """A body that is strict JSON, and whose events are within the limits; None for any other."""
    parts = _parts(body, 0, len(body), 2 * _MOST_FIELDS) if body[:1] == b"{" else None
    if parts is None:
        return None
    fields: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    for (low, high), (start, end) in zip(parts[::2], parts[1::2], strict=True):
        name = body[low + 1 : high - 1].decode()
        if name in fields:
            return None
        if name == "event" and body[start] == _OBJECT:
            own: list[tuple[int, int]] | None = [(start, end)]
        elif name == "events" and body[start] == _LIST:
            own = _parts(body, start, end, min(limits.batch_events, (end - start) // _SHORTEST + 1))
        else:
            fields[name] = STRICT.decode(body[start:end].decode())
            continue
        if own is None or not _are_events(body, own, limits):
            return None
        texts[name] = [body[low:high].decode() for low, high in own]
        events = list(map(SentEvent, texts[name]))
        fields[name] = events[0] if name == "event" else events
    return ScannedBody(fields, texts)


def _parts(body: bytes, start: int, end: int, most: int) -> list[tuple[int, int]] | None:
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


def _are_events(body: bytes, places: list[tuple[int, int]], limits: Limits) -> bool:
    """Whether all parts are objects of the size that events may have."""
    most = limits.event_bytes
    return all(body[low] == _OBJECT and high - low <= most for low, high in places)
