"""Rules about text: events per second, and candidates tried per event.

    python -m matchwood.lab.bench.strings [--rules 100000] [--events 20000]

`like`, `ilike`, `contains` and `endswith` over ten attributes of processes that start, in an Arrow
table, on one core. A candidate is a predicate that is compared with a value; distinct values of a
column are compared once.
"""

from __future__ import annotations

import time

import numpy as np

from matchwood.lab.bench.kernel import table_of_events
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report
from matchwood.lab.workloads.string_rules import StringRules
from matchwood.matcher import Matcher

# How often the whole batch is matched; the median time counts.
BATCHES = 5


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=100_000, small=2_000)
    parser.size("events", full=20_000, small=2_000)
    options = parser.read()
    measure(500, 500, seed=7)  # compiles, or loads from the cache
    figures = measure(options.rules, options.events, options.seed)
    common = {"workload": "StringRules", "rules": options.rules, "events": options.events}
    report("strings", common, {"match_batch": figures})


def measure(rules: int, events: int, seed: int) -> Figures:
    workload = StringRules(rules=rules, seed=seed)
    texts = workload.texts()
    started = time.perf_counter()
    matcher = Matcher(enumerate(texts))
    build_seconds = time.perf_counter() - started
    views = workload.events(events)
    table = table_of_events(views)
    first_ms = milliseconds(matcher.match_batch, table.slice(0, 1))
    (part,) = matcher.store.snapshot.parts
    patterns = part.matcher.patterns.values()
    tried, asked = sum(p.tried for p in patterns), sum(p.calls for p in patterns)
    matches = matcher.match_batch(table).num_rows
    tried, asked = sum(p.tried for p in patterns) - tried, sum(p.calls for p in patterns) - asked
    times = [milliseconds(matcher.match_batch, table) for _ in range(BATCHES)]
    singles = [milliseconds(matcher.match, view) for view in views[:1000]]
    return {
        "build_seconds": build_seconds,
        "first_event_ms": first_ms,
        "events_per_second": len(views) / np.median(times) * 1e3,
        "values_asked_per_event": asked / len(views),
        "candidates_per_event": tried / len(views),
        "matches_per_event": matches / len(views),
        "match_p50_ms": np.median(singles),
    }


if __name__ == "__main__":
    main()
