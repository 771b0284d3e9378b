"""Streams of server-sent events: lines to messages, and when to try again."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from matchwood.client.answers import Delivered, delivered_of

SILENCE = 60.0  # seconds without a line after which a stream is given up and resumed
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between attempts
ACKNOWLEDGE_EVERY = 1.0  # seconds


class Message(NamedTuple):
    """A message of a stream; a comment, which only says that the stream lives, has no name."""

    name: str
    id: str
    data: str


class Messages:
    """Puts bytes together to messages, as the standard of server-sent events has it.

    >>> messages = Messages()
    >>> list(messages.add(b"id: 7\\nevent: match\\nda"))
    []
    >>> list(messages.add(b"ta: {}\\n\\n"))
    [Message(name='match', id='7', data='{}')]
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def add(self, part: bytes) -> Iterator[Message]:
        """The messages that are complete with this part.

        Lines end where the standard says, not at all that ends a line for Python: an event may
        hold such characters.
        """
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            message = self._line(line.removesuffix(b"\r").decode("utf-8", "replace"))
            if message is not None:
                yield message

    def _line(self, line: str) -> Message | None:
        if not line:
            data, name = self._data, self._name or "message"
            self._data, self._name = [], ""
            return Message(name, self._id, "\n".join(data)) if data else None
        if line.startswith(":"):
            return Message("", "", "")
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None


class Progress:
    """How far a watcher has come: what to resume after, what to acknowledge, how long to wait."""

    def __init__(self, after: int | None, limit: int | None, acknowledges: bool) -> None:
        self.taken = after  # the last event that the caller is done with
        self.acknowledged = after
        self.left = limit
        self._acknowledges = acknowledges
        self._told = time.monotonic()
        self._failures = 0

    def finished(self) -> bool:
        """Whether as many events as were asked for have been taken."""
        return self.left is not None and self.left <= 0

    def headers(self) -> dict[str, str]:
        headers = {"Accept": "text/event-stream"}
        if self.taken is not None:
            headers["Last-Event-ID"] = str(self.taken)
            self.acknowledged = self.taken
        return headers

    def read(self, message: Message) -> Delivered | None:
        """The event of a message, if it has one that was not there before."""
        self._failures = 0
        if message.name != "match":
            return None
        event = delivered_of(json.loads(message.data))
        return event if self.taken is None or event.id > self.taken else None

    def took(self, event: Delivered) -> None:
        self.taken = event.id
        if self.left is not None:
            self.left -= 1

    def due(self, at_once: bool = False) -> int | None:
        """The event up to which to acknowledge now, None for none."""
        now = time.monotonic()
        if not self._acknowledges or self.taken is None or self.taken == self.acknowledged:
            return None
        if not at_once and now - self._told < ACKNOWLEDGE_EVERY:
            return None
        self._told = now
        self.acknowledged = self.taken
        return self.taken

    def wait(self, error: Any = None) -> float:
        """Seconds until the next attempt: longer each time, and never the same for two clients."""
        self._failures += 1
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._failures - 1, 10))
        told = getattr(error, "retry_after", None)
        return max(float(told or 0), random.uniform(longest / 2, longest))
