"""The HTTP application: its routes, its error handlers, and the start and end of the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from types import ModuleType

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from matchwood import __version__
from matchwood.service.http import (
    bulk_routes,
    dead_letter_routes,
    delivery_routes,
    event_routes,
    list_routes,
    match_routes,
    operation_routes,
    page_routes,
    rule_routes,
    schema_routes,
    subscription_routes,
    waiting_routes,
)
from matchwood.service.http.connections import Connections
from matchwood.service.http.direct_routes import DirectRoutes
from matchwood.service.http.middleware import RequestMiddleware
from matchwood.service.http.problem_responses import (
    on_database_error,
    on_database_taken,
    on_http,
    on_invalid,
    on_problem,
)
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem
from matchwood.service.replica import Replica
from matchwood.service.service import Service
from matchwood.service.settings import Settings
from matchwood.service.storage.database_lock import DatabaseTaken

log = logging.getLogger("matchwood.service")
# Those that are requested most come first: routes are tried in this order.
ROUTES = (
    match_routes,
    event_routes,
    delivery_routes,
    operation_routes,
    bulk_routes,
    subscription_routes,
    waiting_routes,
    dead_letter_routes,
    rule_routes,
    list_routes,
    schema_routes,
    page_routes,
)


# What a replica answers.
REPLICA_ROUTES = (match_routes, operation_routes)


def create_app(
    settings: Settings | None = None, failed: Callable[[], None] | None = None
) -> FastAPI:
    """The application of a service; `failed` is called if it cannot be loaded, or must end."""
    return _application(Service(settings or Settings.read(), failed), ROUTES, failed)


def create_replica_app(
    settings: Settings, saves: bool = True, failed: Callable[[], None] | None = None
) -> FastAPI:
    """The application of a replica, which follows the rules of a service and matches with them.

    Of several with the same folder, one `saves` the index for all.
    """
    return _application(Replica(settings, saves), REPLICA_ROUTES, failed)


def _application(
    service: MatchingService, modules: Sequence[ModuleType], failed: Callable[[], None] | None
) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.open)
        loading = asyncio.create_task(_load(service, failed))
        app.state.loading = loading
        yield
        service.closing.set()
        await asyncio.gather(loading, return_exceptions=True)
        await service.close()

    app = Application(
        title="matchwood",
        version=__version__,
        description="Rules and subscriptions, matched with events.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from other hosts; ours is in `page_routes`
        redoc_url=None,
    )
    app.state.service = service
    app.state.connections = Connections(service.settings, service.metrics)
    app.state.routes = [route for module in modules for route in module.router.routes]
    for module in modules:
        app.include_router(module.router)
    app.add_exception_handler(RequestProblem, on_problem)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(DBAPIError, on_database_error)
    app.add_exception_handler(DatabaseTaken, on_database_taken)
    answers = {path: of for module in modules for path, of in getattr(module, "DIRECT", {}).items()}
    app.direct_routes = DirectRoutes(service, app.state.routes, answers)
    app.direct = RequestMiddleware(app.direct_routes, service)
    app.add_middleware(RequestMiddleware, service=service)
    return app


class Application(FastAPI):
    """FastAPI, and in front of it the requests that are answered without it."""

    direct_routes: DirectRoutes
    direct: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.direct_routes.takes(scope):
            await self.direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


async def _load(service: MatchingService, failed: Callable[[], None] | None) -> None:
    try:
        await service.start()
    except Exception:
        log.exception("the service cannot be loaded")
        if failed is None:
            raise
        failed()
