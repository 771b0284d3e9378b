"""How the time of a match grows with the number of rules, on ABE-Gen.

    python -m matchwood.bench.scaling [--max 3000000] [--events 512]

The smallest matcher is kept, and timed again among the matches of each larger one, so that a ratio
is of figures taken at the same time. The matches of an event grow with the rules, and with them
what is written.
"""

from __future__ import annotations

import gc
import time

import numpy as np

from matchwood.bench.kernel import Kernel, warm_up
from matchwood.bench.report import Figures, Options, milliseconds, report
from matchwood.engine import Matcher
from matchwood.workloads.abe_gen import AbeGen

RULES = (100_000, 300_000, 1_000_000, 3_000_000)
TURN = 16  # events before the other matcher's turn

Event = dict[str, int]


def main() -> None:
    parser = Options(__doc__).size("max", full=RULES[-1], small=10_000)
    parser.size("events", full=512, small=64)
    options = parser.read()
    sizes = [rules for rules in RULES if rules <= options.max]
    if not sizes:  # as many steps, with the largest at most that large
        sizes = [max(1, rules * options.max // RULES[-1]) for rules in RULES]
    warm_up()
    results: dict[str, Figures] = {}
    smallest: Matcher | None = None
    for rules in sizes:
        workload = AbeGen(rules=rules, seed=options.seed)
        matcher, figures = build(workload.texts())
        smallest = smallest or matcher
        figures |= measure(matcher, smallest, workload.events(options.events))
        results[f"{rules:,}"] = figures
        del matcher
        gc.collect()
    report("scaling", {"workload": "ABE-Gen", "events": options.events}, results)


def build(texts: list[str]) -> tuple[Matcher, Figures]:
    started = time.perf_counter()
    matcher = Matcher(enumerate(texts))
    seconds = time.perf_counter() - started
    return matcher, {"build_seconds": seconds, "bytes_a_rule": matcher.stats().bytes_a_rule}


def measure(matcher: Matcher, smallest: Matcher, events: list[Event]) -> Figures:
    kernel, beside = Kernel(matcher), Kernel(smallest)
    coded = [kernel.coded(event) for event in events]
    coded_beside = [beside.coded(event) for event in events]
    found = [len(kernel.match(one)) for one in coded]
    beside_times, kernels, matches = [], [], []
    for first in range(0, len(events), TURN):
        turn = slice(first, first + TURN)
        beside_times += [milliseconds(beside.match, one) for one in coded_beside[turn]]
        kernels += [milliseconds(kernel.match, one) for one in coded[turn]]
        matches += [milliseconds(matcher.match, event) for event in events[turn]]
    return {
        "matches_an_event": float(np.mean(found)),
        "kernel_p50_ms": np.median(kernels),
        "match_p50_ms": np.median(matches),
        "smallest_beside_p50_ms": np.median(beside_times),
        "over_smallest": np.median(kernels) / np.median(beside_times),
        "kernel_ns_a_match": 1e6 * np.mean(kernels) / max(1.0, float(np.mean(found))),
        "match_ns_a_match": 1e6 * np.mean(matches) / max(1.0, float(np.mean(found))),
    }


if __name__ == "__main__":
    main()
