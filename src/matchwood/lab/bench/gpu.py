"""A sweep on a GPU beside one core and all cores of the same machine, in the same run.

    python -m matchwood.lab.bench.gpu [--rules 10000,100000,1000000] [--workloads abe,ranges]
    python -m matchwood.lab.bench.gpu --workloads abe:1000000,audiences:100000
    python -m matchwood.lab.bench.gpu --quick
    python -m matchwood.lab.bench.gpu --host --folder FOLDER

Every batch's pairs are compared with those of the processor, by their number and by a checksum.
What fails is printed, and the other figures are measured all the same.

`upload` is the milliseconds from a saved file, which the system has in memory, to arrays on the
card. It is the sum of `load` (to map and check the file; `trusted` is the time without checks),
`matcher` (to make what asks a segment), `levels` (the program of the file in the order of levels,
and what literals mean), and `copy`. `program` is what it takes to make a program that no file has.
With `--host` only these are printed, but for `copy`, and no card is needed. Times of kernels are
those that the card measures, in microseconds per event: to `place` the codes, which includes
copying them to the card (`copy of place`, and what the host takes to ask for it), to `compute` the
nodes, and to `write` the pairs. The host takes `gather` to put the codes of a batch into pinned
memory, and `launch` to launch the kernels of the nodes. `pairs on the host` is from codes in the
memory of the host to pairs there, in several threads, and `runs on the host` the same with matches
as runs, of so many `runs_bytes` per event; `counts by rule` and `by event` are from codes to totals
on the card, `best` from codes to the ten matches of highest priority of each event in the memory of
the host, and `left on card` to pairs that stay on the card, all in one thread. `encode rows` and
`encode columns` are the time that one core takes for the codes of events that are dicts, or an
Arrow table; where the card encodes what it can, `left to host` is what is left to one core, and `by
card` what it takes until all codes are on the card, which takes `by host` if the core encodes all.
`encode dictionaries` is the same of that table with strings in dictionaries. `batches` is
`match_batches` over the table: with a GPU as it chooses who encodes, and with `codes by card` and
`codes by host` as it is told. `share of encoding` is what `left to host` is of it with a GPU, one
thread and codes by the card, and `without card` what `encode columns` is of it together with what
is saved.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from matchwood.index.build.threads import available_cores
from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.gpu_host_work import ROUNDS, encoded, shares, uploaded
from matchwood.lab.bench.kernel import Kernel, table_of_events, warm_up
from matchwood.lab.bench.pair_checksum import checksum
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.detections import Detections
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.gpu.card import card_name, card_problem
from matchwood.match.batch.gpu.card_batches import given_batch
from matchwood.match.batch.strategies.gpu_strategy import GpuStrategy
from matchwood.match.event.event_matcher import ALL
from matchwood.match.search.arrow_matches import best
from matchwood.matcher import Matcher

# Threads that hand batches to the card.
THREADS = (1, 2, 3, 4)

# Threads of `match_batches` with a GPU.
THREADS_OF_BATCHES = (1, 4, 8)

# Matches per event that are asked for by their priority.
BEST = 10

WORKLOADS: dict[str, Callable[[int], Any]] = {
    "abe": lambda rules: AbeGen(rules=rules),
    "ranges": lambda rules: HalfRanges(
        rules=rules, attributes=20, predicates=10, event_attributes=20
    ),
    "audiences": lambda rules: Audiences(rules=rules),
    "detections": lambda rules: Detections(rules=min(rules, 30_000)),
}


def main() -> None:
    parser = BenchOptions(__doc__).size("events", full=8 * EVENTS, small=2 * EVENTS)
    parser.add_argument("--rules", default=None, help="numbers of rules, with commas between them")
    workloads = f"some of {', '.join(WORKLOADS)}, each with a number of rules of its own, or not"
    parser.add_argument("--workloads", default="abe", help=workloads)
    parser.add_argument("--quick", action="store_true", help="at most three minutes")
    parser.add_argument("--folder", help="where matchers are saved for, and loaded by, later runs")
    parser.add_argument("--host", action="store_true", help="only what comes before the upload")
    options = parser.read()
    small = "1000" if options.scale == "small" else "10000,100000,1000000"
    sizes = [int(size) for size in (options.rules or small).split(",")]
    problem = None if options.host else card_problem()
    if problem is not None:
        raise SystemExit(problem)
    warm_up()
    card = "none" if options.host else card_name()
    common: Figures = {"card": card, "events": options.events}
    results: dict[str, Figures] = {}
    for workload in options.workloads.split(","):
        name, _, size = workload.partition(":")
        for rules in [int(size)] if size else sizes:
            try:
                figures = measure(WORKLOADS[name](rules), options, rules)
            except Exception:  # the others are worth a run of their own
                traceback.print_exc()
                continue
            results[f"{name} {rules:,}"] = figures
            print(f"{name} {rules:,}", figures, flush=True)
    report("gpu", common, results)


def measure(workload: Any, options: Any, rules: int) -> Figures:
    events = workload.events(options.events)
    matcher, figures = matcher_of(workload, options.folder, rules)
    kernel = Kernel(matcher)
    figures.update(uploaded(matcher, options.folder, with_card=not options.host))
    if options.host:
        return figures
    coded, figures["encode_rows_us"] = encoded_rows(kernel, events)
    gpu = kernel.part.batch.gpu
    table = table_of_events(events)
    steps: list[Callable[[], Figures]] = [
        partial(stages, gpu, coded[0], len(kernel.part.segment.slots)),
        partial(compared, gpu, kernel, coded, quick=options.quick),
        partial(counts, gpu, kernel, coded),
        partial(best_and_left, gpu, kernel, coded),
        partial(end_to_end, gpu, coded),
        partial(runs_end_to_end, gpu, kernel, coded),
        partial(encoded, gpu, kernel, table),
    ]
    if not options.quick:
        steps.append(partial(batches, matcher, kernel, table))
    for step in steps:
        try:
            figures.update(step())
        except Exception:  # the others are worth a run of their own
            traceback.print_exc()
    return figures | shares(figures)


def encoded_rows(kernel: Kernel, events: Any) -> tuple[list[BatchCodes], float]:
    """Events that are dicts in batches of codes, and the microseconds per event for that."""
    started = time.perf_counter()
    coded = [kernel.coded_batch(events[i : i + EVENTS]) for i in range(0, len(events), EVENTS)]
    return coded, (time.perf_counter() - started) / len(events) * 1e6


def matcher_of(workload: Any, folder: str | None, rules: int) -> tuple[Matcher, Figures]:
    """A matcher of one part, saved and loaded where there is a folder for it."""
    path = Path(folder or ".") / f"{type(workload).__name__}-{rules}.mw"
    figures: Figures = {}
    if not folder or not path.exists():
        started = time.perf_counter()
        matcher = Matcher(enumerate(workload.texts()))
        matcher.compact()
        matcher.join()
        figures["build_s"] = time.perf_counter() - started
    if folder:
        if "build_s" in figures:
            matcher.save(path)
        started = time.perf_counter()
        matcher = Matcher.load(path)
        figures["load_s"] = time.perf_counter() - started
    return matcher, figures


def stages(gpu: GpuStrategy, codes: BatchCodes, slots: int) -> Figures:
    """Microseconds per event of each kernel, as the card measures them."""
    from numba import cuda

    from matchwood.match.batch.gpu.card_sweep import CardSegment

    started = time.perf_counter()
    count = sum(len(numbers) for numbers, _ in gpu.pairs(codes, ALL, 0, codes.events))
    first_call = time.perf_counter() - started
    segment = gpu.on_card()
    assert isinstance(segment, CardSegment), "this process has a card of its own"
    worker = segment.worker()
    (program, *_) = segment.programs
    wanted = segment.selection(ALL)
    steps = {"place": (0, 2), "copy_of_place": (0, 1), "compute": (2, 3), "write": (3, 4)}
    times: dict[str, list[float]] = {name: [] for name in ("gather", *steps, "launch")}
    for _ in range(ROUNDS):
        marks = [cuda.event() for _ in range(5)]
        started = time.perf_counter()
        given = given_batch(codes, slots, gpu.lazy)
        gathered = worker.gathered(given)
        times["gather"].append((time.perf_counter() - started) * 1e3)
        marks[0].record(worker.stream)
        batch = worker.copied(gathered, given)
        marks[1].record(worker.stream)
        worker.place_rows(batch, given)
        marks[2].record(worker.stream)
        started = time.perf_counter()
        worker.compute(program, batch, codes.events)
        times["launch"].append((time.perf_counter() - started) * 1e3)
        marks[3].record(worker.stream)
        worker.write(program, wanted, codes.events)
        marks[4].record(worker.stream)
        marks[4].synchronize()
        for name, (first, last) in steps.items():
            times[name].append(marks[first].elapsed_time(marks[last]))
    figures = {f"{name}_us": min(each) * 1e3 / codes.events for name, each in times.items()}
    figures["kernels_us"] = sum(figures[f"{name}_us"] for name in ("place", "compute", "write"))
    return {
        "matches_per_event": count / codes.events,
        "first_batch_s": first_call,
        **figures,
    }


def compared(gpu: GpuStrategy, kernel: Kernel, coded: list[BatchCodes], quick: bool) -> Figures:
    """Compare the pairs of batches with those of the processor, whose time is taken with them."""
    batch_matcher = kernel.part.batch
    batch_matcher.force("sweep")
    chosen = coded[:2] if quick else coded
    kernel.sweep(coded[0])
    started = time.perf_counter()
    for codes in chosen:
        kernel.sweep(codes)
    one_core = time.perf_counter() - started
    for number, codes in enumerate(chosen):
        right = checksum(list(batch_matcher.pairs(codes, ALL)))
        found = checksum(list(gpu.pairs(codes, ALL, 0, codes.events)))
        if found != right:
            raise AssertionError(f"batch {number}: {found} on the card, {right} on the processor")
    cores = available_cores()
    work = (chosen * cores)[: max(len(chosen), 2 * cores)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(kernel.sweep, work[:cores]))
        started = time.perf_counter()
        list(pool.map(kernel.sweep, work))
        all_cores = time.perf_counter() - started
    return {
        "same_checksums": len(chosen),
        "1_core_us": one_core / sum(codes.events for codes in chosen) * 1e6,
        f"{cores}_cores_us": all_cores / sum(codes.events for codes in work) * 1e6,
    }


def counts(gpu: GpuStrategy, kernel: Kernel, coded: list[BatchCodes]) -> Figures:
    """Microseconds per event to count the matches of each rule, and of each event."""
    rules = kernel.part.segment.rules
    batch = kernel.part.batch
    batch.force("sweep")
    pairs = list(batch.pairs(coded[0], ALL))
    by_rule = sum(np.bincount(ordinals, minlength=rules) for _, ordinals in pairs)
    by_event = sum(np.bincount(numbers, minlength=coded[0].events) for numbers, _ in pairs)
    totals = gpu.zero_totals(rules)
    gpu.add_counts_of_rules(coded[0], ALL, totals)
    same = bool((totals.copy_to_host()[:rules] == by_rule).all())
    if not (same and bool((gpu.counts_of_events(coded[0], ALL) == by_event).all())):
        raise AssertionError("counts on the card are not those of the processor")
    figures: Figures = {}
    events = sum(codes.events for codes in coded)
    for name in ("rule", "event"):
        times = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for codes in coded:
                if name == "rule":
                    gpu.add_counts_of_rules(codes, ALL, totals)
                else:
                    gpu.counts_of_events(codes, ALL)
            times.append(time.perf_counter() - started)
        figures[f"counts_by_{name}_us"] = min(times) / events * 1e6
    return figures


def end_to_end(gpu: GpuStrategy, coded: list[BatchCodes]) -> Figures:
    """Microseconds per event from codes to pairs, both in the memory of the host."""

    def consume(codes: BatchCodes) -> int:
        return sum(len(events) for events, _ in gpu.pairs(codes, ALL, 0, codes.events))

    figures, count = in_threads("pairs_on_host", consume, coded)
    best = min(figures.values()) * 1e-6 * sum(codes.events for codes in coded)
    figures["matches_per_second"] = count / best
    return figures


def runs_end_to_end(gpu: GpuStrategy, kernel: Kernel, coded: list[BatchCodes]) -> Figures:
    """The same to runs, and how many bytes these have per event."""
    batch = kernel.part.batch
    batch.force("sweep")
    for number, codes in enumerate(coded[:2]):
        right = checksum(list(batch.pairs(codes, ALL)))
        found = checksum([runs.pairs() for runs in gpu.runs(codes, ALL)])
        if found != right:
            raise AssertionError(f"batch {number}: {found} as runs, {right} on the processor")

    def consume(codes: BatchCodes) -> int:
        return sum(array.nbytes for runs in gpu.runs(codes, ALL) for array in runs)

    figures, size = in_threads("runs_on_host", consume, coded)
    figures["runs_bytes"] = size / sum(codes.events for codes in coded)
    return figures


def in_threads(
    name: str, consume: Callable[[BatchCodes], int], coded: list[BatchCodes]
) -> tuple[Figures, int]:
    """Microseconds per event in so many threads, and the sum of what they return."""
    figures: Figures = {}
    count = 0
    events = sum(codes.events for codes in coded)
    for threads in THREADS:
        times = []
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(consume, coded))
            for _ in range(ROUNDS):
                started = time.perf_counter()
                count = sum(pool.map(consume, coded))
                times.append(time.perf_counter() - started)
        figures[f"{name}_{threads}_threads_us"] = min(times) / events * 1e6
    return figures, count


def best_and_left(gpu: GpuStrategy, kernel: Kernel, coded: list[BatchCodes]) -> Figures:
    """Microseconds per event for the ten best of each, and for pairs that stay on the card."""
    rules = kernel.part.segment.rules
    priority = np.random.default_rng(0).permutation(rules).astype(np.float64)
    batch = kernel.part.batch
    batch.force("sweep")
    right = best(list(batch.pairs(coded[0], ALL)), priority, BEST)
    found = best(gpu.best(coded[0], ALL, priority, BEST), priority, BEST)
    if not all((one == other).all() for one, other in zip(found, right, strict=True)):
        raise AssertionError("the best matches on the card are not those of the processor")
    copies = gpu.left_on_card(coded[0], ALL, 0)
    left = [(numbers.copy_to_host(), ordinals.copy_to_host()) for numbers, ordinals in copies]
    if checksum(left) != checksum(list(batch.pairs(coded[0], ALL))):
        raise AssertionError("the pairs on the card are not those of the processor")
    asked: dict[str, Callable[[BatchCodes], object]] = {
        "best_us": lambda codes: gpu.best(codes, ALL, priority, BEST),
        "left_on_card_us": lambda codes: gpu.left_on_card(codes, ALL, 0),
    }
    figures: Figures = {}
    for name, ask in asked.items():
        times = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for codes in coded:
                ask(codes)
            times.append(time.perf_counter() - started)
        figures[name] = min(times) / sum(codes.events for codes in coded) * 1e6
    return figures


def batches(matcher: Matcher, kernel: Kernel, table: Any) -> Figures:
    """Microseconds per event of `match_batches` over a table, with a GPU and with all cores."""
    kernel.part.batch.force(None)

    def rows(device: str, threads: int) -> int:
        found = matcher.match_batches(table, device=device, threads=threads)
        return sum(batch.num_rows for batch in found)

    gpu = kernel.part.batch.gpu
    figures: Figures = {}
    ways = (("", None), ("_codes_by_card", True), ("_codes_by_host", False))
    try:
        for threads in THREADS_OF_BATCHES:
            for name, encodes in ways:
                gpu.encodes = encodes
                run = partial(rows, "gpu", threads)
                figures[f"batches_gpu{name}_{threads}_threads_us"] = fastest(run, table.num_rows)
    finally:
        gpu.encodes = None
    cores = available_cores()
    run = partial(rows, "cpu", cores)
    return figures | {f"batches_cpu_{cores}_threads_us": fastest(run, table.num_rows)}


def fastest(run: Callable[[], object], events: int) -> float:
    """Microseconds per event of the fastest round, after one that does not count."""
    run()
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times) / events * 1e6


if __name__ == "__main__":
    main()
