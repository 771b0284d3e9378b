"""The event schema: read by all, set by administrators, extended by publishers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request

from matchwood.service.http.models import SchemaOut
from matchwood.service.http.request_context import (
    Admin,
    Anybody,
    Publisher,
    Ready,
    expected_version,
    problems,
)
from matchwood.service.service import Service

router = APIRouter(tags=["schema"], responses=problems())
SchemaBody = Annotated[
    dict[str, Any],
    Body(
        description="Domains, hierarchies, attributes and types, as in a schema file",
        examples=[{"attributes": {"price": "number"}, "types": {"offer": {"price": "mandatory"}}}],
    ),
]


@router.get("/schema")
async def read_schema(service: Ready, caller: Anybody) -> SchemaOut:
    """The schema that rules and events must fit, and its version."""
    return _shown(service)


@router.put("/schema", responses=problems(409, 412))
async def replace_schema(
    request: Request, service: Ready, caller: Admin, body: SchemaBody
) -> SchemaOut:
    """Set the schema, if all rules and subscriptions fit it. With `If-Match`, only if the current
    schema has that version.
    """
    await service.schema.replace(body, expected_version(request), service.use_schema)
    return _shown(service)


@router.delete("/schema", responses=problems(409, 412))
async def delete_schema(request: Request, service: Ready, caller: Admin) -> SchemaOut:
    """Remove the schema: any event is accepted from now on."""
    await service.schema.replace(None, expected_version(request), service.use_schema)
    return _shown(service)


@router.post("/schema/extensions", responses=problems(404, 412))
async def extend_schema(
    request: Request, service: Ready, caller: Publisher, body: SchemaBody
) -> SchemaOut:
    """Add domains, attributes and types, and optional attributes to existing types."""
    await service.schema.extend(body, expected_version(request), service.use_schema)
    return _shown(service)


def _shown(service: Service) -> SchemaOut:
    current = service.schema.current
    form = None if current is None else current.to_dict()
    return SchemaOut(version=service.schema.version, schema=form)
