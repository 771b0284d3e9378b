"""Connections: how many there may be, how long a request may take to arrive, and how long it is;
and how long a client may take to read an answer.

uvicorn limits none of these. A client that sends half a request, or takes nothing of an answer, or
a thousand clients that send nothing, would otherwise keep their connections, and with them the
files of the process, for ever; and headers without an end would fill the memory.

    connected ──▶ headers ──complete──▶ body ──complete──▶ answer ──▶ idle ──first byte──▶ headers
                     │ too slow           │ too slow                    │ too long, or room needed
                     ▼                    ▼                             ▼
                    408                  408                          closed

Whatever the phase, a client that takes nothing of what is waiting to be sent is disconnected.
"""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import time
from collections import Counter
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from matchwood.service.http.pieces import SLICE_BYTES
from matchwood.service.metrics import Metrics
from matchwood.service.problems import RequestProblem
from matchwood.service.settings import Settings

log = logging.getLogger("matchwood.service")
# Files that the service needs beside connections: the database, snapshots, logs, pipes.
RESERVED_FILES = 128
# The fewest connections that are allowed, however few files the process may open.
FEWEST_CONNECTIONS = 16
# Bytes of a body for which its sender gets another second.
BODY_BYTES_PER_SECOND = 16 << 10
# Bytes that may arrive while none of them completes headers or belongs to a body: those of headers,
# of trailers, and of what surrounds the chunks of a body.
HEAD_BYTES = 64 << 10
# Seconds between two lines in the log about connections that were closed for the same reason.
LOG_SECONDS = 1.0
# Seconds that a refused client is told to wait.
RETRY_SECONDS = 1


class Connections:
    """The connections of a server, within limits in total and per address."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        limits = settings.limits
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = files - RESERVED_FILES - settings.webhooks.under_way
        room = max(FEWEST_CONNECTIONS, room) if files != resource.RLIM_INFINITY else 1 << 30
        self.most = min(limits.connections or room, room)
        self.most_per_address = limits.connections_per_address or max(1, self.most // 2)
        self.header_seconds = limits.header_seconds
        self.body_seconds = limits.body_seconds
        self.reader_seconds = limits.reader_seconds
        self.streams = limits.streams
        self.files = files
        self._metrics = metrics
        self._by_address: Counter[str] = Counter()
        # Connections that wait for a request, or for the rest of its headers, oldest first.
        self._waiting: dict[GuardedProtocol, None] = {}
        self._log_again: dict[str, float] = {}  # by reason, the time of the next line
        self._unlogged: Counter[str] = Counter()
        metrics.connections.set_function(lambda: self.count)
        metrics.connections_limit.set(self.most)

    @property
    def count(self) -> int:
        return self._by_address.total()

    def describe(self) -> None:
        """Say in the log how many connections there may be, and whether files limit them."""
        counts = {"connections": self.most, "per_address": self.most_per_address}
        log.info("connections are limited", extra={**counts, "files": self.files})
        if self.most < self.streams:
            log.warning(
                "fewer connections than streams are possible: raise the limit of open files",
                extra={**counts, "streams": self.streams, "files": self.files},
            )

    def enter(self, connection: GuardedProtocol, address: str) -> RequestProblem | None:
        """Count a new connection, or say why there is no room for it.

        If there are too many in total, the one that has waited longest for a request makes room.
        """
        if self._by_address[address] >= self.most_per_address:
            self.report("address", address)
            detail = f"the limit is {self.most_per_address} connections per address"
            return RequestProblem("too-many-connections", detail, retry_after=RETRY_SECONDS)
        if self.count >= self.most:
            oldest = next(iter(self._waiting), None)
            self.report("total", address)
            if oldest is None:
                detail = f"the limit is {self.most} connections"
                return RequestProblem("busy", detail, retry_after=RETRY_SECONDS)
            oldest.drop()
        self._by_address[address] += 1
        return None

    def leave(self, address: str) -> None:
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def waits(self, connection: GuardedProtocol, waits: bool) -> None:
        """Whether a connection waits for a request, or for the rest of its headers."""
        if waits:
            self._waiting[connection] = None
        else:
            self._waiting.pop(connection, None)

    def report(self, reason: str, address: str) -> None:
        """Count a connection that was closed or refused, and log it unless there are many."""
        self._metrics.connections_closed.labels(reason).inc()
        now = time.monotonic()
        if now < self._log_again.get(reason, 0.0):
            self._unlogged[reason] += 1
            return
        self._log_again[reason] = now + LOG_SECONDS
        extra = {"reason": reason, "client": address, "more": self._unlogged.pop(reason, 0)}
        log.warning(REASONS[reason], extra=extra)

    def report_reader(self, address: str) -> None:
        """Count and log a client that was disconnected because it did not take its answer."""
        self._metrics.slow_readers.inc()
        self.report("reader", address)


# What the log says of a connection that was closed or refused.
REASONS = {
    "headers": "a connection was closed: the headers of its request did not arrive in time",
    "body": "a connection was closed: the body of its request did not arrive in time",
    "head": "a connection was closed: the headers of its request are too long",
    "address": "a connection was refused: its address has too many",
    "reader": "a reader was disconnected: it did not take its answer",
    "total": "there are too many connections: an idle one was closed, or a new one refused",
}


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with time limits for requests. One object per connection."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._guard: Connections = self.config.app.state.connections  # type: ignore[union-attr]
        self._address = ""
        self._entered = False
        self._phase = "headers"
        self._nothing_came = True  # of the next request
        self._head = 0  # bytes since headers were complete, or since a part of a body
        self._received = 0  # bytes of the body
        self._body_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None  # goes off if the client reads nothing

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else "unknown"
        problem = self._guard.enter(self, self._address)
        if problem is not None:
            self._refuse(problem)
            return
        self._entered = True
        self._guard.waits(self, True)
        self._arm(self._guard.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self._stop_reading_timer()
        if self._entered:
            self._entered = False
            self._guard.waits(self, False)
            self._guard.leave(self._address)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close at once, to make room for another connection."""
        self._guard.waits(self, False)
        if self._entered:
            self._entered = False
            self._guard.leave(self._address)
        self.transport.abort()

    # Requests as they arrive

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head += len(data)
        self._nothing_came = False
        super().data_received(data)
        if self.transport.is_closing():
            self._disarm()
        elif self._head > HEAD_BYTES:
            self._guard.report("head", self._address)
            detail = f"headers may have at most {HEAD_BYTES:,} bytes"
            self._refuse(RequestProblem("headers-too-large", detail, limit=HEAD_BYTES))
        elif self._phase == "headers" and self._timer is None and not self._nothing_came:
            self._arm(self._guard.header_seconds)
        elif self._phase == "body" and self._timer is None:
            self._arm(self._guard.body_seconds)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = "headers"

    def on_headers_complete(self) -> None:
        self._disarm()
        self._guard.waits(self, False)
        self._phase, self._received, self._body_since = "body", 0, self.loop.time()
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._received += len(body)
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._disarm()
        self._phase = "answer"
        self._head = 0
        super().on_message_complete()
        if self.cycle.response_complete:  # it was answered before all of it had arrived
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
            self._becomes_idle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_reading_timer()
        idle = self._phase == "answer" and self.cycle.response_complete  # else one was pipelined
        if idle:
            self._becomes_idle()

    def _becomes_idle(self) -> None:
        """It waits for the next request, of which nothing has come."""
        if not self.transport.is_closing():
            self._phase = "headers"
            self._nothing_came = True
            self._guard.waits(self, True)

    # Answers as they are read

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_reading_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reading_timer()
        if self.transport.is_closing():
            self._start_reading_timer()  # for the rest

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._start_reading_timer()

    def _start_reading_timer(self) -> None:
        self._stop_reading_timer()
        if seconds := self._guard.reader_seconds:
            size = self.transport.get_write_buffer_size()
            self._reading = self.loop.call_later(seconds, self._look_at_reader, size)

    def _stop_reading_timer(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _look_at_reader(self, size: int) -> None:
        """Drop the connection unless a slice of what waited to be sent was taken, or all of it.

        Nothing was added meanwhile: the timer only runs while answers wait or have ended.
        """
        self._reading = None
        left = self.transport.get_write_buffer_size()
        if not left:
            return
        if left > size - SLICE_BYTES:
            self._guard.report_reader(self._address)
            self.drop()
        else:
            self._start_reading_timer()

    # Time limits

    def _arm(self, seconds: float) -> None:
        self._disarm()
        if seconds:
            self._timer = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        """The timer has gone off: give the body more time if it arrives fast enough."""
        self._timer = None
        if self.transport.is_closing() or self._phase == "answer":
            return
        if self._phase == "body":
            if self.flow.read_paused:  # the service itself is slow
                self._body_since = self.loop.time()
                self._received = 0
            allowed = self._guard.body_seconds + self._received / BODY_BYTES_PER_SECOND
            left = self._body_since + allowed - self.loop.time()
            if left > 0:
                self._arm(max(left, 0.1))
                return
        self._guard.report(self._phase, self._address)
        what = "the headers of the request" if self._phase == "headers" else "its body"
        self._refuse(RequestProblem("request-timeout", f"{what} did not arrive in time"))

    def _refuse(self, problem: RequestProblem) -> None:
        """Answer with a problem, unless an answer has begun, and close."""
        self._disarm()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_answer(problem))
        self.transport.close()
        self._start_reading_timer()


def _answer(problem: RequestProblem) -> bytes:
    body = json.dumps(problem.to_json()).encode()
    headers = {
        "Content-Type": "application/problem+json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **problem.headers(),
    }
    lines = [f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
