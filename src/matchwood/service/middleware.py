"""Around every request: its id, a line in the log, a count, and no pages of other sites."""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from matchwood.service.logs import request_id
from matchwood.service.problems import Problem, answer
from matchwood.service.service import Service
from matchwood.service.settings import is_loopback

log = logging.getLogger("matchwood.service")
UPLOADS = {("PUT", "/rules"), ("POST", "/subscriptions/bulk")}
QUIET = {"/healthz", "/readyz", "/metrics"}  # asked for all the time: not logged if all is well


class Around:
    """The middleware of the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        name = _id_of(headers.get("x-request-id"))
        token = request_id.set(name)
        started = time.perf_counter()
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", []).append((b"x-request-id", name.encode()))
            await send(message)

        try:
            limit = self._limit(scope)
            refused = self._refused(headers) or _too_large(headers, limit)
            if refused is not None:
                await answer(refused)(scope, receive, noted)
            else:
                await self._app(scope, _limited(receive, limit), noted)
        finally:
            self._note(scope, status, time.perf_counter() - started)
            request_id.reset(token)

    def _limit(self, scope: Scope) -> int:
        """The bytes that a body may have."""
        limits = self._service.settings.limits
        upload = (scope["method"], scope["path"]) in UPLOADS
        return limits.upload_bytes if upload else limits.body_bytes

    def _refused(self, headers: Headers) -> Problem | None:
        """A page of another site that makes a browser call; a name that was made to lead here."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return Problem("forbidden", f"pages of {origin!r:.200} may not call this service")
        if not len(self._service.keys):
            try:
                called = urlsplit(f"//{host}").hostname or ""
            except ValueError:
                called = ""
            if not is_loopback(called):
                detail = f"without keys the service is called as localhost, found {host!r:.200}"
                return Problem("forbidden", detail)
        return None

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if route != "none" else "any"
        metrics = self._service.metrics
        metrics.requests.labels(method, route, str(status)).inc()
        if not route.endswith("/stream"):
            metrics.seconds.labels(method, route).observe(seconds)
        if status < 400 and scope["path"] in QUIET:
            return
        extra: dict[str, Any] = {"method": scope["method"], "path": scope["path"]}
        extra |= {"status": status, "ms": round(seconds * 1e3, 2)}
        client = scope.get("client")
        log.info("request", extra={**extra, "client": client[0] if client else None})


def _too_large(headers: Headers, limit: int) -> Problem | None:
    """A body whose length is told, and is over the limit."""
    told = headers.get("content-length", "")
    if not told.isdecimal() or int(told) <= limit:
        return None
    return Problem("body-too-large", f"a body has at most {limit:,} bytes", limit=limit)


def _limited(receive: Receive, limit: int) -> Receive:
    """What comes of a body, until it is over the limit."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise Problem("body-too-large", f"a body has at most {limit:,} bytes", limit=limit)
        return message

    return counted


def _id_of(given: str | None) -> str:
    """The id that a request brings, if it can be logged and sent back, or a new one."""
    if given and len(given) <= 128 and given.isascii() and given.isprintable():
        return given
    return secrets.token_hex(8)
