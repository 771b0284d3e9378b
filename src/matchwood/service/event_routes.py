"""Events over HTTP: publishing."""

from __future__ import annotations

from fastapi import APIRouter, Request

from matchwood.service.bodies import ARROW, JSON, LINES, kind_of
from matchwood.service.forms import Accepted, AcceptedBatch
from matchwood.service.requests import Publisher, Ready, problems

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
async def publish(request: Request, service: Ready, caller: Publisher) -> Accepted | AcceptedBatch:
    """Publish an event (a JSON object) or a batch (a JSON list, JSON lines, an Arrow stream), all
    or none of it. Once this is answered, each is delivered to all that it matched.
    """
    body = await request.body()
    results, single = await service.acceptance.publish(kind_of(request), body, caller.name)
    accepted = [Accepted(id=one.id, matched=one.matched) for one in results]
    return accepted[0] if single else AcceptedBatch(results=accepted)
