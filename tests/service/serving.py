"""A service for tests: in a thread of this process, on a free port, with a client for it."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from matchwood.service.http.app import create_app, create_replica_app
from matchwood.service.http.uvicorn_server import server_config
from matchwood.service.service import Service
from matchwood.service.settings import Settings


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A running service, and what tests ask of it."""

    def __init__(self, service: Service, url: str, failed: threading.Event) -> None:
        self.service = service
        self.failed = failed  # it says that it must end
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=30)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the event loop of the service, and wait for it."""
        loop = self.service.delivery.watchers._loop
        assert loop is not None
        asyncio.run_coroutine_threadsafe(work, loop).result(30)

    def subscribe(self, rule: str, **more: Any) -> dict[str, Any]:
        answer = self.http.post("/subscriptions", json={"rule": rule, "subscriber": "ann", **more})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def publish(self, event: Any) -> Any:
        answer = self.http.post("/events", json=event)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def as_subscriber(self, made: dict[str, Any]) -> dict[str, str]:
        return {"Authorization": f"Bearer {made['ticket']}"}

    def fetch(self, made: dict[str, Any], **asked: Any) -> list[dict[str, Any]]:
        path = f"/subscriptions/{made['id']}/events"
        answer = self.http.get(path, params=asked, headers=self.as_subscriber(made))
        assert answer.status_code == 200, answer.text
        events: list[dict[str, Any]] = answer.json()["events"]
        return events


@contextlib.contextmanager
def served(settings: Settings) -> Iterator[Served]:
    """A service, or with `replica` one of its replicas."""
    port = free_port()
    failed = threading.Event()
    settings = settings.changed(port=port)
    create = create_replica_app if settings.replica else create_app
    app = create(settings, failed=failed.set)
    server = uvicorn.Server(server_config(app, settings))
    thread = threading.Thread(target=server.run)
    thread.start()
    running = Served(app.state.service, f"http://127.0.0.1:{port}", failed)
    try:
        until = time.monotonic() + 600  # the first compiles
        while not (app.state.service.ready and server.started):
            assert thread.is_alive(), "the service ended"
            assert not failed.is_set(), "the service cannot be loaded"
            assert time.monotonic() < until, "the service is not ready"
            time.sleep(0.02)
        yield running
    finally:
        running.http.close()
        server.should_exit = True
        app.state.service.closing.set()
        thread.join(30)
        assert not thread.is_alive()


def settings_in(folder: Path, **more: Any) -> Settings:
    given = {"data": str(folder), "synchronous": "normal", **more}
    return Settings.read(given, {})
