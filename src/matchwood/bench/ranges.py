"""Conjunctions of wide ranges, where no single predicate is selective.

    python -m matchwood.bench.ranges [--rules 1000000] [--events 2048]

`sparse`: five of 100 attributes a rule, 20 in an event. `dense`: ten of 20 attributes a rule, all
of them in an event. Beside them, what public C++ code takes; those are not measured here but given,
for this kind of machine and one million rules.
"""

from __future__ import annotations

import time

import numpy as np

from matchwood.bench.kernel import let_learn, table_of_events, warm_up
from matchwood.bench.report import Figures, Options, milliseconds, report
from matchwood.engine import Matcher
from matchwood.workloads.conjunctions import HalfRanges

SINGLES = 200
BATCHES = 3
SETTINGS: dict[str, dict[str, int]] = {
    "sparse": {"attributes": 100, "predicates": 5, "event_attributes": 20},
    "dense": {"attributes": 20, "predicates": 10, "event_attributes": 20},
}
# Milliseconds an event at one million rules, as given for this kind of machine. TAMA's answers
# are approximate.
GIVEN: dict[str, dict[str, float]] = {
    "sparse": {"TAMA, approximate": 3.2, "OpIndex": 3.9},
    "dense": {"TAMA, approximate": 5.6, "REIN": 11.8, "OpIndex": 45.8},
}


def main() -> None:
    parser = Options(__doc__).size("rules", full=1_000_000, small=10_000)
    parser.size("events", full=2048, small=512)
    options = parser.read()
    warm_up()
    results = {}
    for name, setting in SETTINGS.items():
        workload = HalfRanges(rules=options.rules, seed=options.seed, **setting)
        results[name] = measure(workload, options.events)
        for other, given in GIVEN[name].items():
            results[name][f"{other} (given, 1M rules) ms"] = given
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
        found = matcher.match_batch(table).num_rows
    check(matcher, workload, events)
    let_learn(matcher, events)
    singles, batches = [], []
    for turn in range(BATCHES):
        batches.append(milliseconds(matcher.match_batch, table) / len(events))
        singles += [milliseconds(matcher.match, event) for event in events[turn:SINGLES:BATCHES]]
    return {
        "build_seconds": seconds,
        "bytes_a_rule": matcher.stats().bytes_a_rule,
        "matches_an_event": found / len(events),
        "match_p50_ms": np.median(singles),
        "match_p99_ms": np.percentile(singles, 99),
        "match_batch_ms": np.median(batches),
    }


def check(matcher: Matcher, workload: HalfRanges, events: list[dict[str, int]]) -> None:
    """Single matches and batches agree."""
    some = events[:20]
    pairs = matcher.match_batch(table_of_events(some)).to_pydict()
    batch = sorted(zip(pairs["event"], pairs["rule_id"], strict=True))
    singles = sorted((i, rule) for i, event in enumerate(some) for rule in matcher.match(event))
    if batch != singles:
        raise AssertionError(f"single matches and batches disagree on {workload}")


if __name__ == "__main__":
    main()
