"""Worker processes: replicas on one machine, which share a listening socket and a mapped index.

The process that starts them starts a new one whenever one ends, and they end when it does, even if
it is killed: each has the end of a pipe that nobody else keeps open.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import threading
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from matchwood.service.http.app import create_replica_app
from matchwood.service.http.uvicorn_server import Server, server_config
from matchwood.service.logs import log_to_standard_error
from matchwood.service.replica import Replica
from matchwood.service.settings import Settings, SettingsError

log = logging.getLogger("matchwood.service")
# Connections that the kernel keeps until a worker takes them.
BACKLOG = 2048
# Seconds until a worker that has ended is replaced.
RESTART_SECONDS = 0.2
# Seconds that workers are given to end, in addition to `shutdown_seconds`.
END_SECONDS = 10.0


class WorkerProcesses:
    """So many replicas that share the port of the settings; with `saves`, the first one saves."""

    def __init__(self, settings: Settings, count: int, saves: bool) -> None:
        self._settings = settings
        self._saves = saves
        try:
            address = (settings.host, settings.port)
            family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
            self._socket = socket.create_server(address, family=family, backlog=BACKLOG)
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise SettingsError(f"workers cannot listen on {where}: {error}") from error
        self._context = multiprocessing.get_context("spawn")
        self._alive, self._held = self._context.Pipe(duplex=False)
        self._ending = threading.Event()
        self.processes: list[SpawnProcess] = [self._start(number) for number in range(count)]
        self._watch = threading.Thread(target=self._replace_ended, name="workers", daemon=True)
        self._watch.start()

    def _start(self, number: int) -> SpawnProcess:
        saves = self._saves and number == 0
        process = self._context.Process(
            target=_work,
            args=(self._settings, self._socket, self._alive, saves),
            daemon=True,  # it must not keep this process from ending after an error
        )
        process.start()
        log.info("a worker was started", extra={"worker": number, "pid": process.pid})
        return process

    def _replace_ended(self) -> None:
        while not self._ending.wait(RESTART_SECONDS):
            for number, process in enumerate(self.processes):
                if not process.is_alive() and not self._ending.is_set():
                    extra = {"worker": number, "exit": process.exitcode}
                    log.error("a worker has ended", extra=extra)
                    self.processes[number] = self._start(number)

    def close(self) -> None:
        """End all workers; each finishes the requests that it has."""
        self._ending.set()
        self._watch.join()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join(self._settings.shutdown_seconds + END_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
        self._held.close()
        self._socket.close()


def _work(settings: Settings, listening: socket.socket, alive: Connection, saves: bool) -> None:
    """What a worker does."""
    log_to_standard_error(settings.log_level)
    failures: list[bool] = []

    def failed() -> None:
        failures.append(True)
        server.should_exit = True

    app = create_replica_app(settings, saves, failed)
    server = Server(server_config(app, settings))

    def end_with_parent() -> None:
        try:
            alive.recv()
        except (EOFError, OSError):
            server.handle_exit(signal.SIGTERM, None)

    threading.Thread(target=end_with_parent, name="parent", daemon=True).start()
    server.run([listening])
    if failures:
        raise SystemExit(3)


def serve_replicas(settings: Settings) -> None:
    """Serve with several replicas until told to stop."""
    Replica(settings).open()  # so that errors in the settings are reported before workers start
    log_to_standard_error(settings.log_level)
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    workers = WorkerProcesses(settings, settings.workers, saves=True)
    ending.wait()
    workers.close()
