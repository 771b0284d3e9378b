"""HTTP/1.1 connections to the receivers of webhooks, kept open between calls.

General clients take most of a millisecond of processor time per request, which is more than all
else about a call together, so this one does only what a webhook needs: one POST at a time on a
connection, and the status of its answer. httptools reads the answers.

However many receivers there are, the connections that are open, in use or kept, have a limit.

A receiver may close a connection just when a call is sent on it. If it had been kept open and
nothing of an answer has come, the call is sent again, once, on a new one: receivers recognise
repetitions anyway.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httptools
import httpx

from matchwood.service.delivery.addresses import allowed_addresses

# Bytes of an answer that are read before the connection is given up; nobody uses them.
ANSWER_BYTES = 64 << 10
# Seconds that an idle connection is kept open.
KEEPALIVE_SECONDS = 30.0
# The first status of a final answer: those below announce one.
FIRST_FINAL = 200
# The port of each scheme, if the URL does not say.
PORTS = {"http": 80, "https": 443}


class CallFailed(Exception):
    """A call was not answered, or not in HTTP."""


class ConnectionClosed(CallFailed):
    """The receiver closed the connection before anything of its answer had come."""


class Origin(NamedTuple):
    """Where connections lead."""

    scheme: str
    host: str
    port: int


@cache
def tls_context() -> ssl.SSLContext:
    """Certificates of receivers are checked as httpx does."""
    return httpx.create_ssl_context()


class CallConnection(asyncio.Protocol):
    """A connection to a receiver, with at most one call at a time."""

    def __init__(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[int] | None = None
        self._received = 0  # bytes since the call was sent
        self._status = 0
        self.is_open = False
        self.idle_since = 0.0

    async def call(self, request: bytes) -> int:
        """Send a request, and return the status of the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._received = self._status = 0
        self._transport.write(request)
        try:
            return await self._answer
        except BaseException:
            self.close()
            raise
        finally:
            self._answer = None

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nothing was asked
            self.close()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(CallFailed(f"the answer is not HTTP: {error}"))
        if self._received > ANSWER_BYTES:
            if self._status >= FIRST_FINAL:
                self._done()
            else:
                self._fail(CallFailed(f"the head of the answer has over {ANSWER_BYTES:,} bytes"))
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._status >= FIRST_FINAL:  # the end of the answer is that of the connection
            self._done()
        elif self._received:
            self._fail(CallFailed("the connection was closed in the middle of the answer"))
        else:
            self._fail(ConnectionClosed("the connection was closed without an answer"))

    # What the parser calls

    def on_message_begin(self) -> None:
        if self._answer is not None and self._answer.done():  # a second answer to one call
            self.close()

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()

    def on_message_complete(self) -> None:
        if self._status >= FIRST_FINAL:
            if not self._parser.should_keep_alive():
                self.close()
            self._done()

    def _done(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(self._status)

    def _fail(self, error: CallFailed) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.close()


class WebhookConnections:
    """Connections by origin; `private` allows addresses that are not public.

    Before more than `most` are open, the one that has been idle longest is closed.
    """

    def __init__(self, private: bool, most: int) -> None:
        self._private = private
        self._most = most
        self._idle: dict[Origin, list[CallConnection]] = defaultdict(list)
        self._kept: dict[CallConnection, Origin] = {}  # all that are idle, longest first
        self._busy: set[CallConnection] = set()
        self._opening = 0
        self._cleaning: asyncio.TimerHandle | None = None
        # As many as calls, so that names that take long to look up hold up no others.
        self._lookups = ThreadPoolExecutor(max(1, most), "lookup")

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> int:
        """The status that a request is answered with; redirects are not followed.

        Raises CallFailed or an OSError.
        """
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        lines = [f"POST {target} HTTP/1.1", f"Host: {parts.netloc}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}", "", ""]
        request = "\r\n".join(lines).encode("ascii") + body
        origin = Origin(parts.scheme, host, port)
        if (kept := self._take(origin)) is not None:
            try:
                return await self._call(kept, origin, request)
            except ConnectionClosed:
                pass
        return await self._call(await self._connect(origin), origin, request)

    async def _call(self, connection: CallConnection, origin: Origin, request: bytes) -> int:
        self._busy.add(connection)
        try:
            status = await connection.call(request)
        finally:
            self._busy.discard(connection)
        if connection.is_open:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle[origin].append(connection)
            self._kept[connection] = origin
            self._clean_later()
        return status

    def _take(self, origin: Origin) -> CallConnection | None:
        """A connection that was kept open, the one used last."""
        while kept := self._idle.get(origin):
            connection = kept[-1]
            self._let_go(connection)
            if connection.is_open:
                return connection
        return None

    def _let_go(self, connection: CallConnection) -> None:
        """A connection is no longer idle."""
        origin = self._kept.pop(connection)
        self._idle[origin].remove(connection)
        if not self._idle[origin]:
            del self._idle[origin]

    async def _connect(self, origin: Origin) -> CallConnection:
        loop = asyncio.get_running_loop()
        tls: dict[str, Any] = {}
        if origin.scheme == "https":
            tls = {"ssl": tls_context(), "server_hostname": origin.host}
        failure: OSError | None = None
        host, port = origin.host, origin.port
        for address in await allowed_addresses(host, port, self._private, self._lookups):
            self._make_room()
            self._opening += 1
            try:
                _, made = await loop.create_connection(CallConnection, address, port, **tls)
                return made
            except OSError as error:
                failure = error
            finally:
                self._opening -= 1
        assert failure is not None
        raise failure

    def _make_room(self) -> None:
        while self._kept and len(self._kept) + len(self._busy) + self._opening >= self._most:
            self._close_oldest()

    def _close_oldest(self) -> None:
        oldest = next(iter(self._kept))
        self._let_go(oldest)
        oldest.close()

    def _clean_later(self) -> None:
        if self._cleaning is None:
            loop = asyncio.get_running_loop()
            self._cleaning = loop.call_later(KEEPALIVE_SECONDS, self._clean)

    def _clean(self) -> None:
        """Close what has been idle for long."""
        self._cleaning = None
        before = asyncio.get_running_loop().time() - KEEPALIVE_SECONDS
        while self._kept and next(iter(self._kept)).idle_since <= before:
            self._close_oldest()
        if self._kept:
            self._clean_later()

    def close(self) -> None:
        """Close all connections, even those in use."""
        if self._cleaning is not None:
            self._cleaning.cancel()
        for connection in (*self._busy, *self._kept):
            connection.close()
        self._kept.clear()
        self._idle.clear()
        self._lookups.shutdown(wait=False, cancel_futures=True)
