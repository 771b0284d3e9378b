"""Publishing events."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from starlette.types import Receive

from matchwood.service.delivery.acceptance import AcceptedBatch
from matchwood.service.delivery.cloud_events import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    from_binary,
    is_binary,
)
from matchwood.service.delivery.event_bodies import ARROW, JSON, LINES
from matchwood.service.http.direct_routes import HEADERS, Answer, DirectAnswer
from matchwood.service.http.models import EventAccepted, EventsAccepted
from matchwood.service.http.request_bodies import whole_body
from matchwood.service.http.request_context import (
    Publisher,
    Ready,
    media_type,
    problems,
    secret_in,
)
from matchwood.service.matching_service import MatchingService
from matchwood.service.service import Service
from matchwood.service.settings import Key

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
    body = await request.body()
    done = await _published(service, caller, request.scope[HEADERS], body, idempotency_key)
    if done.repeated:
        response.headers["Idempotency-Replayed"] = "true"
    accepted = [EventAccepted(id=event.id, matched=event.matched) for event in done.events]
    return accepted[0] if done.single else EventsAccepted(results=accepted)


async def _published(
    service: Service, caller: Key, headers: Mapping[str, str], body: bytes, name: str | None
) -> AcceptedBatch:
    kind = media_type(headers)
    if is_binary(headers):
        kind, body = CLOUD_EVENT, from_binary(headers, body)
    return await service.acceptance.publish(kind, body, caller.name, name)


async def _answer_publish(
    service: MatchingService, headers: Mapping[str, str], receive: Receive
) -> Answer:
    """A publication without a name; what FastAPI checks of the others is not repeated here."""
    assert isinstance(service, Service)  # applications of replicas have no such route
    service.check_ready()
    caller = service.keys.require(secret_in(headers), "publisher")
    done = await _published(service, caller, headers, await whole_body(receive), None)
    told = b",".join(b'{"id":%d,"matched":%d}' % (event.id, event.matched) for event in done.events)
    return Answer(HTTPStatus.ACCEPTED, told if done.single else b'{"results":[%s]}' % told)


# What is answered without FastAPI.
DIRECT: dict[str, DirectAnswer] = {"/events": _answer_publish}
