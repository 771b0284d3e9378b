"""Publishing events."""

from __future__ import annotations

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from matchwood.service.delivery.cloud_events import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    from_binary,
    is_binary,
)
from matchwood.service.delivery.event_bodies import ARROW, JSON, LINES
from matchwood.service.http.direct_routes import DirectAnswer
from matchwood.service.http.models import EventAccepted, EventsAccepted
from matchwood.service.http.request_context import (
    Publisher,
    Ready,
    media_type,
    problems,
    ready_service,
    secret_in,
)

router = APIRouter(tags=["events"], responses=problems(415))
IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=255, pattern="^[!-~]+$", description="Any name")
]
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "oneOf": [
                        {"type": "object"},
                        {"type": "array", "items": {"type": "object"}},
                    ]
                }
            },
            LINES[0]: {"schema": {"type": "string"}},
            CLOUD_EVENT: {"schema": {"type": "object"}},
            CLOUD_EVENTS: {"schema": {"type": "array", "items": {"type": "object"}}},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/events", status_code=202, openapi_extra=BODY, responses=problems(409))
async def publish(
    request: Request,
    response: Response,
    service: Ready,
    caller: Publisher,
    idempotency_key: IdempotencyKey = None,
) -> EventAccepted | EventsAccepted:
    """Publish an event (a JSON object) or a batch (a JSON list, JSON lines or an Arrow stream). A
    batch is accepted as a whole or not at all. Once it is accepted, each event will be delivered
    to every subscription that it matched. A request with an `Idempotency-Key` may be repeated: it
    is accepted once, and every answer is that of the first time. CloudEvents may come as JSON, or
    with their attributes in headers.
    """
    kind, body = media_type(request), await request.body()
    if is_binary(request.headers):
        kind, body = CLOUD_EVENT, from_binary(request.headers, body)
    done = await service.acceptance.publish(kind, body, caller.name, idempotency_key)
    if done.repeated:
        response.headers["Idempotency-Replayed"] = "true"
    accepted = [EventAccepted(id=event.id, matched=event.matched) for event in done.events]
    return accepted[0] if done.single else EventsAccepted(results=accepted)


def _answer_publish(request: Request) -> Awaitable[Response] | None:
    """A publication without a name; what FastAPI checks of the others is not repeated here."""
    return None if "idempotency-key" in request.headers else _published(request)


async def _published(request: Request) -> Response:
    service = await ready_service(request)
    caller = service.keys.require(secret_in(request.headers), "publisher")
    told = await publish(request, Response(), service, caller)
    return Response(told.model_dump_json(), HTTPStatus.ACCEPTED, media_type=JSON)


# What is answered without FastAPI.
DIRECT: dict[str, DirectAnswer] = {"/events": _answer_publish}
