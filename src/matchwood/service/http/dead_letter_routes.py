"""Dead letters: listed, and sent again."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from matchwood.service.http.models import (
    DeadLetter,
    DeadLetterPage,
    EventDelivered,
    Replay,
    Replayed,
)
from matchwood.service.http.request_context import Admin, Ready, Secret, problems
from matchwood.service.http.subscription_routes import authorised
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.times import iso

router = APIRouter(tags=["dead letters"], responses=problems(404))
After = Annotated[int, Query(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/dead-letters")
async def list_all(
    service: Ready, caller: Admin, after: After = 0, limit: Limit = 100
) -> DeadLetterPage:
    """The dead letters of all subscriptions, oldest first."""
    rows = await service.storage.readers.run(
        service.delivery.dead_letters.page, None, after, limit + 1
    )
    return _page(rows, limit)


@router.get("/subscriptions/{name}/dead-letters")
async def list_own(
    service: Ready, secret: Secret, name: str, after: After = 0, limit: Limit = 100
) -> DeadLetterPage:
    """The events that the webhook of a subscription did not accept, oldest first."""
    row = await authorised(service, name, secret)
    rows = await service.storage.readers.run(
        service.delivery.dead_letters.page, row.number, after, limit + 1
    )
    return _page(rows, limit)


@router.post("/subscriptions/{name}/dead-letters/replay", status_code=202)
async def replay(service: Ready, secret: Secret, name: str, request: Replay) -> Replayed:
    """Send dead letters to the webhook once more. Those that it accepts leave the list."""
    row = await authorised(service, name, secret)
    return Replayed(replayed=await service.delivery.dead_letters.replay(row.number, request.ids))


def _page(rows: list[Any], limit: int) -> DeadLetterPage:
    shown = [_letter(row) for row in rows[:limit]]
    return DeadLetterPage(dead_letters=shown, next=shown[-1].id if len(rows) > limit else None)


def _letter(row: Any) -> DeadLetter:
    event = json.loads(row.body)
    return DeadLetter(
        id=row.number,
        subscription=name_of(row.subscription),
        event=EventDelivered(id=row.event, published=iso(row.published), event=event),
        at=iso(row.at),
        attempts=row.attempts,
        error=row.error,
        replay=row.replay,
    )
