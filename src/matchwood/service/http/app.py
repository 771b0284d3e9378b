"""The HTTP application: its routes, its error handlers, and the start and end of the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException

from matchwood import __version__
from matchwood.service.http import (
    bulk_routes,
    dead_letter_routes,
    delivery_routes,
    event_routes,
    operation_routes,
    page_routes,
    rule_routes,
    schema_routes,
    subscription_routes,
    waiting_routes,
)
from matchwood.service.http.connections import Connections
from matchwood.service.http.middleware import RequestMiddleware
from matchwood.service.http.problem_responses import (
    on_database_error,
    on_database_taken,
    on_http,
    on_invalid,
    on_problem,
)
from matchwood.service.problems import RequestProblem
from matchwood.service.service import Service
from matchwood.service.settings import Settings
from matchwood.service.storage.database_lock import DatabaseTaken

log = logging.getLogger("matchwood.service")
ROUTES = (
    rule_routes,
    event_routes,
    bulk_routes,
    subscription_routes,
    delivery_routes,
    dead_letter_routes,
    waiting_routes,
    operation_routes,
    schema_routes,
    page_routes,
)


def create_app(
    settings: Settings | None = None, failed: Callable[[], None] | None = None
) -> FastAPI:
    """The application of a service; `failed` is called if it cannot be loaded, or must end."""
    service = Service(settings or Settings.read(), failed)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.open)
        loading = asyncio.create_task(_load(service, failed))
        app.state.loading = loading
        yield
        service.closing.set()
        await asyncio.gather(loading, return_exceptions=True)
        await service.close()

    app = FastAPI(
        title="matchwood",
        version=__version__,
        description="Rules and subscriptions, matched with events.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from other hosts; ours is in `page_routes`
        redoc_url=None,
    )
    app.state.service = service
    app.state.connections = Connections(service.settings, service.metrics)
    app.state.routes = [route for routes in ROUTES for route in routes.router.routes]
    for routes in ROUTES:
        app.include_router(routes.router)
    app.add_exception_handler(RequestProblem, on_problem)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(DBAPIError, on_database_error)
    app.add_exception_handler(DatabaseTaken, on_database_taken)
    app.add_middleware(RequestMiddleware, service=service)
    return app


async def _load(service: Service, failed: Callable[[], None] | None) -> None:
    try:
        await service.start()
    except Exception:
        log.exception("the service cannot be loaded")
        if failed is None:
            raise
        failed()
