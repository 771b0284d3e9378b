"""Answers that are sent piece by piece, so that slow readers cost little memory.

A piece is made when the one before it has been taken, and its bytes count against a budget that
all answers share. A reader that does not take a piece in time is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from matchwood.service.delivery.due_events import ENVELOPE_BYTES, PIECE_BYTES
from matchwood.service.service import Service

log = logging.getLogger("matchwood.service")
Items = TypeVar("Items", bound=Sequence[Any])
# Bytes that are given to the server at a time: it buffers up to twice as many per connection.
SLICE_BYTES = 64 << 10
# The entry of an ASGI scope's `extensions` with the function that drops the connection at once.
ABORT = "matchwood.abort"


class PiecesResponse(StreamingResponse):
    """Sends pieces, and frees its slot when it ends, even if it could not begin."""

    def __init__(
        self,
        service: Service,
        pieces: AsyncGenerator[bytes],
        slot: ExitStack | None = None,
        **more: Any,
    ) -> None:
        super().__init__(pieces, **more)
        self._pieces = pieces
        self._service = service
        self._slot = slot or ExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seconds = self._service.settings.limits.reader_seconds
        with self._slot:
            try:
                await super().__call__(scope, receive, _impatient(send, seconds))
            except SlowReader:
                self._service.metrics.slow_readers.inc()
                client = scope.get("client")
                extra = {"client": client[0] if client else None, "seconds": seconds}
                log.warning("a reader was disconnected: it did not take its answer", extra=extra)
                abort = scope.get("extensions", {}).get(ABORT)
                if abort is not None:
                    abort()
                    await asyncio.sleep(0.01)  # the server notices it, and does not miss the rest
            finally:
                await self._pieces.aclose()  # which gives its room back

    async def stream_response(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        async for piece in self._pieces:
            for low in range(0, len(piece), SLICE_BYTES):
                body = piece[low : low + SLICE_BYTES]
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class SlowReader(Exception):
    """A piece was not taken in time."""


def _impatient(send: Send, seconds: float) -> Send:
    async def send_in_time(message: Message) -> None:
        try:
            async with asyncio.timeout(seconds):
                await send(message)
        except TimeoutError:
            raise SlowReader from None

    return send_in_time


async def budgeted(
    service: Service, next_items: Callable[[], Awaitable[Items]], encode: Callable[[Items], bytes]
) -> AsyncGenerator[tuple[int, int, bytes]]:
    """Items as bytes, within the budget, until there are no more.

    With each piece come the number of its last item, and how many it has. Its bytes are free again
    once the next piece is asked for.
    """
    most = PIECE_BYTES + service.settings.limits.event_bytes + ENVELOPE_BYTES
    while True:
        async with service.reader_budget.room(most) as room:
            items = await next_items()
            if not items:
                return
            data = encode(items)
            last, count = items[-1].number, len(items)
            del items  # while the piece is sent, nothing but its bytes is kept
            room.shrink(len(data))
            yield last, count, data
