"""Detections over logs of endpoints: events per second of one core, by how they come.

    python -m matchwood.lab.bench.endpoint_logs [--events 20000] [--rules 3600] [--rsigma]

The workload is shaped like the public rules for Windows: lists of patterns over paths and command
lines, a tenth of the rules with something left out by `is not true`, and events of 40 to 200
attributes. It is matched as dicts in batches, as dicts one by one, also by a matcher with aliases
that no event uses, as Arrow columns, and as JSON lines. A quarter of the events, which are not
timed, warms caches up; all others are new. Rates are of processor time. All ways must find the same
matches, and for some events those that `evaluate` finds. The time to check the rules is that of
`matchwood check` with a sample of events.

With `--rsigma`, the crate rsigma-eval matches the same events with the same rules as detections of
Sigma, as objects one by one; cargo builds it. `wrong_answers` counts its pairs of an event and a
rule that `evaluate` answers otherwise, among the same events.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.check import check_rules
from matchwood.lab.bench.peers.driver_builds import built
from matchwood.lab.bench.peers.syntaxes.sigma_rules import sigma_lists
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.endpoint_logs import KINDS, EndpointLogs
from matchwood.language import evaluate, parse
from matchwood.matcher import Matcher

# Events of a batch.
BATCH = 4_096

# The share of events that warm up.
WARM = 4

# Events that rules are checked against.
SAMPLE = 500

# Events of which `evaluate` is asked, too.
EVALUATED = 10

# Seconds for which rsigma-eval matches the events that are timed.
SECONDS = 60

# Names that no event has.
ALIASES = {name: [f"Event.EventData.{name}"] for _, names in KINDS.values() for name in names}


def main() -> None:
    parser = BenchOptions(__doc__).size("events", full=20_000, small=400)
    parser.size("rules", full=3_600, small=150)
    parser.add_argument("--rsigma", action="store_true", help="beside rsigma-eval")
    options = parser.read()
    workload = EndpointLogs(rules=options.rules, seed=options.seed)
    events = workload.events(options.events)
    results = {"matching": measure(workload, events), "rules": of_rules(workload, events)}
    if options.rsigma:
        results["rsigma-eval"] = of_rsigma(workload, _warm_and_timed(events)[1])
    report("endpoint_logs", {"events": options.events, "rules": options.rules}, results)


def measure(workload: EndpointLogs, events: list[dict[str, Any]]) -> Figures:
    """Events per second, by how they come."""
    rules = list(enumerate(workload.texts()))
    pieces = _warm_and_timed(events)
    lines = [b"\n".join(json.dumps(event).encode() for event in piece) for piece in pieces]
    ways: dict[str, tuple[Callable[[Matcher, Any], int], list[Any]]] = {
        "dicts_in_batches": (_in_batches, pieces),
        "dicts_one_by_one": (_one_by_one, pieces),
        "dicts_one_by_one_with_aliases": (_one_by_one, pieces),
        "arrow": (lambda m, table: m.match_batch(table).num_rows, list(map(_table, pieces))),
        "json_lines": (lambda m, text: m.match_json_batch(text).num_rows, lines),
    }
    figures: Figures = {
        "attributes_per_event": sum(map(len, events)) / len(events),
        "bytes_per_event": sum(map(len, lines)) / len(events),
    }
    found: dict[str, int] = {}
    for name, (match, (warm, timed)) in ways.items():
        matcher = Matcher(rules, aliases=ALIASES if name.endswith("aliases") else None)
        match(matcher, warm)
        started = time.process_time()
        found[name] = match(matcher, timed)
        seconds = max(time.process_time() - started, 1e-9)
        figures[f"{name}_events_per_second"] = len(pieces[1]) / seconds
    assert len(set(found.values())) == 1, found
    check_some(workload, pieces[1])
    figures["matches_per_event"] = found["arrow"] / len(pieces[1])
    return figures


def check_some(workload: EndpointLogs, events: list[dict[str, Any]]) -> None:
    """Every way finds what `evaluate` does, of some events, half of which some rule matches."""
    rules = list(enumerate(workload.texts()))
    plain, aliased = Matcher(rules), Matcher(rules, aliases=ALIASES)
    matched = (event for event in events if plain.count(event))
    events = [*events[:EVALUATED], *islice(matched, EVALUATED)]
    right = answers(workload, events)
    lines = b"\n".join(json.dumps(event).encode() for event in events)
    assert [set(plain.match(event)) for event in events] == right
    assert [set(aliased.match(event)) for event in events] == right
    for table in (
        plain.match_batch(events),
        plain.match_batch(_table(events)),
        plain.match_json_batch(lines),
    ):
        found: list[set[int]] = [set() for _ in events]
        for row in table.to_pylist():
            found[row["event"]].add(row["rule_id"])
        assert found == right


def answers(workload: EndpointLogs, events: list[dict[str, Any]]) -> list[set[int]]:
    """The numbers of the rules that are true of each event."""
    trees = list(map(parse, workload.texts()))
    return [{i for i, tree in enumerate(trees) if evaluate(tree, e) is True} for e in events]


def of_rsigma(workload: EndpointLogs, events: list[dict[str, Any]]) -> Figures:
    """rsigma-eval on the same events, with the rules as detections."""
    command, folder = built("rsigma_eval")
    rules = [(str(i), sigma_lists(i, parse(text))) for i, text in enumerate(workload.texts())]
    with tempfile.TemporaryDirectory() as name:
        job, lines, found = (Path(name, file) for file in ("job", "events", "answers"))
        job.write_text(json.dumps({"rules": rules}))
        lines.write_text("".join(json.dumps(event) + "\n" for event in events))
        arguments = map(str, (job, lines, found, SECONDS))
        done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, check=True)
        answered = found.read_text().split("\n")[:EVALUATED]
    right = answers(workload, events[:EVALUATED])
    wrong = sum(
        len(numbers ^ set(map(int, line.split())))
        for numbers, line in zip(right, answered, strict=True)
    )
    figures: Figures = json.loads(done.stdout)
    return figures | {"answers_checked": len(right) * len(rules), "wrong_answers": wrong}


def _one_by_one(matcher: Matcher, events: Sequence[dict[str, Any]]) -> int:
    return sum(map(matcher.count, events))


def _warm_and_timed(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The events that warm up, and those that are timed."""
    warm = len(events) // WARM
    return [events[:warm], events[warm:]]


def _in_batches(matcher: Matcher, events: Sequence[dict[str, Any]]) -> int:
    batches = (events[low : low + BATCH] for low in range(0, len(events), BATCH))
    return sum(matcher.match_batch(batch).num_rows for batch in batches)


def _table(events: Sequence[dict[str, Any]]) -> Any:
    names = dict.fromkeys(name for event in events for name in event)
    return pa.table({name: [event.get(name) for event in events] for name in names})


def of_rules(workload: EndpointLogs, events: list[dict[str, Any]]) -> Figures:
    """What it takes to build the rules, and to check them against a sample."""
    texts = workload.texts()
    started = time.process_time()
    matcher = Matcher(enumerate(texts))
    built = time.process_time() - started
    [part] = matcher.store.snapshot.parts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (json.dumps({"id": i, "rule": text}) for i, text in enumerate(texts))
        folder.joinpath("rules.jsonl").write_text("\n".join(rows))
        sample = (json.dumps(event) for event in events[:SAMPLE])
        folder.joinpath("sample.jsonl").write_text("\n".join(sample))
        started = time.process_time()
        checked = check_rules([folder / "rules.jsonl"], events=folder / "sample.jsonl")
        seconds = time.process_time() - started
    return {
        "predicates": matcher.stats().predicates,
        "evaluated_on_demand": len(part.segment.lazy),
        "build_seconds": built,
        "check_seconds": seconds,
        "check_warnings": checked.warnings,
    }


if __name__ == "__main__":
    main()
