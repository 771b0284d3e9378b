"""The engine on ABE-Gen: build, memory, single matches, batches, and a compiled Scan beside them.

    python -m matchwood.lab.bench.engine [--rules 1000000] [--events 2048] [--distribution both]

Machines are noisy, so the Scan is timed in turn with the matches that it is compared with: one
scan, then a few events through the kernel, then the same events through `match` and through
`match_ids`, and so on; for batches, one scan before and one after each sweep. A scan empties the
caches, hence a few events per scan instead of one. All answers are compared with those of `match`:
those of Scan, of the kernel and of `match_ids` rule by rule, and those of sweeps and of
`match_batches` by a checksum of all pairs, and by their number each time that they are timed. With
`--distribution none`, rules are built and nothing is matched.
"""

from __future__ import annotations

import gc
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any, Literal

import numpy as np

from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.kernel import Kernel, table_of_events, warm_up
from matchwood.lab.bench.pair_checksum import (
    checksum,
    checksum_of_answers,
    checksum_of_batches,
    same,
)
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report, spread
from matchwood.lab.bench.scanner import Scanner
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.matcher import Matcher

# How many events the kernel matches for each event of Scan, which is much slower.
EVENTS_PER_SCAN = 8

# How many sweeps over a batch are timed.
SWEEPS = 10

# How many events are swept one by one: what the layout of batches gives single events.
ALONE = 16

# How often `match_batch` is timed.
BATCHES = 3

# How the attributes of events are drawn.
DISTRIBUTIONS: tuple[Literal["uniform", "zipf"], ...] = ("uniform", "zipf")

Event = dict[str, int]


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=4_000)
    parser.size("events", full=2 * EVENTS, small=EVENTS)
    parser.add_argument("--distribution", choices=(*DISTRIBUTIONS, "both", "none"), default="both")
    options = parser.read()
    workload = AbeGen(rules=options.rules, seed=options.seed)
    texts = workload.texts()
    warm_up()
    common: Figures = {"workload": "ABE-Gen", "rules": options.rules, "events": options.events}
    matcher = build(texts, common)
    results: dict[str, Figures] = {}
    if options.distribution != "none":
        scanner = Scanner(texts)
        for distribution in DISTRIBUTIONS:
            if options.distribution in (distribution, "both"):
                events = workload.events(options.events, distribution)
                results[distribution] = measure(matcher, scanner, events)
        common["bytes_per_rule_once_swept"] = matcher.stats().bytes_per_rule
    report("engine", common, results)


def build(texts: list[str], figures: Figures) -> Matcher:
    gc.collect()
    started, processor = time.perf_counter(), time.process_time()
    matcher = Matcher(enumerate(texts))
    figures["build_seconds"] = time.perf_counter() - started
    figures["build_processor_seconds"] = time.process_time() - processor
    figures["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    stats = matcher.stats()
    figures.update(
        bytes_per_rule=stats.bytes_per_rule, nodes=stats.nodes, predicates=stats.predicates
    )
    (part,) = matcher.store.snapshot.parts
    each = {name: size / len(texts) for name, size in part.segment.bytes_of_arrays.items()}
    figures["bytes_per_rule_of"] = {name: round(size, 1) for name, size in each.items() if size > 1}
    return matcher


def measure(matcher: Matcher, scanner: Scanner, events: list[Event]) -> Figures:
    kernel = Kernel(matcher)
    coded = [kernel.coded(event) for event in events]
    counts = [len(kernel.match(event_codes)) for event_codes in coded[:200]]
    return {
        "matches_per_event": float(np.mean(counts)),
        **singles(matcher, kernel, scanner, events),
        "two_threads": two_threads(kernel, coded),
        **batches(matcher, kernel, scanner, events),
    }


def singles(matcher: Matcher, kernel: Kernel, scanner: Scanner, events: list[Event]) -> Figures:
    scans, kernels, after_scan, matches, ids = [], [], [], [], []
    for first in range(0, len(events), EVENTS_PER_SCAN):
        group = events[first : first + EVENTS_PER_SCAN]
        coded = [kernel.coded(event) for event in group]
        scans.append(milliseconds(scanner.scan, scanner.coded(group[0])))
        times = [milliseconds(kernel.match, event_codes) for event_codes in coded]
        kernels += times
        after_scan.append(times[0])
        matches += [milliseconds(matcher.match, event) for event in group]
        ids += [milliseconds(matcher.match_ids, event) for event in group]
        check(matcher, kernel, scanner, group)
    figures = spread("scan", scans) | spread("kernel", kernels)
    figures |= spread("match", matches) | spread("match_ids", ids)
    figures["kernel_after_scan_p50_ms"] = np.median(after_scan)
    for name in ("kernel", "match"):
        figures[f"scan_over_{name}"] = figures["scan_ms"] / figures[f"{name}_ms"]
        figures[f"scan_over_{name}_p50"] = figures["scan_p50_ms"] / figures[f"{name}_p50_ms"]
    return figures


def check(matcher: Matcher, kernel: Kernel, scanner: Scanner, group: list[Event]) -> None:
    """Compare the other answers for some events with those of `match`; Scan has had the first."""
    ids = kernel.part.details.ids
    for number, event in enumerate(group):
        right = np.sort(matcher.match(event))
        found = [matcher.match_ids(event), ids[kernel.match(kernel.coded(event))]]
        if number == 0:
            found.append(scanner.found())
        for answer in found:
            if not np.array_equal(np.sort(answer), right):
                raise AssertionError(f"answers to {event} differ")


def two_threads(kernel: Kernel, coded: list[Any]) -> float:
    """The speed-up of two threads over one."""
    middle = len(coded) // 2
    halves = [coded[:middle], coded[middle : 2 * middle]]

    def run(half: list[Any]) -> None:
        for event_codes in half:
            kernel.match(event_codes)

    alone, together = [], []
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, halves))
        for _ in range(3):
            alone.append(sum(milliseconds(run, half) for half in halves))
            together.append(milliseconds(lambda: list(pool.map(run, halves))))
    return float(np.median(alone) / np.median(together))


def batches(matcher: Matcher, kernel: Kernel, scanner: Scanner, events: list[Event]) -> Figures:
    pieces = [events[i : i + EVENTS] for i in range(0, len(events) - EVENTS + 1, EVENTS)]
    coded = [kernel.coded_batch(piece) for piece in pieces or [events]]
    each = min(EVENTS, len(events))
    event_codes = scanner.coded(events[0])
    table = table_of_events(events)
    answers = [matcher.match_ids(event, dictionary=True).indices.to_numpy() for event in events]
    swept = [checksum_of_answers(answers[i : i + each]) for i in range(0, len(coded) * each, each)]
    for codes, right in zip(coded, swept, strict=True):
        same(checksum(kernel.swept(codes)), right)
    every = checksum_of_answers(answers)
    same(checksum_of_batches(matcher.match_batches(table), len(events)), every)

    def sweep(number: int) -> None:
        same(kernel.sweep(coded[number]), swept[number][0])

    def alone(number: int) -> None:
        same(kernel.sweep(each_alone[number]), len(answers[number]))

    def through_arrow() -> None:
        same(sum(piece.num_rows for piece in matcher.match_batches(table)), every[0])

    each_alone = [kernel.coded_batch([event]) for event in events[:ALONE]]
    singles = [milliseconds(alone, number) for number in range(len(each_alone))]
    scans = [milliseconds(scanner.scan, event_codes)]
    sweeps, tables = [], []
    for _, number in zip(range(SWEEPS), cycle(range(len(coded))), strict=False):
        sweeps.append(milliseconds(sweep, number) / each)
        scans.append(milliseconds(scanner.scan, event_codes))
    for _ in range(BATCHES):
        tables.append(milliseconds(through_arrow) / len(events))
        scans.append(milliseconds(scanner.scan, event_codes))
    scan = np.median(scans)
    return {
        "pairs": every[0],
        "scan_beside_batches_p50_ms": scan,
        "batch_kernel_ms": np.mean(sweeps),
        "batch_kernel_p50_ms": np.median(sweeps),
        "sweep_of_one_event_p50_ms": np.median(singles),
        "match_batch_ms": np.mean(tables),
        "match_batch_p50_ms": np.median(tables),
        "scan_over_batch_kernel_p50": scan / np.median(sweeps),
        "scan_over_match_batch_p50": scan / np.median(tables),
    }


if __name__ == "__main__":
    main()
