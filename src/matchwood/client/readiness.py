"""Waiting until a service is ready: how long, and what to say meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from matchwood.client.service_error import error_of

# Seconds to wait until a service is ready: without a cache, it compiles its kernels first.
READY_SECONDS = 120.0
# Seconds of these to wait for a service that does not answer at all: it may just have been started.
CONNECT_SECONDS = 30.0
# Seconds between two questions whether it is ready.
ASK_SECONDS = 0.2
# Seconds between two reports of what is waited for.
TELL_SECONDS = 5.0
# The status with which a service answers that is not ready.
NOT_READY = 503


class ReadinessWait:
    """One wait. `tell` is called, now and then, with what is waited for."""

    def __init__(self, seconds: float, tell: Callable[[str], None] | None) -> None:
        self._began = time.monotonic()
        self._seconds = seconds
        self._tell = tell
        self._told = self._began - TELL_SECONDS + 1.0  # the first report comes after a second

    def refused(self, error: httpx.ConnectError) -> None:
        """The service does not answer; raises the error if that has been so for too long."""
        if self._waited() >= min(self._seconds, CONNECT_SECONDS):
            raise error
        self._report("it does not answer yet")

    def answered(self, response: httpx.Response) -> bool:
        """Whether the service is ready, or says something that waiting does not change."""
        if response.status_code != NOT_READY:
            return True
        error = error_of(response)
        if self._waited() >= self._seconds:
            raise error
        self._report(str(getattr(error, "detail", error)))
        return False

    def _waited(self) -> float:
        return time.monotonic() - self._began

    def _report(self, reason: str) -> None:
        now = time.monotonic()
        if self._tell is not None and now >= self._told + TELL_SECONDS:
            self._told = now
            self._tell(reason)
