"""Answers that are sent piece by piece, so that slow readers cost little memory.

A piece is made when the one before it has been taken, and its bytes count against a budget that
all pieces share. An answer that is made as a whole counts against another one with all of its
bytes, and is refused if there is no room there, unless something has been changed already. Who
takes nothing is disconnected (`connections`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from matchwood.service.delivery.due_events import ENVELOPE_BYTES, PIECE_BYTES
from matchwood.service.limits import BudgetRoom, ByteBudget
from matchwood.service.problems import RequestProblem
from matchwood.service.service import Service

Items = TypeVar("Items", bound=Sequence[Any])
# Bytes that are given to the server at a time: it buffers up to twice as many per connection.
SLICE_BYTES = 64 << 10
# Seconds after which a client should try again if there was no room for its answer.
RETRY_SECONDS = 1


class NoRoom(Exception):
    """There is no room for an answer now."""

    def __init__(self, size: int, total: int) -> None:
        super().__init__()
        detail = f"the answer has {size:,} bytes, and too much of {total:,} is being sent to others"
        self.problem = RequestProblem("busy", detail, retry_after=RETRY_SECONDS, limit=total)


class SlicedAnswer:
    """Hands what an application sends on in slices; a large answer takes room until it is closed.

    Raises `NoRoom` before anything of the answer is sent. Without a budget it never does so, for
    requests that must not be repeated: they have changed something when they are answered.
    """

    def __init__(self, send: Send, budget: ByteBudget | None, request: str) -> None:
        self._send = send
        self._budget = budget
        self._id = request.encode()
        self._room: BudgetRoom | None = None
        self.status: int | None = None  # once the answer has begun

    async def send(self, message: Message) -> None:
        """Pass a message on, with the id of the request."""
        if message["type"] == "http.response.start":
            headers = message.setdefault("headers", [])
            headers.append((b"x-request-id", self._id))
            size = _length(headers)
            if size > SLICE_BYTES and self._budget is not None:
                self._room = self._budget.take_now(size)
                if self._room is None:
                    raise NoRoom(size, self._budget.total)
            await self._send(message)
            self.status = message["status"]
            return
        body = message.get("body", b"")
        if len(body) <= SLICE_BYTES:
            await self._send(message)
            return
        for low in range(0, len(body) - SLICE_BYTES, SLICE_BYTES):
            part = {"type": message["type"], "body": body[low : low + SLICE_BYTES]}
            await self._send({**part, "more_body": True})
        last = body[(len(body) - 1) // SLICE_BYTES * SLICE_BYTES :]
        await self._send({**message, "body": last})

    def close(self) -> None:
        if self._room is not None:
            self._room.shrink(0)


def _length(headers: Sequence[tuple[bytes, bytes]]) -> int:
    """The length of an answer that is made as a whole; 0 if it is not."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
    return 0


class PiecesResponse(StreamingResponse):
    """Sends pieces, and frees its slot when it ends, even if it could not begin."""

    def __init__(
        self, pieces: AsyncGenerator[bytes], slot: ExitStack | None = None, **more: Any
    ) -> None:
        super().__init__(pieces, **more)
        self._pieces = pieces
        self._slot = slot or ExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            try:
                await super().__call__(scope, receive, send)
            finally:
                await self._pieces.aclose()  # which gives its room back


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
