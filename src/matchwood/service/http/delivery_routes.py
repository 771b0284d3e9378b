"""Fetching events: as a stream of server-sent events, or by polling and acknowledging."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from matchwood.service.delivery.due_events import PIECE_EVENTS, DueEvent, envelope
from matchwood.service.delivery.event_bodies import JSON
from matchwood.service.delivery.watchers import Watch
from matchwood.service.http.models import Acknowledged, Acknowledgement, EventsPolled
from matchwood.service.http.pieces import PiecesResponse, budgeted
from matchwood.service.http.request_context import Ready, Secret, problems
from matchwood.service.http.subscription_routes import authorised
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.subscription_store import UNKNOWN_SUBSCRIPTION
from matchwood.service.service import Service

router = APIRouter(tags=["delivery"], responses=problems(404))
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
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    with ExitStack() as slot:  # it raises its problem before the stream begins
        slot.enter_context(service.streams.slot(row.key))
        watch = slot.enter_context(service.delivery.watchers.watching(row.number))
        await authorised(service, name, secret)  # a ticket replaced from now on ends the watch
        parts = _stream(service, row.number, row.data, watch)
        kind = "text/event-stream"
        return PiecesResponse(parts, slot.pop_all(), media_type=kind, headers=headers)


@router.get("/subscriptions/{name}/events", response_model=EventsPolled)
async def poll(
    service: Ready,
    secret: Secret,
    name: str,
    wait: Annotated[float, Query(ge=0, le=60)] = 0.0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ack: Number = None,
) -> StreamingResponse:
    """The next events that are not acknowledged. If there are none, the request waits for up to
    `wait` seconds. `ack` first acknowledges the events up to it.
    """
    row = await authorised(service, name, secret)
    if ack is not None:
        service.delivery.cursors.acknowledge(row.number, ack)
    with ExitStack() as slot:
        slot.enter_context(service.streams.slot(row.key))
        with service.delivery.watchers.watching(row.number) as watch:
            cursor = await _first_due(service, row.number, watch, time.monotonic() + wait)
            if watch.ended:
                raise RequestProblem("forbidden", UNKNOWN_SUBSCRIPTION)
        parts = _polled(service, row.number, row.data, cursor, limit)
        return PiecesResponse(parts, slot.pop_all(), media_type=JSON)


async def _first_due(service: Service, number: int, watch: Watch, deadline: float) -> int:
    """Wait until an event is due to a subscription, or the deadline. Returns the cursor."""
    while True:
        watch.clear()
        cursor = service.roster.cursor(number)
        left = deadline - time.monotonic()
        if service.delivery.due_events.any_after(number, cursor) or left <= 0:
            return cursor
        if _is_over(service, number, watch):
            return cursor
        await _wait(service, watch, left)


def _is_over(service: Service, number: int, watch: Watch) -> bool:
    """Whether a stream or a waiting poll ends for another reason than that its time is over."""
    return watch.ended or service.closing.is_set() or not service.roster.is_live(number)


async def _polled(
    service: Service, number: int, data: str, cursor: int, limit: int
) -> AsyncGenerator[bytes]:
    """The JSON of `EventsPolled`, as far as possible without parsing the events."""
    yield f'{{"cursor":{cursor},"events":['.encode()
    position, left, separator = cursor, limit, ""

    async def after() -> list[DueEvent]:
        return await service.delivery.due_events.after(number, position, left) if left else []

    def encode(due: list[DueEvent]) -> bytes:
        return (separator + ",".join(envelope(event, data) for event in due)).encode()

    async with aclosing(budgeted(service, after, encode)) as pieces:
        async for last, count, piece in pieces:
            position, left, separator = last, left - count, ","
            service.metrics.delivered.labels("poll").inc(count)
            yield piece
    yield b"]}"


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


async def _stream(service: Service, number: int, data: str, watch: Watch) -> AsyncGenerator[bytes]:
    position = service.roster.cursor(number)
    deadline = time.monotonic() + service.settings.stream_seconds
    due_events = service.delivery.due_events

    async def after() -> list[DueEvent]:
        first = max(position, service.roster.cursor(number))
        return await due_events.after(number, first, PIECE_EVENTS)

    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    while not _is_over(service, number, watch):
        watch.clear()
        if due_events.any_after(number, max(position, service.roster.cursor(number))):
            messages = partial(_messages, data)
            async with aclosing(budgeted(service, after, messages)) as pieces:
                async for last, count, piece in pieces:
                    position = last
                    service.metrics.delivered.labels("stream").inc(count)
                    yield piece
                    if _is_over(service, number, watch):
                        return
            continue
        left = deadline - time.monotonic()
        if left <= 0:
            return
        if not await _wait(service, watch, min(left, service.settings.heartbeat)):
            yield b": still here\n\n"


async def _wait(service: Service, watch: Watch, seconds: float) -> bool:
    """Wait until there is something new or the service closes; False if neither came in time."""
    tasks = [asyncio.ensure_future(event.wait()) for event in (watch, service.closing)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()


def _messages(data: str, due: list[DueEvent]) -> bytes:
    return "".join(
        f"id: {event.number}\nevent: match\ndata: {envelope(event, data)}\n\n" for event in due
    ).encode()
