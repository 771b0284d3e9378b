"""The service at work for minutes: many subscriptions, open streams, a publisher at full speed.

    python -m matchwood.lab.bench.soak [--subscriptions 100000] [--streams 200] [--seconds 120]
        [--retention 30] [--reopen 600] [--growth 100]

One process of `matchwood serve` on a SQLite file, with the subscriptions of the Audiences
workload, some of which another process follows on streams. A third process publishes batches of
100 events from two connections, each as soon as the last was accepted. An event holds the time at
which its batch was sent, from which each stream tells the delay; every accepted event must have
arrived exactly once on each stream whose rule it matches.

A stream ends after `--reopen` seconds, and is opened again with `Last-Event-ID`, as browsers do.
Apart from that nobody acknowledges events, and nobody follows most of the subscriptions: events
wait until they are `--retention` seconds old, and are then dropped. From then on memory should not
grow; for each quarter of the time the table has the memory of the process, the part of it that
waiting events take, and the size of the database. Growth of more than `--growth` MiB between the
first quarter and the last ends the program with an error, once the table is printed.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import tempfile
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import numpy as np

from matchwood.lab.bench.processes import bytes_of
from matchwood.lab.bench.reporting import BenchOptions, Figures, report, spread
from matchwood.lab.bench.service import BATCH, LINES, PIECE, Served, serving
from matchwood.lab.workloads.audiences import Audiences
from matchwood.matcher import Matcher

# Seconds that streams may take to deliver what is under way when publishing ends.
DRAIN = 30.0


def main() -> None:
    parser = BenchOptions(__doc__)
    parser.size("subscriptions", full=100_000, small=1_000)
    parser.size("streams", full=200, small=20)
    parser.size("seconds", full=120, small=3)
    parser.size("retention", full=30, small=30)
    parser.size("reopen", full=600, small=1)
    parser.size("growth", full=100, small=500)
    options = parser.read()
    workload = Audiences(rules=options.subscriptions, seed=options.seed)
    limit = {"MATCHWOOD_LIMITS_STREAMS": "5000", "MATCHWOOD_LIMITS_STREAMS_PER_KEY": "5000"}
    limit["MATCHWOOD_RETENTION"] = str(options.retention)
    limit["MATCHWOOD_STREAM_SECONDS"] = str(options.reopen)
    limit["MATCHWOOD_LOG_LEVEL"] = "error"  # it would warn of every dropped event
    with tempfile.TemporaryDirectory() as name, serving(Path(name), **limit) as served:
        followed = subscribe(served, workload, options.streams)
        memory = Memory(served, Path(name))
        figures = soak(served, workload, followed, options.seconds, memory)
    common = {"workload": "Audiences", "subscriptions": options.subscriptions}
    common |= {"streams": options.streams, "retention": options.retention}
    figures["growth_mib"] = growth = memory.growth()
    report("soak", common, {"soak": figures, **memory.samples})
    if growth > options.growth:
        raise SystemExit(f"memory grew by {growth:.0f} MiB from the first quarter to the last")


def subscribe(served: Served, workload: Audiences, streams: int) -> list[dict[str, Any]]:
    """Make all subscriptions; some of them, spread evenly, with their rules."""
    made: list[dict[str, Any]] = []
    with served.connect() as connection:
        for low in range(0, workload.rules, PIECE):
            rules = workload.texts(low, low + PIECE)
            lines = connection.subscribe(rules)
            made += [{**line, "rule": rule} for line, rule in zip(lines, rules, strict=True)]
    return made[:: max(1, len(made) // streams)][:streams]


class Memory:
    """The memory of a service, at several moments."""

    def __init__(self, served: Served, folder: Path) -> None:
        self._served = served
        self._folder = folder
        self.samples: dict[str, Figures] = {}

    def take(self, moment: str) -> None:
        with self._served.connect() as connection:
            status = json.loads(connection.ask("GET", "/status")[1])
        files = self._folder.glob("matchwood.db*")
        self.samples[moment] = {
            "gib": bytes_of(self._served.process.pid) / 2**30,
            "outbox_gib": status["outbox_bytes"] / 2**30,
            "events_waiting": status["events_waiting"],
            "database_gib": sum(path.stat().st_size for path in files) / 2**30,
        }

    def growth(self) -> float:
        """MiB by which the process has grown since the first quarter."""
        _, first, *_, last = self.samples.values()
        return 1024 * (float(last["gib"]) - float(first["gib"]))


def soak(
    served: Served,
    workload: Audiences,
    followed: list[dict[str, Any]],
    seconds: float,
    memory: Memory,
) -> Figures:
    connection, follower_connection = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    follower = context.Process(target=follow, args=(served.port, followed, follower_connection))
    follower.start()
    connection.recv()  # all streams are open
    memory.take("at the start")
    published = Published(served, workload.events(20_000))
    published.run(seconds, memory)
    expected = published.expected(
        {n: subscription["rule"] for n, subscription in enumerate(followed)}
    )
    connection.send(expected)
    arrived, times = connection.recv()
    follower.join()
    if arrived != expected:
        raise SystemExit(f"{expected} deliveries were due, and {arrived} came")
    return {
        "seconds": published.seconds,
        "events": published.accepted,
        "events_per_second": published.accepted / published.seconds,
        "matches_per_event": published.matched / published.accepted,
        "deliveries": arrived,
        **spread("delivery", times),
    }


class Published:
    """What was published, and how often each event."""

    def __init__(self, served: Served, events: list[dict[str, Any]]) -> None:
        self._served = served
        self._events = events
        self._bodies = [json.dumps(event)[:-1].encode() for event in events]
        self._times: Counter[int] = Counter()
        self._lock = threading.Lock()
        self.accepted = self.matched = 0
        self.seconds = 0.0

    def run(self, seconds: float, memory: Memory) -> None:
        started = time.perf_counter()
        threads = [
            threading.Thread(target=self._publish, args=(first, started + seconds))
            for first in (0, len(self._events) // 2)
        ]
        for thread in threads:
            thread.start()
        for quarter in (1, 2, 3, 4):
            time.sleep(max(0.0, started + seconds * quarter / 4 - time.perf_counter()))
            memory.take(f"at {seconds * quarter / 4:g} s")
        for thread in threads:
            thread.join()
        self.seconds = time.perf_counter() - started

    def _publish(self, position: int, until: float) -> None:
        with self._served.connect() as connection:
            while time.perf_counter() < until:
                chosen = [(position + n) % len(self._events) for n in range(BATCH)]
                position += BATCH
                sent = f',"sent":{time.time():.6f}}}'.encode()
                body = b"\n".join(self._bodies[n] + sent for n in chosen)
                results = connection.publish(body, LINES)["results"]
                with self._lock:
                    self._times.update(chosen)
                    self.accepted += len(results)
                    self.matched += sum(result["matched"] for result in results)

    def expected(self, rules: dict[int, str]) -> int:
        """How many deliveries there are for these rules."""
        matches = Matcher(rules).match_batch(self._events)
        counts = np.array([self._times[n] for n in range(len(self._events))])
        return int(counts[matches["event"].to_numpy()].sum())


def follow(port: int, subscriptions: list[dict[str, Any]], pipe: Pipe) -> None:
    """Follow all streams until all deliveries that are due have come, or `DRAIN` is over.

    Runs in a process of its own.
    """
    asyncio.run(_follow(port, subscriptions, pipe))


async def _follow(port: int, subscriptions: list[dict[str, Any]], pipe: Pipe) -> None:
    times: list[float] = []
    seen: set[tuple[str, int]] = set()
    opened = asyncio.Semaphore(0)

    async def follow_stream(subscription: dict[str, Any]) -> None:
        last: int | None = None
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
            path = f"/subscriptions/{subscription['id']}/stream"
            lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
            lines += [] if last is None else [f"Last-Event-ID: {last}"]
            lines += [f"Authorization: Bearer {subscription['ticket']}", "", ""]
            writer.write("\r\n".join(lines).encode())
            while line := await reader.readline():
                if line.startswith(b"retry:"):
                    opened.release()
                if line.startswith(b"data: "):
                    now = time.time()
                    message = json.loads(line[6:])
                    last = message["id"]
                    if (subscription["id"], last) in seen:
                        raise SystemExit(f"{subscription['id']} was sent event {last} twice")
                    seen.add((subscription["id"], last))
                    times.append((now - message["event"]["sent"]) * 1e3)
            writer.close()

    tasks = [asyncio.create_task(follow_stream(subscription)) for subscription in subscriptions]
    for _ in subscriptions:
        await opened.acquire()
    pipe.send("open")
    expected = await asyncio.to_thread(pipe.recv)
    until = time.monotonic() + DRAIN
    while len(seen) < expected and time.monotonic() < until:
        await asyncio.sleep(0.1)
    pipe.send((len(seen), times))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    main()
