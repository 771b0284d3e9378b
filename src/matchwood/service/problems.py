"""What the service answers when it refuses: problem details, as RFC 9457 has them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from matchwood.language.errors import EventError, RuleError

log = logging.getLogger("matchwood.service")
MEDIA_TYPE = "application/problem+json"
URN = "urn:matchwood:problem:"

# Every problem that has a name of its own: its status, and what it is called.
KINDS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be understood"),
    "unauthenticated": (401, "A key or a ticket is needed"),
    "forbidden": (403, "The key or ticket does not allow this"),
    "not-found": (404, "There is no such thing"),
    "schema-conflict": (409, "Rules do not fit the schema"),
    "version-conflict": (412, "The rules have changed meanwhile"),
    "body-too-large": (413, "The body is too large"),
    "batch-too-large": (413, "The batch is too large"),
    "event-too-large": (413, "An event is too large"),
    "rule-too-large": (413, "A rule is too large"),
    "answer-too-large": (413, "The answer would be too large"),
    "unsupported-media-type": (415, "The body is of a kind that is not read here"),
    "invalid-request": (422, "The request does not have the expected form"),
    "invalid-rule": (422, "A rule cannot be read"),
    "invalid-event": (422, "An event cannot be read"),
    "invalid-schema": (422, "A schema has no sense"),
    "too-many-events": (429, "The key publishes too many events a second"),
    "too-many-matches": (429, "The key asks for too many matches a second"),
    "too-many-streams": (429, "Too many streams are open"),
    "too-many-subscriptions": (429, "There are too many subscriptions"),
    "busy": (503, "Too many requests are under way"),
    "outbox-full": (503, "Too many events wait to be delivered"),
    "not-ready": (503, "The service is not ready"),
    "shutting-down": (503, "The service is shutting down"),
    "database-unavailable": (503, "The database cannot be reached"),
}


class Problem(Exception):
    """A request is refused; `more` goes into the answer."""

    def __init__(
        self, kind: str, detail: str, *, retry_after: float | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.more = more

    @property
    def status(self) -> int:
        return KINDS[self.kind][0]

    def to_json(self) -> dict[str, Any]:
        status, title = KINDS[self.kind]
        return {
            "type": URN + self.kind,
            "title": title,
            "status": status,
            "detail": self.detail,
            **self.more,
        }

    def headers(self) -> dict[str, str]:
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, round(self.retry_after)))
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


def rule_problem(error: RuleError, **more: Any) -> Problem:
    """A rule that cannot be read, with its place."""
    return Problem("invalid-rule", str(error), error=rule_error(error), **more)


def rule_error(error: RuleError) -> dict[str, Any]:
    """The parts of a rule's error, for machines."""
    return {
        "reason": error.reason,
        "line": error.line,
        "column": error.column,
        "found": error.found,
        "expected": error.expected,
        "path": error.path,
        "caret": error.caret(),
    }


def event_problem(error: EventError, index: int | None = None) -> Problem:
    more: dict[str, Any] = {"attribute": error.attribute}
    if index is not None:
        more["index"] = index
    place = "" if index is None else f"event {index} of the batch: "
    return Problem("invalid-event", f"{place}{error}", **more)


def answer(problem: Problem) -> JSONResponse:
    return JSONResponse(
        problem.to_json(), problem.status, headers=problem.headers(), media_type=MEDIA_TYPE
    )


async def on_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Problem)
    return answer(error)


async def on_invalid(request: Request, error: Exception) -> JSONResponse:
    """What FastAPI finds wrong with a request."""
    assert isinstance(error, RequestValidationError)
    errors = [{"at": _place(one["loc"]), "reason": one["msg"]} for one in error.errors()]
    detail = "; ".join(f"{one['at']}: {one['reason']}" for one in errors)
    return answer(Problem("invalid-request", detail, errors=errors))


async def on_http(request: Request, error: Exception) -> JSONResponse:
    """What Starlette answers by itself: no such path, no such method."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, Problem):  # the body that it tried to read was too large
        return answer(error.__cause__)
    status = HTTPStatus(error.status_code)
    body: Mapping[str, Any] = {
        "type": "about:blank",
        "title": status.phrase,
        "status": error.status_code,
        "detail": f"{request.method} {request.url.path}: {error.detail}",
    }
    headers = dict(error.headers or {})
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods_at(request))
    return JSONResponse(body, error.status_code, headers=headers, media_type=MEDIA_TYPE)


def _methods_at(request: Request) -> list[str]:
    """The methods of a path as it is described; Starlette tells those of its first route."""
    routes = [
        route
        for route in (*request.app.state.routes, *request.app.routes)
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
    ]
    alike = (route.methods or set() for route in routes if route.path == routes[0].path)
    return sorted(set().union(*alike))


async def on_failure(request: Request, error: Exception) -> JSONResponse:
    """A mistake of ours: the log has it, with the id of the request."""
    log.error("a request failed", exc_info=error)
    body = {"type": "about:blank", "title": "Internal Server Error", "status": 500}
    detail = "the service failed; its log says more, under the X-Request-Id of this answer"
    return JSONResponse({**body, "detail": detail}, 500, media_type=MEDIA_TYPE)


def _place(location: Any) -> str:
    return ".".join(str(part) for part in location)
