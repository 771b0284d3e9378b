"""`POST /match`: events per second, by one process and by workers, beside another version.

    python -m matchwood.lab.bench.service_match [--rules 100000] [--requests 4000] [--workers 2]
        [--other FOLDER]

One process of `matchwood serve` on a SQLite file with the rules of the Audiences workload. Four
connections ask for the matches of single events, and then of batches of 100, for ten of them each
(`limit`), so that what is measured is matching rather than writing long answers. Then workers
beside the service are asked the same.

`--other` is the folder `src` of another checkout, whose service is asked in turn with this one, by
the same program in the same run: `ratio` is the processor time of the other one per event, divided
by that of this one. The answers of both must have the same matches.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from matchwood.lab.bench.processes import bytes_of, family, processor_seconds_of
from matchwood.lab.bench.reporting import BenchOptions, Figures, report, spread
from matchwood.lab.bench.service import LINES, Connection, Served, serving
from matchwood.lab.workloads.audiences import Audiences

# Connections that ask at the same time.
CONNECTIONS = 4
# Events per request, where they are matched in batches.
BATCH = 100
# The most matches that are listed per event.
LIMIT = 10
# Answers in a row, on connections of their own, after which all workers are taken to be ready.
READY_ANSWERS = 50
# Rounds in which versions are asked in turn.
ROUNDS = 5


def main() -> None:
    parser = BenchOptions(__doc__)
    parser.size("rules", full=100_000, small=1_000)
    parser.size("requests", full=4_000, small=100)
    parser.size("workers", full=2, small=2)
    parser.add_argument("--other", type=Path, help="the folder src of another checkout")
    options = parser.read()
    workload = Audiences(rules=options.rules, seed=options.seed)
    events = workload.events(2_000)
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name, "this")) as served:
            load(served, workload)
            if options.other is None:
                results |= compared([served], events, options.requests)
            else:
                path = {"PYTHONPATH": str(options.other.resolve())}
                with serving(Path(name, "other"), **path) as other:
                    load(other, workload)
                    results |= compared([served, other], events, options.requests)
        workers = {"MATCHWOOD_WORKERS": str(options.workers)}
        with serving(Path(name, "this"), **workers) as served:
            results |= by_workers(served, events, options.requests, options.workers)
    common = {"workload": "Audiences", "rules": options.rules}
    report("service_match", common, results)


def load(served: Served, workload: Audiences) -> None:
    """Set the rules, and match until matching is as fast as it will be."""
    rules = workload.texts(0, workload.rules)
    lines = (json.dumps({"id": str(n), "rule": rule}) for n, rule in enumerate(rules))
    with served.connect() as connection:
        status, answer = connection.ask("PUT", "/rules", "\n".join(lines).encode(), LINES)
    if status != 200:
        raise SystemExit(f"setting the rules was answered {status}: {answer.decode()}")


def bodies(events: list[dict[str, Any]], batch: int) -> list[bytes]:
    """Requests with so many events each."""
    if batch == 1:
        return [json.dumps({"event": event, "limit": LIMIT}).encode() for event in events]
    pieces = (events[low : low + batch] for low in range(0, len(events), batch))
    return [json.dumps({"events": piece, "limit": LIMIT}).encode() for piece in pieces]


def compared(
    versions: list[Served], events: list[dict[str, Any]], requests: int
) -> dict[str, Figures]:
    """What each version takes, in turn."""
    results: dict[str, Figures] = {}
    for title, batch in (("single events", 1), ("batches of 100", BATCH)):
        sent = bodies(events, batch)
        count = max(CONNECTIONS, requests // ROUNDS // (10 if batch > 1 else 1))
        check_same(versions, sent[0])
        for served in versions:
            asked(served.port, sent, count)  # to warm up
        measured: list[list[Figures]] = [[] for _ in versions]
        for _ in range(ROUNDS):
            for served, figures in zip(versions, measured, strict=True):
                before = processor_seconds_of(served.process.pid)
                figures.append(asked(served.port, sent, count))
                worked = processor_seconds_of(served.process.pid) - before
                figures[-1]["processor_us_per_event"] = worked / count / batch * 1e6
        for number, figures in enumerate(measured):
            results[title if number == 0 else f"{title}, other"] = {
                name: sorted(one[name] for one in figures)[len(figures) // 2] for name in figures[0]
            }
        if len(versions) > 1:
            took = (results[f"{title}, other"], results[title])
            ours, theirs = (one["processor_us_per_event"] for one in reversed(took))
            results[title]["ratio"] = theirs / ours
    return results


def check_same(versions: list[Served], body: bytes) -> None:
    """End with an error unless all versions find the same matches."""
    found = []
    for served in versions:
        with served.connect() as connection:
            answer = json.loads(connection.ask("POST", "/match", body)[1])
        matches = [len(result["matches"]) for result in answer["results"]]
        found.append(matches)
    if any(matches != found[0] for matches in found):
        raise SystemExit(f"the versions differ in what they match: {found}")


def asked(port: int, sent: list[bytes], count: int) -> Figures:
    """Ask over several connections at the same time."""
    times: list[float] = []

    def ask(first: int) -> None:
        with Connection(port) as connection:
            for number in range(first, count, CONNECTIONS):
                began = time.perf_counter()
                status, answer = connection.ask("POST", "/match", sent[number % len(sent)])
                times.append((time.perf_counter() - began) * 1e3)
                if status != 200:
                    raise SystemExit(f"matching was answered {status}: {answer.decode()}")

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(CONNECTIONS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if len(times) < count:
        raise SystemExit(f"{count} requests were due, {len(times)} were answered")
    return {"requests_per_second": count / seconds, **spread("answer", times)}


def by_workers(
    served: Served, events: list[dict[str, Any]], requests: int, workers: int
) -> dict[str, Figures]:
    """Ask the workers beside a service, once they have its rules."""
    with served.connect() as connection:
        version = json.loads(connection.ask("GET", "/status")[1])["rules_version"]
    until = time.monotonic() + 120
    ready = 0
    while ready < READY_ANSWERS and time.monotonic() < until:
        if has_version(served.port + 1, version):
            ready += 1
        else:
            ready = 0
            time.sleep(0.1)
    sent = bodies(events, 1)
    asked(served.port + 1, sent, max(CONNECTIONS, requests // 10))
    figures = asked(served.port + 1, sent, requests)
    own = [process for process, _ in family(served.process.pid) if process != served.process.pid]
    figures["gib_of_workers"] = sum(map(bytes_of, own)) / 2**30
    return {f"single events, {workers} workers": figures}


def has_version(port: int, version: int) -> bool:
    try:
        with Connection(port) as connection:
            status, answer = connection.ask("GET", "/status")
    except OSError:
        return False
    return status == 200 and json.loads(answer)["rules_version"] == version


if __name__ == "__main__":
    main()
