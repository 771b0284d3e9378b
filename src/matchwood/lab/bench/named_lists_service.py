"""`named_lists` in the service: a list is set while others ask for matches."""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from matchwood.lab.bench.listed_addresses import (
    NAME,
    Answers,
    addresses,
    answers_of,
    events_of,
    expected,
    rules_of,
)
from matchwood.lab.bench.processes import bytes_of
from matchwood.lab.bench.reporting import Figures
from matchwood.lab.bench.service import LINES, Served, serving

# Seconds between two questions while a list is set.
PAUSE = 0.05
# The least seconds between two looks at the memory, which take milliseconds of a large process.
LOOK = 0.5


def in_service(values: int, rules: int, events: int, seed: int) -> dict[str, Figures]:
    """Set two lists, one after the other, and start again from the database."""
    source = random.Random(seed)
    texts = rules_of(rules, source)
    answers = answers_of(texts)
    asked = events_of(events, values, source)
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder) as served:
            _put(served, f"/lists/{NAME}", b"1", "text/plain")
            lines = (json.dumps({"id": str(n), "rule": text}) for n, text in texts.items())
            _put(served, "/rules", "\n".join(lines).encode(), LINES)
            for number, title in enumerate(("first list", "second list")):
                body = "\n".join(addresses(number, values)).encode()
                results[title] = _set_while_matching(served, body, asked)
                del body
                _check(served, asked, number, answers)
            results["read"] = _read(served, values)
            served.stop()
        started = time.perf_counter()
        with serving(folder) as served:
            results["started again"] = {"ready_s": time.perf_counter() - started}
            _check(served, asked, 1, answers)
            results["started again"]["gib"] = bytes_of(served.process.pid) / 2**30
    return results


def _put(served: Served, path: str, body: bytes, kind: str) -> None:
    with served.connect() as connection:
        status, answer = connection.ask("PUT", path, body, kind)
    if status not in (200, 201):
        raise SystemExit(f"PUT {path} was answered {status}: {answer.decode()[:500]}")


def _set_while_matching(served: Served, body: bytes, asked: list[dict[str, Any]]) -> Figures:
    """Set the list, and meanwhile ask for matches and look at the memory of the service."""
    ended = threading.Event()
    waits: list[float] = []
    most = 0

    def ask() -> None:
        nonlocal most
        looked = 0.0
        with served.connect() as connection:
            for event in asked * 1_000:
                if ended.wait(PAUSE):
                    return
                began = time.perf_counter()
                connection.ask("POST", "/match", json.dumps({"event": event}).encode())
                waits.append(time.perf_counter() - began)
                if time.perf_counter() > looked + LOOK:
                    most, looked = max(most, bytes_of(served.process.pid)), time.perf_counter()

    thread = threading.Thread(target=ask)
    thread.start()
    started = time.perf_counter()
    try:
        _put(served, f"/lists/{NAME}", body, "text/plain")
        seconds = time.perf_counter() - started
    finally:
        ended.set()
        thread.join()
    waits = sorted(waits) or [0.0]
    return {
        "set_s": seconds,
        "match_p50_ms": waits[len(waits) // 2] * 1e3,
        "match_max_ms": waits[-1] * 1e3,
        "gib": bytes_of(served.process.pid) / 2**30,
        "peak_gib": most / 2**30,
    }


def _check(served: Served, asked: list[dict[str, Any]], number: int, answers: Answers) -> None:
    """End with an error unless all answers are those of the list of this number."""
    body = json.dumps({"events": asked}).encode()
    with served.connect() as connection:
        status, answer = connection.ask("POST", "/match", body)
    if status != 200:
        raise SystemExit(f"matching was answered {status}: {answer.decode()[:500]}")
    for event, result in zip(asked, json.loads(answer)["results"], strict=True):
        found = {int(match["id"]) for match in result["matches"]}
        assert found == expected(event, number, answers), event


def _read(served: Served, values: int) -> Figures:
    """Read the list back."""
    started = time.perf_counter()
    with served.connect() as connection:
        status, answer = connection.ask("GET", f"/lists/{NAME}")
    if status != 200:
        raise SystemExit(f"reading the list was answered {status}")
    seconds = time.perf_counter() - started
    assert answer.count(b'"') > 2 * values, "values are missing"
    return {"read_s": seconds, "read_mib": len(answer) / 2**20}
