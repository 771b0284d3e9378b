"""Dead letters: listed, and sent again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from matchwood.service.delivery.due_events import DueEvent, envelope
from matchwood.service.delivery.event_bodies import JSON, dumps
from matchwood.service.http.models import DeadLetterPage, Replay, Replayed
from matchwood.service.http.pieces import PiecesResponse, budgeted
from matchwood.service.http.request_context import Admin, Ready, Secret, problems
from matchwood.service.http.subscription_routes import authorised
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.service import Service
from matchwood.service.times import iso

router = APIRouter(tags=["dead letters"], responses=problems(404))
After = Annotated[int, Query(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/dead-letters", response_model=DeadLetterPage)
async def list_all(
    service: Ready, caller: Admin, after: After = 0, limit: Limit = 100
) -> StreamingResponse:
    """The dead letters of all subscriptions, oldest first."""
    return PiecesResponse(_page(service, None, after, limit), media_type=JSON)


@router.get("/subscriptions/{name}/dead-letters", response_model=DeadLetterPage)
async def list_own(
    service: Ready, secret: Secret, name: str, after: After = 0, limit: Limit = 100
) -> StreamingResponse:
    """The events that the webhook of a subscription did not accept, oldest first."""
    row = await authorised(service, name, secret)
    return PiecesResponse(_page(service, row.number, after, limit), media_type=JSON)


@router.post("/subscriptions/{name}/dead-letters/replay", status_code=202)
async def replay(service: Ready, secret: Secret, name: str, request: Replay) -> Replayed:
    """Send dead letters to the webhook once more. Those that it accepts leave the list."""
    row = await authorised(service, name, secret)
    return Replayed(replayed=await service.delivery.dead_letters.replay(row.number, request.ids))


async def _page(
    service: Service, subscription: int | None, after: int, limit: int
) -> AsyncGenerator[bytes]:
    """The JSON of `DeadLetterPage`; the events are inserted without being parsed."""
    letters = service.delivery.dead_letters
    run = service.storage.readers.run
    last, left, separator = after, limit, ""

    async def following() -> list[Any]:
        return await run(letters.page, subscription, last, left) if left else []

    def encode(rows: list[Any]) -> bytes:
        return (separator + ",".join(map(_letter, rows))).encode()

    yield b'{"dead_letters":['
    async with aclosing(budgeted(service, following, encode)) as pieces:
        async for number, count, piece in pieces:
            last, left, separator = number, left - count, ","
            yield piece
    more = [] if left else await run(letters.page, subscription, last, 1)
    yield f'],"next":{last if more else "null"}}}'.encode()


def _letter(row: Any) -> str:
    """The JSON of `DeadLetter`."""
    about = {"id": row.number, "subscription": name_of(row.subscription), "at": iso(row.at)}
    about |= {"attempts": row.attempts, "error": row.error, "replay": row.replay}
    event = envelope(DueEvent(row.event, row.published, row.body))
    return f'{dumps(about)[:-1]},"event":{event}}}'
