"""The requests that come all the time, answered without what FastAPI does for every request.

To find a route, collect its dependencies and prepare its answer takes FastAPI longer than to match
an event. The routes are FastAPI's all the same: their description, their names in metrics, and the
answers to whatever is not handled here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from matchwood.service.http.problem_responses import (
    on_database_error,
    on_database_taken,
    on_invalid,
    on_problem,
)
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem
from matchwood.service.storage.database_lock import DatabaseTaken

# Where the middleware puts the headers of a request by name, for whoever comes after it.
HEADERS = "matchwood.headers"


class Answer(NamedTuple):
    """An answer in JSON."""

    status: int
    body: bytes

    async def send(self, send: Send) -> None:
        size = b"%d" % len(self.body)
        headers = [(b"content-length", size), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


# Answers a request, by its headers and its body.
DirectAnswer = Callable[[MatchingService, Mapping[str, str], Receive], Awaitable[Answer]]
# What answers each kind of error; the others are failures of the service.
ON_ERROR: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    RequestProblem: on_problem,
    RequestValidationError: on_invalid,
    DBAPIError: on_database_error,
    DatabaseTaken: on_database_taken,
}


class DirectRoutes:
    """The `POST` requests, by path, that are answered here; an application for these alone."""

    def __init__(
        self,
        service: MatchingService,
        routes: Sequence[BaseRoute],
        answers: dict[str, DirectAnswer],
    ) -> None:
        self._service = service
        self._answers = answers
        self._routes = {
            route.path: route
            for route in routes
            if isinstance(route, APIRoute) and "POST" in (route.methods or ())
        }

    def takes(self, scope: Scope) -> bool:
        """Whether a request is answered here; FastAPI answers those that name themselves."""
        return (
            scope["type"] == "http"
            and scope["path"] in self._answers
            and scope["method"] == "POST"
            and all(name != b"idempotency-key" for name, _ in scope["headers"])
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        scope["route"] = self._routes[path]
        try:
            told = await self._answers[path](self._service, scope[HEADERS], receive)
        except Exception as error:
            of_error = next((of for kind, of in ON_ERROR.items() if isinstance(error, kind)), None)
            if of_error is None:
                raise
            response = await of_error(Request(scope, receive), error)
            await response(scope, receive, send)
        else:
            await told.send(send)
