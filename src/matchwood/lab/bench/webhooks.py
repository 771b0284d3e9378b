"""Webhooks: how many calls a second reach a receiver that answers at once.

    python -m matchwood.lab.bench.webhooks [--subscriptions 50] [--events 400] [--load 0]

One process of `matchwood serve` on a SQLite file calls one receiver, a process of its own that
reads a request, answers 204 and keeps the connection. Every event matches every subscription, so
that `--subscriptions` times `--events` calls are due. Each must come once, and those of a
subscription in the order of their events; otherwise the program ends with an error. In the second
column, another connection meanwhile publishes events that nobody subscribed to, as fast as they
are accepted.

The time is from the first publication to the last call. Processor time is that of the service
alone; the receiver needs some, too, on the same cores.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import socket
import tempfile
import threading
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from matchwood.lab.bench.processes import processor_seconds_of
from matchwood.lab.bench.reporting import BenchOptions, Figures, report, spread
from matchwood.lab.bench.service import LINES, Served, serving

# Seconds that all calls may take before the program gives up.
PATIENCE = 300.0
# Events per publication.
BATCH = 50
ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
SUBSCRIPTION = re.compile(rb"(?i)webhook-id: *(s\d+)-(\d+)")


class FastReceiver(asyncio.Protocol):
    """Answers each request with 204, and notes its event and when it came."""

    connections = 0

    def __init__(self, arrived: list[tuple[bytes, int, float]]) -> None:
        self._arrived = arrived
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        FastReceiver.connections += 1
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length, event = LENGTH.search(head), SUBSCRIPTION.search(head)
            assert length is not None
            assert event is not None
            whole = end + 4 + int(length[1])
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            self._arrived.append((event[1], int(event[2]), time.time()))
            self._transport.write(ANSWER)


def receive(pipe: Pipe) -> None:
    """Serve until all calls that are due have come. Runs in a process of its own."""
    asyncio.run(_receive(pipe))


async def _receive(pipe: Pipe) -> None:
    arrived: list[tuple[bytes, int, float]] = []
    loop = asyncio.get_running_loop()
    listening = socket.create_server(("127.0.0.1", 0))
    server = await loop.create_server(lambda: FastReceiver(arrived), sock=listening)
    pipe.send(listening.getsockname()[1])
    while (expected := await asyncio.to_thread(pipe.recv)) is not None:
        until = time.monotonic() + PATIENCE
        while len(arrived) < expected and time.monotonic() < until:
            await asyncio.sleep(0.02)
        pipe.send((list(arrived), FastReceiver.connections))
        arrived.clear()
    server.close()


def main() -> None:
    parser = BenchOptions(__doc__)
    parser.size("subscriptions", full=50, small=10)
    parser.size("events", full=400, small=40)
    options = parser.read()
    ours, theirs = multiprocessing.Pipe()
    receiver = multiprocessing.get_context("spawn").Process(target=receive, args=(theirs,))
    receiver.start()
    results: dict[str, Figures] = {}
    try:
        port = ours.recv()
        allowed = {"MATCHWOOD_WEBHOOKS_PRIVATE_ADDRESSES": "true"}
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), **allowed) as served:
            subscribe(served, options.subscriptions, f"http://127.0.0.1:{port}/in")
            called(served, ours, options.subscriptions, min(options.events, 20))  # to warm up
            results["alone"] = called(served, ours, options.subscriptions, options.events)
            with publishing_beside(served):
                beside = called(served, ours, options.subscriptions, options.events)
            results["beside a publisher"] = beside
        ours.send(None)
        receiver.join(10)
    finally:
        if receiver.is_alive():
            receiver.kill()
    common = {"subscriptions": options.subscriptions, "events": options.events}
    report("webhooks", common, results)


def subscribe(served: Served, count: int, url: str) -> None:
    delivery = {"kind": "webhook", "url": url}
    line = json.dumps({"rule": "hook = 1", "subscriber": "bench", "delivery": delivery})
    with served.connect() as connection:
        body = "\n".join([line] * count).encode()
        status, answer = connection.ask("POST", "/subscriptions/bulk", body, LINES)
        if status != 200 or json.loads(answer.splitlines()[-1])["rejected"]:
            raise SystemExit(f"subscribing was answered {status}: {answer.decode()}")


def called(served: Served, receiver: Pipe, subscriptions: int, events: int) -> Figures:
    """Publish events, and wait until all calls have come."""
    before = processor_seconds_of(served.process.pid)
    began = time.time()
    published: dict[int, float] = {}
    with served.connect() as connection:
        for low in range(0, events, BATCH):
            count = min(BATCH, events - low)
            body = b"\n".join(b'{"hook": 1, "n": %d}' % n for n in range(low, low + count))
            sent = time.time()
            for result in connection.publish(body, LINES)["results"]:
                published[result["id"]] = sent
    expected = subscriptions * events
    receiver.send(expected)
    arrived, connections = receiver.recv()
    worked = processor_seconds_of(served.process.pid) - before
    check(arrived, published, subscriptions)
    seconds = max(at for _, _, at in arrived) - began
    times = [(at - published[event]) * 1e3 for _, event, at in arrived]
    return {
        "calls": len(arrived),
        "calls_per_second": len(arrived) / seconds,
        "processor_us_per_call": worked / len(arrived) * 1e6,
        "connections_so_far": connections,
        **spread("call", times),
    }


def check(
    arrived: list[tuple[bytes, int, float]], published: dict[int, float], subscriptions: int
) -> None:
    """End with an error unless each subscription had all events, once and in order."""
    by_subscription: dict[bytes, list[int]] = {}
    for subscription, event, _ in arrived:
        by_subscription.setdefault(subscription, []).append(event)
    wrong = [name for name, events in by_subscription.items() if events != sorted(published)]
    if wrong or len(by_subscription) != subscriptions:
        raise SystemExit(
            f"{len(by_subscription)} of {subscriptions} subscriptions were called, "
            f"{len(wrong)} of them not with all events in order"
        )


class publishing_beside:
    """Publishes events that match nothing, as fast as they are accepted, while its block runs."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._publish)

    def _publish(self) -> None:
        with self._served.connect() as connection:
            while not self._end.is_set():
                connection.publish(b'{"other": 1}')

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()


if __name__ == "__main__":
    main()
