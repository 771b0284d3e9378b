"""uvicorn, as the service runs it: it drains connections when it is told to stop."""

from __future__ import annotations

import signal
from types import FrameType

import uvicorn
from fastapi import FastAPI

from matchwood.service.http.connections import GuardedProtocol
from matchwood.service.settings import Settings


class Server(uvicorn.Server):
    """Tells the service first, so that open streams end and their connections can be drained."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        service = self.config.app.state.service  # type: ignore[union-attr]
        service.closing.set()
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True  # after a second Ctrl-C, do not wait
        # The signal is not recorded, as uvicorn would: it would raise it again when it ends, and
        # the exit status would be that of a killed process.
        self.should_exit = True


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs the application."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=GuardedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=round(settings.shutdown_seconds) or None,
        timeout_keep_alive=75,
    )
