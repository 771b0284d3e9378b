"""The service over HTTP: throughput, latency, and the time to start again.

    python -m matchwood.lab.bench.service [--subscriptions 100000] [--events 60000]
        [--restart 1000000]

One process of `matchwood serve` on a SQLite file, which survives a loss of power (`synchronous`
is `full`), with the subscriptions of the Audiences workload; the publisher runs beside it, on the
same cores. Events are published in batches of 100 from two connections, then one by one, and then
one by one while an event that matches tens of thousands of subscriptions is published. Finally,
services with as many subscriptions, and with many more, are stopped, killed and started again.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matchwood.lab.bench.processes import bytes_of, processor_seconds_of
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report, spread
from matchwood.lab.workloads.audiences import Audiences

# Events per request, where events are published in batches.
BATCH = 100

# The content type of requests that have one JSON object per line.
LINES = "application/x-ndjson"

# Subscriptions per upload.
PIECE = 20_000


class Served:
    """A process that serves, and connections to it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        command = [sys.executable, "-m", "matchwood.cli", "serve", "--data", str(folder)]
        variables = {**os.environ, "MATCHWOOD_LOG_LEVEL": "warning", **environment}
        self.process = subprocess.Popen([*command, "--port", str(self.port)], env=variables)

    def connect(self) -> Connection:
        return Connection(self.port)

    def wait(self, seconds: float = 600.0) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                with self.connect() as connection:
                    if connection.ask("GET", "/readyz")[0] == 200:
                        return
            except OSError:
                pass
            if self.process.poll() is not None:
                raise SystemExit("the service ended")
            time.sleep(0.05)
        raise SystemExit("the service is not ready in time")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait()


class Connection:
    """A connection that stays open, with as little overhead as Python allows."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self._http.close()

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[int, bytes]:
        self._http.request(method, path, body, {"Content-Type": kind} if body else {})
        answer = self._http.getresponse()
        return answer.status, answer.read()

    def publish(self, body: bytes, kind: str = "application/json") -> Any:
        status, answer = self.ask("POST", "/events", body, kind)
        if status != 202:
            raise SystemExit(f"publishing was answered {status}: {answer.decode()}")
        return json.loads(answer)

    def subscribe(self, rules: list[str]) -> list[dict[str, Any]]:
        lines = (json.dumps({"rule": rule, "subscriber": "bench"}) for rule in rules)
        status, answer = self.ask("POST", "/subscriptions/bulk", "\n".join(lines).encode(), LINES)
        *made, last = map(json.loads, answer.splitlines())
        if status != 200 or last["rejected"]:
            raise SystemExit(f"subscribing was answered {status}: {last}")
        return made


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[Served]:
    served = Served(folder, **environment)
    try:
        served.wait()
        yield served
    finally:
        if served.process.poll() is None:
            served.stop()


def main() -> None:
    parser = BenchOptions(__doc__)
    parser.size("subscriptions", full=100_000, small=1_000)
    parser.size("events", full=60_000, small=1_000)
    parser.size("singles", full=2_000, small=100)
    parser.size("crowd", full=50_000, small=1_000)
    parser.size("restart", full=1_000_000, small=2_000)
    options = parser.read()
    workload = Audiences(rules=options.subscriptions, seed=options.seed)
    events = [json.dumps(event).encode() for event in workload.events(min(options.events, 20_000))]
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
        results["subscribe"] = subscribed(served, workload)
        batches = [b"\n".join(events[n : n + BATCH]) for n in range(0, len(events), BATCH)]
        results["batches of 100"] = published(served, batches, options.events)
        results["one by one"] = singles(served, events, options.singles)
        results["beside a crowd"] = crowded(served, events, options.crowd)
    if options.restart:
        for count in (options.subscriptions, options.restart):
            results |= restarted(Audiences(rules=count, seed=options.seed))
    common = {"workload": "Audiences", "subscriptions": options.subscriptions}
    report("service", common, results)


def subscribed(served: Served, workload: Audiences) -> Figures:
    """Load the subscriptions, in uploads."""
    started = time.perf_counter()
    with served.connect() as connection:
        for low in range(0, workload.rules, PIECE):
            connection.subscribe(workload.texts(low, low + PIECE))
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "subscriptions_per_second": workload.rules / seconds}


def published(served: Served, batches: list[bytes], count: int) -> Figures:
    """Publish from two connections until this many events are accepted."""
    wanted = [batches[n % len(batches)] for n in range(count // BATCH)]
    times: list[float] = []
    matched: list[int] = []
    first = len(batches) // 4 + 1  # to warm up

    def run(own_batches: list[bytes]) -> None:
        with served.connect() as connection:
            for batch in own_batches:
                began = time.perf_counter()
                answer = connection.publish(batch, LINES)
                times.append((time.perf_counter() - began) * 1e3)
                matched.extend(result["matched"] for result in answer["results"])

    run(batches[:first])
    times.clear()
    matched.clear()
    threads = [threading.Thread(target=run, args=(wanted[n::2],)) for n in range(2)]
    worked = processor_seconds_of(served.process.pid)
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    worked = processor_seconds_of(served.process.pid) - worked
    figures = {"events_per_second": len(matched) / seconds, **spread("answer", times)}
    figures["processor_us_per_event"] = worked / len(matched) * 1e6
    figures["matches_per_event"] = sum(matched) / len(matched)
    return figures | {"gib": bytes_of(served.process.pid) / 2**30}


def singles(served: Served, events: list[bytes], count: int) -> Figures:
    with served.connect() as connection:
        for event in events[:100]:
            connection.publish(event)
        times = [milliseconds(connection.publish, events[n % len(events)]) for n in range(count)]
    return {"events_per_second": 1e3 * len(times) / sum(times), **spread("answer", times)}


def crowded(served: Served, events: list[bytes], crowd: int) -> Figures:
    """Publish five times an event that matches very many subscriptions, and others meanwhile."""
    with served.connect() as connection:
        connection.subscribe(["crowd = 1"] * crowd)
        times: list[float] = []
        end = threading.Event()

        def others() -> None:
            with served.connect() as other:
                for event in events * 1_000:
                    if end.is_set():
                        return
                    times.append(milliseconds(other.publish, event))

        thread = threading.Thread(target=others)
        thread.start()
        crowds = []
        for _ in range(5):
            time.sleep(0.5)
            began = time.perf_counter()
            answer = connection.publish(b'{"crowd": 1}')
            crowds.append((time.perf_counter() - began) * 1e3)
            if answer["matched"] != crowd:
                raise SystemExit(f"the crowd of {crowd} was matched {answer['matched']} times")
        end.set()
        thread.join()
    return {**spread("answer", times), "crowd": crowd, "crowd_max_ms": max(crowds)}


def restarted(workload: Audiences) -> dict[str, Figures]:
    """Seconds from the start of the process until it is ready, with a snapshot to start from: once
    after the one before was told to stop, and once after it was killed.
    """
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder) as served:
            loaded = subscribed(served, workload)
            served.stop()
        for title, then in (("stopped", signal.SIGKILL), ("killed", signal.SIGTERM)):
            started = time.perf_counter()
            with serving(folder) as served:
                seconds = time.perf_counter() - started
                with served.connect() as connection:
                    event = json.dumps(workload.events(1)[0]).encode()
                    first = milliseconds(connection.publish, event)
                figures = {"ready_seconds": seconds, "first_event_ms": first}
                figures |= {"subscriptions": workload.rules, **loaded}
                figures["gib"] = bytes_of(served.process.pid) / 2**30
                results[f"{workload.rules:,}, {title}"] = figures
                served.stop(then)
            loaded = {}
    return results


if __name__ == "__main__":
    main()
