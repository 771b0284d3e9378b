"""The requests that come all the time, answered without what FastAPI does for every request.

To find a route, collect its dependencies and prepare its answer takes FastAPI longer than to match
an event. The routes are FastAPI's all the same: their description, their names in metrics, and the
answers to whatever is not handled here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from matchwood.service.http.problem_responses import (
    on_database_error,
    on_database_taken,
    on_invalid,
    on_problem,
)
from matchwood.service.problems import RequestProblem
from matchwood.service.storage.database_lock import DatabaseTaken

# Answers a request; None leaves it to FastAPI.
DirectAnswer = Callable[[Request], Awaitable[Response] | None]
# What answers each kind of error; the others are failures of the service.
ON_ERROR: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    RequestProblem: on_problem,
    RequestValidationError: on_invalid,
    DBAPIError: on_database_error,
    DatabaseTaken: on_database_taken,
}


class DirectRoutes:
    """Middleware that answers some `POST` requests, by path, and passes on all others."""

    def __init__(
        self, app: ASGIApp, routes: Sequence[BaseRoute], answers: dict[str, DirectAnswer]
    ) -> None:
        self._app = app
        self._answers = answers
        self._routes = {
            route.path: route
            for route in routes
            if isinstance(route, APIRoute) and "POST" in (route.methods or ())
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answers.get(scope["path"]) if scope["type"] == "http" else None
        if answer is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if (answering := answer(request)) is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = self._routes[scope["path"]]
        try:
            response = await answering
        except Exception as error:
            told = next((of for kind, of in ON_ERROR.items() if isinstance(error, kind)), None)
            if told is None:
                raise
            response = await told(request, error)
        await response(scope, receive, send)
