"""What routes share: the service, the caller, and headers that they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from matchwood.service.delivery.event_bodies import JSON
from matchwood.service.http.models import ProblemOut
from matchwood.service.http.problem_responses import MEDIA_TYPE
from matchwood.service.keys import Keys
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem
from matchwood.service.service import Service
from matchwood.service.settings import Key


def bare_service(request: Request) -> MatchingService:
    """The service or replica, whether or not it is ready."""
    service: MatchingService = request.app.state.service
    return service


# What follows is awaited for every request: FastAPI calls what is not asynchronous in a thread.


async def ready_to_match(request: Request) -> MatchingService:
    """The service or replica; a problem if it is not ready."""
    service = bare_service(request)
    service.check_ready()
    return service


async def ready_service(request: Request) -> Service:
    """The service; a problem if it is not ready. Applications of replicas have no such routes."""
    service = await ready_to_match(request)
    assert isinstance(service, Service)
    return service


async def secret_of(request: Request) -> str | None:
    """The key or ticket that a request was sent with."""
    return secret_in(request.headers)


def secret_in(headers: Mapping[str, str]) -> str | None:
    """The key or ticket in the headers of a request."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


def _caller(*roles: str) -> Any:
    async def caller(request: Request) -> Key:
        keys: Keys = bare_service(request).keys
        return keys.require(secret_in(request.headers), *roles)

    return caller


Ready = Annotated[Service, Depends(ready_service)]
ReadyToMatch = Annotated[MatchingService, Depends(ready_to_match)]
Secret = Annotated[str | None, Depends(secret_of)]
Publisher = Annotated[Key, Depends(_caller("publisher"))]
Subscriber = Annotated[Key, Depends(_caller("subscriber"))]
Anybody = Annotated[Key, Depends(_caller("publisher", "subscriber"))]
Admin = Annotated[Key, Depends(_caller())]


def expected_version(request: Request) -> int | None:
    """The version of the `If-Match` header, if there is one."""
    version = request.headers.get("if-match", "").strip().strip('"')
    if not version:
        return None
    if not version.isascii() or not version.isdecimal() or len(version) > 18:
        raise RequestProblem("bad-request", f"If-Match must be a version number, found {version!r}")
    return int(version)


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of a body, without parameters; JSON if the headers do not say."""
    kind = headers.get("content-type", JSON)
    return kind if kind == JSON else kind.partition(";")[0].strip().lower() or JSON


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI description of a route: the statuses of its problems."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    described = {"description": "A problem", "content": content, "model": ProblemOut}
    return dict.fromkeys((400, 401, 403, 413, 422, 429, 503, *statuses), described)
