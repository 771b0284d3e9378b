"""Serves with one process, or with several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from matchwood.service.http.app import create_app, create_replica_app
from matchwood.service.http.uvicorn_server import Server, server_config
from matchwood.service.http.workers import WorkerProcesses, serve_replicas
from matchwood.service.logs import log_to_standard_error
from matchwood.service.settings import Settings


def serve(settings: Settings) -> bool:
    """Serve until told to stop. False if the service could not be loaded, or lost its database."""
    if settings.replica and settings.workers > 1:
        serve_replicas(settings)
        return True
    log_to_standard_error(settings.log_level)
    failures: list[bool] = []

    def failed() -> None:
        failures.append(True)
        server.should_exit = True

    create = create_replica_app if settings.replica else create_app
    app = create(settings, failed=failed)
    app.state.service.open()  # so that errors in the settings are reported before it listens
    server = Server(server_config(app, settings))
    app.state.connections.describe()
    with _workers_beside(settings):
        server.run()
    return not failures and server.started


@contextmanager
def _workers_beside(settings: Settings) -> Iterator[None]:
    """Workers that match beside a service, if the settings ask for some."""
    if settings.replica or not settings.workers:
        yield
        return
    port = settings.match_port or settings.port + 1
    workers = WorkerProcesses(settings.changed(port=port), settings.workers, saves=False)
    try:
        yield
    finally:
        workers.close()
