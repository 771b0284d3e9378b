"""The HTTP application: routes, problems, and the life of the service behind them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from matchwood import __version__
from matchwood.service import (
    bulk_routes,
    dead_letter_routes,
    delivery_routes,
    event_routes,
    operation_routes,
    page_routes,
    rule_routes,
    schema_routes,
    subscription_routes,
)
from matchwood.service.holding import Displaced
from matchwood.service.middleware import Around
from matchwood.service.problems import (
    Problem,
    answer,
    on_failure,
    on_http,
    on_invalid,
    on_problem,
)
from matchwood.service.service import Service
from matchwood.service.settings import Settings

log = logging.getLogger("matchwood.service")
ROUTES = (
    rule_routes,
    event_routes,
    bulk_routes,
    subscription_routes,
    delivery_routes,
    dead_letter_routes,
    operation_routes,
    schema_routes,
    page_routes,
)


def create_app(
    settings: Settings | None = None, failed: Callable[[], None] | None = None
) -> FastAPI:
    """The application of a service; `failed` is called where it cannot be loaded or must end."""
    service = Service(settings or Settings.read(), failed)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
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
        lifespan=life,
    )
    app.state.service = service
    app.state.routes = [route for routes in ROUTES for route in routes.router.routes]
    for routes in ROUTES:
        app.include_router(routes.router)
    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(DBAPIError, _on_database)
    app.add_exception_handler(Displaced, _on_displaced)
    app.add_exception_handler(Exception, on_failure)
    app.add_middleware(Around, service=service)
    return app


async def _load(service: Service, failed: Callable[[], None] | None) -> None:
    try:
        await service.start()
    except Exception:
        log.exception("the service cannot be loaded")
        if failed is None:
            raise
        failed()


async def _on_database(request: Request, error: Exception) -> JSONResponse:
    log.error("the database failed", extra={"error": str(error)})
    return answer(Problem("database-unavailable", "the database failed", retry_after=2))


async def _on_displaced(request: Request, error: Exception) -> JSONResponse:
    return answer(Problem("shutting-down", str(error), retry_after=5))
