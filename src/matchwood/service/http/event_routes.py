"""Publishing events."""

from __future__ import annotations

from fastapi import APIRouter, Request

from matchwood.service.delivery.event_bodies import ARROW, JSON, LINES
from matchwood.service.http.models import EventAccepted, EventsAccepted
from matchwood.service.http.request_context import Publisher, Ready, media_type, problems

router = APIRouter(tags=["events"], responses=problems(415))
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
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/events", status_code=202, openapi_extra=BODY)
async def publish(
    request: Request, service: Ready, caller: Publisher
) -> EventAccepted | EventsAccepted:
    """Publish an event (a JSON object) or a batch (a JSON list, JSON lines or an Arrow stream). A
    batch is accepted as a whole or not at all. Once it is accepted, each event will be delivered
    to every subscription that it matched.
    """
    body = await request.body()
    published, single = await service.acceptance.publish(media_type(request), body, caller.name)
    accepted = [EventAccepted(id=event.id, matched=event.matched) for event in published]
    return accepted[0] if single else EventsAccepted(results=accepted)
