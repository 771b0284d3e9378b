"""Server-sent events: parsing a stream, and how to resume one that has ended.

httpx-sse would parse streams too, but does not report comments, and these are the moments at which
a client of a quiet stream acknowledges what it has handled.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from matchwood.client.answer_types import Delivered, delivered_of

# Seconds of silence after which a stream is given up and resumed.
SILENCE = 60.0
# The most seconds to wait before the second attempt to connect.
FIRST_WAIT = 0.5
# The most seconds to wait between any two attempts.
LONGEST_WAIT = 30.0
# Seconds between acknowledgements of what has been handled.
ACKNOWLEDGE_EVERY = 1.0


class StreamMessage(NamedTuple):
    """A message of a stream. A comment, which only shows that the stream is alive, has no name."""

    name: str
    id: str
    data: str


class EventStreamParser:
    """Parses the bytes of a stream into messages, as the standard of server-sent events says.

    Comments are reported too, which the standard ignores: the service sends them as heartbeats.

    >>> messages = EventStreamParser()
    >>> list(messages.add(b"id: 7\\nevent: match\\nda"))
    []
    >>> list(messages.add(b"ta: {}\\n\\n"))
    [StreamMessage(name='match', id='7', data='{}')]
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def add(self, part: bytes) -> Iterator[StreamMessage]:
        """The messages that this part completes.

        Lines end with a line feed, or a carriage return and a line feed, as the service sends them.
        To Python, other characters end a line as well, and an event may contain them.
        """
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            message = self._line(line.removesuffix(b"\r").decode("utf-8", "replace"))
            if message is not None:
                yield message

    def _line(self, line: str) -> StreamMessage | None:
        if not line:
            data, name = self._data, self._name or "message"
            self._data, self._name = [], ""
            return StreamMessage(name, self._id, "\n".join(data)) if data else None
        if line.startswith(":"):
            return StreamMessage("", "", "")
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None


class WatchProgress:
    """How far `watch` has come: where to resume, what to acknowledge, how long to wait."""

    def __init__(self, after: int | None, limit: int | None, acknowledges: bool) -> None:
        self.taken = after  # the last event that the caller has handled
        self.acknowledged = after
        self.left = limit
        self._acknowledges = acknowledges
        self._last_acknowledged_at = time.monotonic()
        self._failures = 0

    def finished(self) -> bool:
        """Whether the requested number of events has been handled."""
        return self.left is not None and self.left <= 0

    def headers(self) -> dict[str, str]:
        """The headers of the next request, which acknowledges what has been handled."""
        headers = {"Accept": "text/event-stream"}
        if self.taken is not None:
            headers["Last-Event-ID"] = str(self.taken)
            self.acknowledged = self.taken
        return headers

    def read(self, message: StreamMessage) -> Delivered | None:
        """The event of a message, if it has one that has not been handled before."""
        self._failures = 0
        if message.name != "match":
            return None
        event = delivered_of(json.loads(message.data))
        return event if self.taken is None or event.id > self.taken else None

    def handled(self, event: Delivered) -> None:
        """The caller is done with an event."""
        self.taken = event.id
        if self.left is not None:
            self.left -= 1

    def due(self, at_once: bool = False) -> int | None:
        """The event up to which to acknowledge now; None if there is nothing to acknowledge yet."""
        now = time.monotonic()
        if not self._acknowledges or self.taken is None or self.taken == self.acknowledged:
            return None
        if not at_once and now - self._last_acknowledged_at < ACKNOWLEDGE_EVERY:
            return None
        self._last_acknowledged_at = now
        self.acknowledged = self.taken
        return self.taken

    def wait(self, error: Any = None) -> float:
        """Seconds until the next attempt: exponential backoff with jitter."""
        self._failures += 1
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._failures - 1, 10))
        retry_after = getattr(error, "retry_after", None)
        return max(float(retry_after or 0), random.uniform(longest / 2, longest))
