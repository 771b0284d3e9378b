"""Problems as HTTP answers: `application/problem+json`, for every way a request can fail."""

from __future__ import annotations

import logging
from http import HTTPStatus

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from matchwood.service.problems import RequestProblem
from matchwood.service.storage.failures import problem_of_database

log = logging.getLogger("matchwood.service")
MEDIA_TYPE = "application/problem+json"
# The kinds of problems that Starlette raises by itself, by their status.
KIND_OF_STATUS = {400: "bad-request", 404: "not-found", 405: "method-not-allowed"}


def problem_response(problem: RequestProblem) -> JSONResponse:
    return JSONResponse(
        problem.to_json(), problem.status, headers=problem.headers(), media_type=MEDIA_TYPE
    )


async def on_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestProblem)
    return problem_response(error)


async def on_invalid(request: Request, error: Exception) -> JSONResponse:
    """Answer a request that FastAPI finds invalid."""
    assert isinstance(error, RequestValidationError)
    errors = [
        {"at": ".".join(map(str, mistake["loc"])), "reason": mistake["msg"]}
        for mistake in error.errors()
    ]
    detail = "; ".join(f"{mistake['at']}: {mistake['reason']}" for mistake in errors)
    return problem_response(RequestProblem("invalid-request", detail, errors=errors))


async def on_http(request: Request, error: Exception) -> JSONResponse:
    """Answer what Starlette refuses by itself: an unknown path, a method that a path lacks."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, RequestProblem):  # the body being read was too large
        return problem_response(error.__cause__)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods_at(request))
    detail = f"{request.method} {request.url.path}: {error.detail}"
    kind = KIND_OF_STATUS.get(error.status_code)
    if kind is not None:
        body = RequestProblem(kind, detail).to_json()
    else:
        title = HTTPStatus(error.status_code).phrase
        body = {"type": "about:blank", "title": title, "status": error.status_code}
        body["detail"] = detail
    return JSONResponse(body, error.status_code, headers=headers, media_type=MEDIA_TYPE)


def _methods_at(request: Request) -> list[str]:
    """The methods of all routes with this path; Starlette names those of the first route only."""
    routes = [
        route
        for route in (*request.app.state.routes, *request.app.routes)
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
    ]
    methods = (route.methods or set() for route in routes if route.path == routes[0].path)
    return sorted(set().union(*methods))


def failure_response(request: str) -> JSONResponse:
    """The answer to a request, of this id, during which the service itself failed."""
    body = {"type": "about:blank", "title": "Internal Server Error", "status": 500}
    detail = f"internal error; the service's log has details under the request {request}"
    body |= {"detail": detail, "request": request}
    return JSONResponse(body, 500, media_type=MEDIA_TYPE)


async def on_database_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DBAPIError)
    log.error("the database failed", extra={"error": str(error)})
    return problem_response(problem_of_database(error))


async def on_database_taken(request: Request, error: Exception) -> JSONResponse:
    return problem_response(RequestProblem("shutting-down", str(error), retry_after=5))
