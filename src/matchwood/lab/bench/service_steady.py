"""Publishing at a steady rate: how long a publisher waits for its answer.

    python -m matchwood.lab.bench.service_steady [--subscriptions 100000] [--seconds 60]
        [--slow 200] [--fast 1000]

One process of `matchwood serve` on a SQLite file, which survives a loss of power, with the
subscriptions of the Audiences workload. Single events are due at fixed moments, whatever happened
to those before: `--slow` per second as soon as the subscriptions are uploaded, while the parts of
the index that the upload has left are merged (`at first`), then `--fast`, then `--slow` again.
64 connections send them. The time of an event is from the moment at which it was due until its
answer, so that waiting for a connection counts, too. `late` is how many were sent more than 10 ms
late, because all connections waited for answers or this program had no core.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
import time
from pathlib import Path

from matchwood.lab.bench.processes import bytes_of, processor_seconds_of
from matchwood.lab.bench.reporting import BenchOptions, Figures, report, spread
from matchwood.lab.bench.service import Served, serving, subscribed
from matchwood.lab.workloads.audiences import Audiences

# Connections that send events.
CONNECTIONS = 64
# Seconds after which an event counts as sent late.
LATE = 0.01
# Seconds at the same rate before times are taken.
WARMING = 2.0


def main() -> None:
    parser = BenchOptions(__doc__)
    parser.size("subscriptions", full=100_000, small=1_000)
    parser.size("seconds", full=60, small=2)
    parser.size("slow", full=200, small=50)
    parser.size("fast", full=1_000, small=100)
    options = parser.read()
    workload = Audiences(rules=options.subscriptions, seed=options.seed)
    events = [json.dumps(event).encode() for event in workload.events(10_000)]
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
        subscribed(served, workload)
        for rate, when in ((options.slow, ", at first"), (options.fast, ""), (options.slow, "")):
            published(served, events, rate, WARMING)
            figures = published(served, events, rate, options.seconds)
            results[f"{rate:,} per second{when}"] = figures
    common = {"workload": "Audiences", "subscriptions": options.subscriptions}
    report("service_steady", common, results)


def published(served: Served, events: list[bytes], rate: int, seconds: float) -> Figures:
    """Publish so many events a second for a time."""
    count = int(rate * seconds)
    numbers = itertools.count()
    times: list[float] = []
    late = 0
    worked = processor_seconds_of(served.process.pid)
    began = time.perf_counter() + 0.1

    def send() -> None:
        nonlocal late
        with served.connect() as connection:
            while (number := next(numbers)) < count:
                due = began + number / rate
                time.sleep(max(0.0, due - time.perf_counter()))
                late += time.perf_counter() - due > LATE
                connection.publish(events[number % len(events)])
                times.append((time.perf_counter() - due) * 1e3)

    threads = [threading.Thread(target=send) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.perf_counter() - began
    worked = processor_seconds_of(served.process.pid) - worked
    figures: Figures = {"events": len(times), "events_per_second": len(times) / taken}
    figures |= {**spread("answer", times), "answer_max_ms": max(times), "late": late}
    figures["processor_us_per_event"] = worked / len(times) * 1e6
    return figures | {"gib": bytes_of(served.process.pid) / 2**30}


if __name__ == "__main__":
    main()
