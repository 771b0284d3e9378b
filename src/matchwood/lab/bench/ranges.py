"""Conjunctions of wide ranges, where no single predicate is selective.

    python -m matchwood.lab.bench.ranges [--rules 1000000] [--events 2048]

`sparse`: a rule has five of 100 attributes, an event has 20. `dense`: a rule has ten of 20
attributes, an event has all of them.
"""

from __future__ import annotations

import time

import numpy as np

from matchwood.lab.bench.kernel import let_learn, table_of_events, warm_up
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.matcher import Matcher

# Events that are matched one by one.
SINGLES = 200

# How often the whole batch is matched.
BATCHES = 3

# The settings of `HalfRanges` for each result: many attributes and few ranges per rule, and the
# opposite.
SETTINGS: dict[str, dict[str, int]] = {
    "sparse": {"attributes": 100, "predicates": 5, "event_attributes": 20},
    "dense": {"attributes": 20, "predicates": 10, "event_attributes": 20},
}


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=10_000)
    parser.size("events", full=2048, small=512)
    options = parser.read()
    warm_up()
    results = {}
    for name, setting in SETTINGS.items():
        workload = HalfRanges(rules=options.rules, seed=options.seed, **setting)
        results[name] = measure(workload, options.events)
    common = {"workload": "HalfRanges", "rules": options.rules, "events": options.events}
    report("ranges", common, results)


def measure(workload: HalfRanges, count: int) -> Figures:
    texts = workload.texts()
    started = time.perf_counter()
    matcher = Matcher(enumerate(texts))
    seconds = time.perf_counter() - started
    events = workload.events(count)
    table = table_of_events(events)
    for _ in range(2):  # the matcher learns what single matches and sweeps take
        matches = matcher.match_batch(table).num_rows
    check(matcher, workload, events)
    let_learn(matcher, events)
    singles, batches = [], []
    for turn in range(BATCHES):
        batches.append(milliseconds(matcher.match_batch, table) / len(events))
        singles += [milliseconds(matcher.match, event) for event in events[turn:SINGLES:BATCHES]]
    return {
        "build_seconds": seconds,
        "bytes_per_rule": matcher.stats().bytes_per_rule,
        "matches_per_event": matches / len(events),
        "match_p50_ms": np.median(singles),
        "match_p99_ms": np.percentile(singles, 99),
        "match_batch_ms": np.median(batches),
    }


def check(matcher: Matcher, workload: HalfRanges, events: list[dict[str, int]]) -> None:
    """Check that single matches and batches agree."""
    sample = events[:20]
    pairs = matcher.match_batch(table_of_events(sample)).to_pydict()
    batch = sorted(zip(pairs["event"], pairs["rule_id"], strict=True))
    singles = sorted((i, rule) for i, event in enumerate(sample) for rule in matcher.match(event))
    if batch != singles:
        raise AssertionError(f"single matches and batches disagree on {workload}")


if __name__ == "__main__":
    main()
