"""Run the application with uvicorn, which drains it when it is told to stop."""

from __future__ import annotations

import logging
import signal
from types import FrameType

import uvicorn

from matchwood.service.app import create_app
from matchwood.service.logs import log_to_standard_error
from matchwood.service.settings import Settings

log = logging.getLogger("matchwood.service")


class Server(uvicorn.Server):
    """Tells the service first, so that open streams end and connections can be drained."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        service = self.config.app.state.service  # type: ignore[union-attr]
        service.closing.set()
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True  # a second Ctrl-C waits for nothing
        self.should_exit = True  # not noted as uvicorn does, which would end the process by it


def serve(settings: Settings) -> bool:
    """Serve until told to stop; False if it could not be loaded, or lost its database."""
    log_to_standard_error(settings.log_level)
    problems: list[bool] = []

    def failed() -> None:
        problems.append(True)
        server.should_exit = True

    app = create_app(settings, failed)
    app.state.service.open()  # what is wrong with the settings is said before anything listens
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=round(settings.shutdown_seconds) or None,
        timeout_keep_alive=75,
    )
    server = Server(config)
    server.run()
    return not problems and server.started
