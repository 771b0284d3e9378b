"""How events are fetched: as a stream of server-sent events, or by polling and acknowledging."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from matchwood.service.deliveries import due, envelope
from matchwood.service.forms import Acknowledged, Acknowledgement, Delivered, Polled
from matchwood.service.problems import Problem
from matchwood.service.requests import Ready, Secret, problems
from matchwood.service.service import Service
from matchwood.service.subscription_routes import authorised
from matchwood.service.times import iso

router = APIRouter(tags=["delivery"], responses=problems(404))
AT_ONCE = 100  # events that a stream fetches together
Number = Annotated[int | None, Query(ge=0, le=2**63 - 1)]


@router.get(
    "/subscriptions/{name}/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(request: Request, service: Ready, secret: Secret, name: str) -> StreamingResponse:
    """Server-sent events: all that are not acknowledged, then others as they come. `Last-Event-ID`
    acknowledges the events up to it; a stream ends after some minutes, and is to be resumed.
    """
    row = await authorised(service, name, secret)
    _acknowledge_last(request, service, row.number)
    place = ExitStack()
    place.enter_context(service.streams.one(row.key))  # a problem is answered before it begins
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    parts = _stream(service, row.number)
    return Stream(parts, place, media_type="text/event-stream", headers=headers)


class Stream(StreamingResponse):
    """A stream that gives its place back when it ends, even if it could not begin."""

    def __init__(self, parts: AsyncIterator[bytes], place: ExitStack, **more: Any) -> None:
        super().__init__(parts, **more)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)


@router.get("/subscriptions/{name}/events")
async def poll(
    service: Ready,
    secret: Secret,
    name: str,
    wait: Annotated[float, Query(ge=0, le=60)] = 0.0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ack: Number = None,
) -> Polled:
    """The next events that are not acknowledged; where there are none, one waits for `wait`
    seconds. With `ack`, the events up to it are acknowledged first.
    """
    row = await authorised(service, name, secret)
    if ack is not None:
        service.acknowledge(row.number, ack)
    with service.streams.one(row.key), service.watching(row.number) as woken:
        until = time.monotonic() + wait
        while True:
            woken.clear()
            cursor = service.roster.cursor(row.number)
            found = await due(service, row.number, cursor, limit)
            left = until - time.monotonic()
            if found or left <= 0 or service.closing.is_set():
                break
            if not service.roster.is_live(row.number):
                break
            await _woken(service, woken, left)
    service.metrics.delivered.labels("poll").inc(len(found))
    events = [
        Delivered(id=one.number, published=iso(one.at), event=json.loads(one.body)) for one in found
    ]
    return Polled(events=events, cursor=cursor)


@router.post("/subscriptions/{name}/ack")
async def acknowledge(
    service: Ready, secret: Secret, name: str, given: Acknowledgement
) -> Acknowledged:
    """All events up to this one have arrived, and are not delivered again."""
    row = await authorised(service, name, secret)
    service.acknowledge(row.number, given.event)
    return Acknowledged(cursor=service.roster.cursor(row.number))


def _acknowledge_last(request: Request, service: Service, number: int) -> None:
    last = request.headers.get("last-event-id", "").strip()
    if last:
        if not last.isascii() or not last.isdecimal() or len(last) > 18:
            raise Problem("bad-request", f"Last-Event-ID is a number of an event, found {last!r}")
        service.acknowledge(number, int(last))


async def _stream(service: Service, number: int) -> AsyncIterator[bytes]:
    position = service.roster.cursor(number)
    until = time.monotonic() + service.settings.stream_seconds
    yield b"retry: 1000\n\n"
    with service.watching(number) as woken:
        while not service.closing.is_set() and service.roster.is_live(number):
            woken.clear()
            position = max(position, service.roster.cursor(number))
            found = await due(service, number, position, AT_ONCE)
            if found:
                position = found[-1].number
                service.metrics.delivered.labels("stream").inc(len(found))
                yield b"".join(_message(one) for one in found)
                continue
            left = until - time.monotonic()
            if left <= 0:
                return
            if not await _woken(service, woken, min(left, service.settings.heartbeat)):
                yield b": still here\n\n"


async def _woken(service: Service, woken: asyncio.Event, seconds: float) -> bool:
    """Wait for something new; False if nothing came."""
    tasks = [asyncio.ensure_future(one.wait()) for one in (woken, service.closing)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()


def _message(one: Any) -> bytes:
    return f"id: {one.number}\nevent: match\ndata: {envelope(one)}\n\n".encode()
