"""What routes share: the service of a request, and who calls."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from matchwood.service.forms import ProblemOut
from matchwood.service.keys import Keys
from matchwood.service.problems import MEDIA_TYPE, Problem
from matchwood.service.service import Service
from matchwood.service.settings import Key


def bare_service(request: Request) -> Service:
    """The service, ready or not."""
    service: Service = request.app.state.service
    return service


def ready_service(request: Request) -> Service:
    service = bare_service(request)
    service.check_ready()
    return service


def secret_of(request: Request) -> str | None:
    """The key or ticket that a request shows."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


def _caller(*roles: str) -> Any:
    def caller(request: Request) -> Key:
        keys: Keys = bare_service(request).keys
        return keys.require(secret_of(request), *roles)

    return caller


Ready = Annotated[Service, Depends(ready_service)]
Secret = Annotated[str | None, Depends(secret_of)]
Publisher = Annotated[Key, Depends(_caller("publisher"))]
Subscriber = Annotated[Key, Depends(_caller("subscriber"))]
Anybody = Annotated[Key, Depends(_caller("publisher", "subscriber"))]
Admin = Annotated[Key, Depends(_caller())]


def expected_version(request: Request) -> int | None:
    """The version of an `If-Match` header."""
    given = request.headers.get("if-match", "").strip().strip('"')
    if not given:
        return None
    if not given.isascii() or not given.isdecimal() or len(given) > 18:
        raise Problem("bad-request", f"If-Match is a version of the rules, found {given!r}")
    return int(given)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the description of a route: the statuses of the problems that it may answer."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    found = {}
    for status in (400, 401, 403, 413, 422, 429, 503, *statuses):
        found[status] = {"description": "a problem", "content": content, "model": ProblemOut}
    return {status: {**one, "content": content} for status, one in found.items()}
