"""Bodies of `POST /match` that compiled code has checked, so that no event is read by Python.

The scanner accepts nothing that a strict parser refuses, and gives up on what is unusual: such
bodies are read by `match_bodies` itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from matchwood.service.delivery.event_bodies import STRICT
from matchwood.service.delivery.sent_events import (
    LIST,
    OBJECT,
    SHORTEST,
    SentEvent,
    are_events,
    parts_of,
)
from matchwood.service.settings import Limits

# Fields that a body may have; of more, at least one is unknown.
_MOST_FIELDS = 16


class ScannedBody(NamedTuple):
    """The fields of a body, with events that nothing has read, and their texts."""

    fields: dict[str, Any]
    texts: dict[str, list[str]]  # of the field `event` or `events`


def scanned(body: bytes, limits: Limits) -> ScannedBody | None:
    """A body that is strict JSON, and whose events are within the limits; None for any other."""
    parts = parts_of(body, 0, len(body), 2 * _MOST_FIELDS) if body[:1] == b"{" else None
    if parts is None:
        return None
    fields: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    for (low, high), (start, end) in zip(parts[::2], parts[1::2], strict=True):
        name = body[low + 1 : high - 1].decode()
        if name in fields:
            return None
        if name == "event" and body[start] == OBJECT:
            own: list[tuple[int, int]] | None = [(start, end)]
        elif name == "events" and body[start] == LIST:
            own = parts_of(
                body, start, end, min(limits.batch_events, (end - start) // SHORTEST + 1)
            )
        else:
            fields[name] = STRICT.decode(body[start:end].decode())
            continue
        if own is None or not are_events(body, own, limits):
            return None
        texts[name] = [body[low:high].decode() for low, high in own]
        events = list(map(SentEvent, texts[name]))
        fields[name] = events[0] if name == "event" else events
    return ScannedBody(fields, texts)
