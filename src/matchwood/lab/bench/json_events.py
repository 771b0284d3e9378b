"""Events that come as JSON text: events per second of one core, single and in batches.

    python -m matchwood.lab.bench.json_events [--events 20000] [--rules 3000]

Texts are matched as they are (`match_json`, `match_json_batch`), beside `json.loads` and `match`,
and beside orjson and msgspec with `match` if they are installed. All answers are compared. Three
workloads: `lots` (five rules, and polygons that no rule asks for), `logs` (forty attributes, of
which rules ask for eleven) and `detections` (patterns over forty attributes of text). Rates are of
processor time, of the best of several rounds; a file of the lines, ten times over, goes through
`matchwood match` with output. The command meets each string once for the first time, which the
rounds of a batch do not: it is compared with those, and with a batch of the same lines that is the
first of its matcher. A last workload is the detections over processes of which none was seen
before.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.detections import Detections
from matchwood.lab.workloads.logs import Logs
from matchwood.lab.workloads.lots import Lots
from matchwood.matcher import Matcher

# How often everything is matched; the best time counts.
ROUNDS = 5

# How often a file is matched by the command, and its lines by a new matcher.
FIRST_ROUNDS = 2

# How often the lines stand in the file that the command matches.
REPEATED = 10


def main() -> None:
    parser = BenchOptions(__doc__).size("events", full=20_000, small=500)
    parser.size("rules", full=3_000, small=200)
    options = parser.read()
    workloads = {
        "lots": Lots(seed=options.seed),
        "logs": Logs(seed=options.seed),
        "detections": Detections(rules=options.rules, seed=options.seed),
    }
    results = {name: measure(made, options.events) for name, made in workloads.items()}
    unseen = Detections(rules=options.rules, seed=options.seed, recurring=False)
    results["detections, all new"] = measure_unseen(unseen, options.events)
    report("json_events", {"events": options.events}, results)


def measure(workload: Any, events: int) -> Figures:
    matcher = Matcher(enumerate(workload.texts()))
    texts = workload.json_texts(events)
    fresh = [bytes(bytearray(text)) for text in texts]
    answers = [sorted(matcher.match(json.loads(text))) for text in texts]
    assert [sorted(matcher.match_json(text)) for text in texts] == answers
    lines = b"\n".join(texts)
    assert _by_event(matcher.match_json_batch(lines), events) == answers
    batch = events / best(lambda: matcher.match_json_batch(lines))
    figures: Figures = {
        "rules": workload.rules,
        "bytes_per_event": len(lines) / events,
        "matches_per_event": sum(map(len, answers)) / events,
        "single_events_per_second": events / best(lambda: _each(matcher.match_json, fresh)),
        "batch_events_per_second": batch,
    }
    for name, loads in parsers():
        figures[f"{name}_and_match_events_per_second"] = events / best(
            partial(_each, partial(_read_and_match, matcher, loads), fresh), 1
        )
    repeated = b"\n".join([lines] * REPEATED)
    first = events * REPEATED / first_batch(workload.texts(), repeated)
    command = events * REPEATED / of_command(workload.texts(), repeated)
    return figures | {
        "first_batch_events_per_second": first,
        "command_events_per_second": command,
        "command_over_batch": batch / command,
        "command_over_first_batch": first / command,
    }


def measure_unseen(workload: Detections, events: int) -> Figures:
    """Events of strings that a matcher meets for the first time, of which it remembers nothing."""
    matcher = Matcher(enumerate(workload.texts()))
    texts = workload.json_texts(events)
    lines = b"\n".join(texts)
    answers = _by_event(matcher.match_json_batch(lines), events)
    assert answers == [sorted(matcher.match(json.loads(text))) for text in texts]
    return {
        "rules": workload.rules,
        "bytes_per_event": len(lines) / events,
        "matches_per_event": sum(map(len, answers)) / events,
        "first_batch_events_per_second": events / first_batch(workload.texts(), lines),
    }


def parsers() -> Iterator[tuple[str, Callable[[bytes], Any]]]:
    """The parsers that are installed."""
    yield "json", json.loads
    for name, path in (("orjson", "orjson.loads"), ("msgspec", "msgspec.json.decode")):
        try:
            module = importlib.import_module(path.rpartition(".")[0])
        except ImportError:
            continue
        yield name, getattr(module, path.rpartition(".")[2])


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of processor time of the best of several rounds."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def first_batch(rules: Sequence[str], lines: bytes) -> float:
    """Seconds that a batch takes a matcher that has seen nothing but the first line."""
    seconds = []
    for _ in range(FIRST_ROUNDS):
        matcher = Matcher(enumerate(rules))
        matcher.match_json_batch(lines.partition(b"\n")[0])
        seconds.append(best(partial(matcher.match_json_batch, lines), 1))
    return min(seconds)


def of_command(rules: Sequence[str], lines: bytes) -> float:
    """Seconds that `matchwood match` takes for a file of the lines, with its output written.

    The processor time of a run with one line, which is that of starting and of loading rules and
    kernels, is subtracted.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (json.dumps({"id": i, "rule": rule}) for i, rule in enumerate(rules))
        folder.joinpath("rules.jsonl").write_text("\n".join(rows))
        folder.joinpath("first.jsonl").write_bytes(lines.partition(b"\n")[0])
        folder.joinpath("all.jsonl").write_bytes(lines)
        of_first, of_all = (
            min(_run_command(folder, events) for _ in range(FIRST_ROUNDS))
            for events in ("first.jsonl", "all.jsonl")
        )
        return max(of_all - of_first, 1e-3)


def _run_command(folder: Path, events: str) -> float:
    """Processor time of `matchwood match` for a file."""
    started = _children_seconds()
    subprocess.run(
        [sys.executable, "-m", "matchwood.cli", "match", "rules.jsonl", events,
         "--output", "matches.jsonl"],
        cwd=folder, env=dict(os.environ), capture_output=True, check=True,
    )  # fmt: skip
    return _children_seconds() - started


def _children_seconds() -> float:
    """Processor time of the processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _read_and_match(matcher: Matcher, loads: Callable[[bytes], Any], text: bytes) -> object:
    return matcher.match(loads(text))


def _each(match: Callable[[bytes], object], texts: Sequence[bytes]) -> None:
    for text in texts:
        match(text)


def _by_event(table: Any, events: int) -> list[list[int]]:
    answers: list[list[int]] = [[] for _ in range(events)]
    pairs = zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True)
    for event, rule in pairs:
        answers[event].append(rule)
    return [sorted(rules) for rules in answers]


if __name__ == "__main__":
    main()
