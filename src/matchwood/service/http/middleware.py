"""What happens around every request: its id, a line in the log, metrics, limits on its body.

Requests that a page of another site made a browser send are refused here.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from matchwood.service.http.direct_routes import HEADERS
from matchwood.service.http.pieces import NoRoom, SlicedAnswer
from matchwood.service.http.problem_responses import failure_response, problem_response
from matchwood.service.http.request_bodies import BodyLimit, declared_problem, limited
from matchwood.service.http.request_context import secret_in
from matchwood.service.logs import request_id
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem
from matchwood.service.settings import is_loopback

log = logging.getLogger("matchwood.service")
# Requests whose bodies may be as large as `upload_bytes`.
UPLOADS = {("PUT", "/rules"), ("POST", "/subscriptions/bulk")}
# The method and the beginning of the path of further ones.
LIST_UPLOADS = ("PUT", "/lists/")
# Requests whose bodies are read piece by piece and not kept.
UNKEPT = {("POST", "/subscriptions/bulk")}
# Requests other than GET that change nothing, so that they may be repeated.
QUESTIONS = {("POST", "/match"), ("POST", "/check"), ("POST", "/explain")}
# Bytes, beyond those of a rule, of a body that is sent without a key.
UNKNOWN_BYTES = 256 << 10
# Paths that are requested all the time, and are not logged if all is well.
UNLOGGED_PATHS = {"/healthz", "/readyz", "/metrics"}
# The status in logs and metrics of a request whose client left before it had been sent whole.
CLIENT_GONE = 499


class RequestMiddleware:
    """The middleware of the application (ASGI)."""

    def __init__(self, app: ASGIApp, service: MatchingService) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = scope[HEADERS] = headers_by_name(scope)
        name = _id_of(headers.get("x-request-id"))
        token = request_id.set(name)
        started = time.perf_counter()
        asks = scope["method"] in ("GET", "HEAD") or (scope["method"], scope["path"]) in QUESTIONS
        answer = SlicedAnswer(send, self._service.answer_budget if asks else None, name)
        left = False
        try:
            limit = self._limit(scope, headers)
            refused = self._refused(headers) or declared_problem(headers, limit)
            if refused is not None:
                await problem_response(refused)(scope, receive, answer.send)
            else:
                unkept = (scope["method"], scope["path"]) in UNKEPT
                share = self._service.request_bytes.share()
                try:
                    body = limited(receive, headers, limit, None if unkept else share)
                    await self._app(scope, body, answer.send)
                finally:
                    share.close()
        except NoRoom as refusal:
            await problem_response(refusal.problem)(scope, receive, answer.send)
        except ClientDisconnect:
            left = True
        except Exception as error:
            log.error("a request failed", exc_info=error)
            if answer.status is not None:
                raise  # the server closes the connection, so that the answer is not taken for whole
            await failure_response(name)(scope, receive, answer.send)
        finally:
            answer.close()
            status = CLIENT_GONE if left else answer.status or 500
            self._record(scope, status, time.perf_counter() - started)
            request_id.reset(token)

    def _limit(self, scope: Scope, headers: Mapping[str, str]) -> BodyLimit:
        """The most bytes that the body may have: without a key, not more than holders of tickets
        send, because the body is read before the caller is known.
        """
        limits = self._service.settings.limits
        if self._service.keys.of(secret_in(headers)) is None:
            return BodyLimit(min(limits.body_bytes, limits.rule_bytes + UNKNOWN_BYTES), False)
        method, path = scope["method"], scope["path"]
        is_list = method == LIST_UPLOADS[0] and path.startswith(LIST_UPLOADS[1])
        upload = is_list or (method, path) in UPLOADS
        return BodyLimit(limits.upload_bytes if upload else limits.body_bytes)

    def _refused(self, headers: Mapping[str, str]) -> RequestProblem | None:
        """Refuse pages of other sites, and without keys also host names that are not loopback.

        A site can make its own name resolve to this machine (DNS rebinding); the `Host` header
        then has that name.
        """
        host = headers.get("host", "")
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != host:
            return RequestProblem(
                "forbidden", f"pages of {origin!r:.200} may not call this service"
            )
        if not len(self._service.keys) and not _is_this_machine(host):
            detail = f"without keys the Host must be localhost, found {host!r:.200}"
            return RequestProblem("forbidden", detail)
        return None

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count the request, and log it."""
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if route != "none" else "any"
        self._service.metrics.note_request(method, route, status, seconds)
        if not log.isEnabledFor(logging.INFO) or (status < 400 and scope["path"] in UNLOGGED_PATHS):
            return
        extra: dict[str, Any] = {"method": scope["method"], "path": scope["path"]}
        extra |= {"status": status, "ms": round(seconds * 1e3, 2)}
        client = scope.get("client")
        log.info("request", extra={**extra, "client": client[0] if client else None})


def headers_by_name(scope: Scope) -> dict[str, str]:
    """The headers of a request in their order, the first of each name, which is in lower case."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return headers


def _host_of(origin: str) -> str | None:
    """The host and port of an origin; None if it is not a URL."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


@lru_cache(16)
def _is_this_machine(host: str) -> bool:
    """Whether a `Host` header, with or without a port, is loopback; not if it makes no sense."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _id_of(sent: str | None) -> str:
    """The id that the client sent, if it is safe to log and send back, or a new one."""
    if sent and len(sent) <= 128 and sent.isascii() and sent.isprintable():
        return sent
    return secrets.token_hex(8)
