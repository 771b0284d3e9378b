"""Probes, metrics and status, for whoever operates the service."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from matchwood import __version__
from matchwood.service.http.request_context import Anybody, ReadyToMatch, bare_service, problems

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def alive() -> dict[str, str]:
    """The process is alive."""
    return {"status": "alive", "version": __version__}


@router.get("/readyz", responses=problems())
async def ready(request: Request) -> dict[str, str]:
    """Everything is loaded, requests are answered, and the database can be written."""
    service = bare_service(request)
    service.check_ready()
    service.check_serving()
    return {"status": "ready"}


@router.get("/metrics", response_class=PlainTextResponse, responses=problems())
async def metrics(request: Request, caller: Anybody) -> PlainTextResponse:
    """Counters and gauges in the format of Prometheus."""
    page = bare_service(request).metrics.page()
    return PlainTextResponse(page, media_type=CONTENT_TYPE_LATEST)


@router.get("/status", responses=problems())
async def status(service: ReadyToMatch, caller: Anybody) -> dict[str, Any]:
    """The numbers of rules, subscriptions, waiting events and more."""
    figures = service.figures()
    return {"version": __version__, "rules_version": service.live_rules.state.version, **figures}
