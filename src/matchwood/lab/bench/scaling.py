"""How the time of a match grows with the number of rules, on ABE-Gen.

    python -m matchwood.lab.bench.scaling [--max 3000000] [--events 512]

The smallest matcher is kept and timed again in turn with each larger one, so that both figures of a
ratio are measured at the same time. An event's matches grow with the number of rules, and so does
what has to be written.
"""

from __future__ import annotations

import gc
import time

import numpy as np

from matchwood.lab.bench.kernel import Kernel, warm_up
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.matcher import Matcher

# The numbers of rules that are measured.
RULES = (100_000, 300_000, 1_000_000, 3_000_000)

# Events that one matcher is timed with before it is the other one's turn.
TURN = 16

Event = dict[str, int]


def main() -> None:
    parser = BenchOptions(__doc__).size("max", full=RULES[-1], small=10_000)
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
    return matcher, {"build_seconds": seconds, "bytes_per_rule": matcher.stats().bytes_per_rule}


def measure(matcher: Matcher, smallest: Matcher, events: list[Event]) -> Figures:
    kernel, beside = Kernel(matcher), Kernel(smallest)
    coded = [kernel.coded(event) for event in events]
    coded_beside = [beside.coded(event) for event in events]
    counts = [len(kernel.match(event_codes)) for event_codes in coded]
    beside_times, kernels, matches = [], [], []
    for first in range(0, len(events), TURN):
        turn = slice(first, first + TURN)
        beside_times += [
            milliseconds(beside.match, event_codes) for event_codes in coded_beside[turn]
        ]
        kernels += [milliseconds(kernel.match, event_codes) for event_codes in coded[turn]]
        matches += [milliseconds(matcher.match, event) for event in events[turn]]
    return {
        "matches_per_event": float(np.mean(counts)),
        "kernel_p50_ms": np.median(kernels),
        "match_p50_ms": np.median(matches),
        "smallest_beside_p50_ms": np.median(beside_times),
        "over_smallest": np.median(kernels) / np.median(beside_times),
        "kernel_ns_per_match": 1e6 * np.mean(kernels) / max(1.0, float(np.mean(counts))),
        "match_ns_per_match": 1e6 * np.mean(matches) / max(1.0, float(np.mean(counts))),
    }


if __name__ == "__main__":
    main()
