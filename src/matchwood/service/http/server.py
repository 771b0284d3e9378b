"""Runs the application with uvicorn, which drains connections when it is told to stop."""

from __future__ import annotations

import logging
import signal
from types import FrameType

import uvicorn
from fastapi import FastAPI

from matchwood.service.http.app import create_app
from matchwood.service.http.connections import GuardedProtocol
from matchwood.service.logs import log_to_standard_error
from matchwood.service.settings import Settings

log = logging.getLogger("matchwood.service")


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


def serve(settings: Settings) -> bool:
    """Serve until told to stop. False if the service could not be loaded, or lost its database."""
    log_to_standard_error(settings.log_level)
    failures: list[bool] = []

    def failed() -> None:
        failures.append(True)
        server.should_exit = True

    app = create_app(settings, failed)
    app.state.service.open()  # so that errors in the settings are reported before it listens
    server = Server(server_config(app, settings))
    app.state.connections.describe()
    server.run()
    return not failures and server.started
