"""How far a service that starts has come: for its log, and for clients that wait for it."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time

from matchwood.kernels.readiness import kernels_ready
from matchwood.warm import warm_up

log = logging.getLogger("matchwood.service")
# Seconds between lines in the log while one step of loading takes.
REPORT_SECONDS = 5.0


class LoadingProgress:
    """The step that a service is at while it loads, and since when.

    >>> progress = LoadingProgress()
    >>> progress.step("loading rules")
    >>> progress.describe()
    'loading rules, for 0 s'
    """

    def __init__(self) -> None:
        self._step = "starting"
        self._since = time.monotonic()

    def step(self, doing: str) -> None:
        """A new step begins; may be called in any thread."""
        self._step, self._since = doing, time.monotonic()
        log.info("the service is loading", extra={"doing": doing})

    def describe(self) -> str:
        """The step, and for how long it has been going on."""
        return f"{self._step}, for {time.monotonic() - self._since:.0f} s"

    async def report(self) -> None:
        """Log the step again and again, until cancelled."""
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            seconds = round(time.monotonic() - self._since, 1)
            log.info("the service is still loading", extra={"doing": self._step, "for": seconds})


@functools.cache
def prepare_kernels() -> None:
    """Load what matching needs: once per process.

    If it is not compiled yet, that is done in the background, and few rules do not wait for it.
    """
    if kernels_ready():
        warm_up()
        return
    log.info("kernels are being compiled; until then, few rules are evaluated one by one")
    threading.Thread(target=warm_up, name="kernels", daemon=True).start()
