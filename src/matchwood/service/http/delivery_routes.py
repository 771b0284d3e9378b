"""Fetching events: as a stream of server-sent events, or by polling and acknowledging."""

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

from matchwood.service.delivery.due_events import DueEvent, envelope
from matchwood.service.http.models import (
    Acknowledged,
    Acknowledgement,
    EventDelivered,
    EventsPolled,
)
from matchwood.service.http.request_context import Ready, Secret, problems
from matchwood.service.http.subscription_routes import authorised
from matchwood.service.problems import RequestProblem
from matchwood.service.service import Service
from matchwood.service.times import iso

router = APIRouter(tags=["delivery"], responses=problems(404))
# Events that a stream fetches and sends together.
EVENTS_AT_ONCE = 100
# Milliseconds after which a browser connects again when the stream ends.
RETRY_MILLISECONDS = 1000
Number = Annotated[int | None, Query(ge=0, le=2**63 - 1)]


@router.get(
    "/subscriptions/{name}/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(request: Request, service: Ready, secret: Secret, name: str) -> StreamingResponse:
    """Server-sent events: first all that are not acknowledged, then new ones as they match.
    `Last-Event-ID` acknowledges the events up to it. A stream ends after some minutes; the client
    then connects again.
    """
    row = await authorised(service, name, secret)
    _acknowledge_last(request, service, row.number)
    slot = ExitStack()
    slot.enter_context(service.streams.slot(row.key))  # raises its problem before the stream begins
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    parts = _stream(service, row.number)
    return EventStreamResponse(parts, slot, media_type="text/event-stream", headers=headers)


class EventStreamResponse(StreamingResponse):
    """A stream that frees its slot when it ends, even if it could not begin."""

    def __init__(self, parts: AsyncIterator[bytes], slot: ExitStack, **more: Any) -> None:
        super().__init__(parts, **more)
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            await super().__call__(scope, receive, send)


@router.get("/subscriptions/{name}/events")
async def poll(
    service: Ready,
    secret: Secret,
    name: str,
    wait: Annotated[float, Query(ge=0, le=60)] = 0.0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ack: Number = None,
) -> EventsPolled:
    """The next events that are not acknowledged. If there are none, the request waits for up to
    `wait` seconds. `ack` first acknowledges the events up to it.
    """
    row = await authorised(service, name, secret)
    if ack is not None:
        service.delivery.cursors.acknowledge(row.number, ack)
    with service.streams.slot(row.key), service.delivery.watchers.watching(row.number) as woken:
        deadline = time.monotonic() + wait
        while True:
            woken.clear()
            cursor = service.roster.cursor(row.number)
            due = await service.delivery.due_events.after(row.number, cursor, limit)
            left = deadline - time.monotonic()
            if due or left <= 0 or service.closing.is_set():
                break
            if not service.roster.is_live(row.number):
                break
            await _wait(service, woken, left)
    service.metrics.delivered.labels("poll").inc(len(due))
    events = [
        EventDelivered(id=event.number, published=iso(event.at), event=json.loads(event.body))
        for event in due
    ]
    return EventsPolled(events=events, cursor=cursor)


@router.post("/subscriptions/{name}/ack")
async def acknowledge(
    service: Ready, secret: Secret, name: str, acknowledgement: Acknowledgement
) -> Acknowledged:
    """All events up to this one have arrived, and are not delivered again."""
    row = await authorised(service, name, secret)
    service.delivery.cursors.acknowledge(row.number, acknowledgement.event)
    return Acknowledged(cursor=service.roster.cursor(row.number))


def _acknowledge_last(request: Request, service: Service, number: int) -> None:
    last = request.headers.get("last-event-id", "").strip()
    if last:
        if not last.isascii() or not last.isdecimal() or len(last) > 18:
            raise RequestProblem(
                "bad-request", f"Last-Event-ID must be the number of an event, found {last!r}"
            )
        service.delivery.cursors.acknowledge(number, int(last))


async def _stream(service: Service, number: int) -> AsyncIterator[bytes]:
    position = service.roster.cursor(number)
    deadline = time.monotonic() + service.settings.stream_seconds
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    with service.delivery.watchers.watching(number) as woken:
        while not service.closing.is_set() and service.roster.is_live(number):
            woken.clear()
            position = max(position, service.roster.cursor(number))
            due = await service.delivery.due_events.after(number, position, EVENTS_AT_ONCE)
            if due:
                position = due[-1].number
                service.metrics.delivered.labels("stream").inc(len(due))
                yield b"".join(map(_message, due))
                continue
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if not await _wait(service, woken, min(left, service.settings.heartbeat)):
                yield b": still here\n\n"


async def _wait(service: Service, woken: asyncio.Event, seconds: float) -> bool:
    """Wait until there is something new or the service closes; False if neither came in time."""
    tasks = [asyncio.ensure_future(event.wait()) for event in (woken, service.closing)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()


def _message(event: DueEvent) -> bytes:
    return f"id: {event.number}\nevent: match\ndata: {envelope(event)}\n\n".encode()
