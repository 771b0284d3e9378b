"""The engine on ABE-Gen: build, memory, single matches, batches, and a compiled Scan beside them.

    python -m matchwood.bench.engine [--rules 1000000] [--events 1000] [--distribution uniform]

prints a table and a JSON line. Ratios are of one run: machines are noisy.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from matchwood.bench.machine import machine
from matchwood.engine import Matcher
from matchwood.index.atoms import Atoms
from matchwood.index.build import gather
from matchwood.index.segment import shared_nodes
from matchwood.match.batch import codes_of_rows
from matchwood.match.encode import encode
from matchwood.match.scan import lay_out, scan
from matchwood.match.single import ALL
from matchwood.match.stream import table_of
from matchwood.match.sweep import EVENTS
from matchwood.workloads.abe_gen import AbeGen

Event = dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=2 * EVENTS)
    parser.add_argument("--distribution", choices=("uniform", "zipf"), default="uniform")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    workload = AbeGen(rules=options.rules, seed=options.seed)
    texts = workload.texts()
    events = workload.events(options.events, options.distribution)
    figures: dict[str, Any] = {
        "benchmark": "engine",
        "workload": "ABE-Gen",
        "rules": options.rules,
        "distribution": options.distribution,
        **machine(),
    }
    warm_up(workload)
    matcher = build(texts, figures)
    singles(matcher, events, figures)
    batches(matcher, events, figures)
    scanned(texts, matcher, events[:20], figures)
    report(figures)


def warm_up(workload: AbeGen) -> None:
    """Compile, or load from the cache, before anything is timed."""
    small = AbeGen(rules=2_000, seed=7)
    matcher = Matcher(enumerate(small.texts()))
    events = small.events(200)
    for event in events:
        matcher.match(event)
    part = matcher._snapshot.parts[0]
    part.batch._each = 1.0
    matcher.match_batch(events)


def build(texts: list[str], figures: dict[str, Any]) -> Matcher:
    gc.collect()
    started = time.perf_counter()
    matcher = Matcher(enumerate(texts))
    figures["build_seconds"] = round(time.perf_counter() - started, 1)
    figures["peak_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    stats = matcher.stats()
    figures.update(bytes_a_rule=stats.bytes_a_rule, nodes=stats.nodes, predicates=stats.predicates)
    return matcher


def timed(function: Callable[[Any], object], items: list[Any]) -> np.ndarray[Any, Any]:
    """Milliseconds of each call."""
    times = []
    for item in items:
        started = time.perf_counter()
        function(item)
        times.append(time.perf_counter() - started)
    return np.array(times) * 1e3


def singles(matcher: Matcher, events: list[Event], figures: dict[str, Any]) -> None:
    part = matcher._snapshot.parts[0]
    single = part.matcher
    coded = []
    for event in events:
        encoded, _ = encode(event, single.coders, single.patterned)
        slots = np.array(encoded.slots, np.int32)
        codes = np.array(encoded.codes, np.int32)
        none = np.empty(0, np.int32)
        coded.append((slots, codes, np.zeros(1, np.int32), none, none, None, ALL))
    found = [len(single.match_codes(*one)) for one in coded[:200]]
    figures["matches_an_event"] = round(float(np.mean(found)))
    kernel = timed(lambda one: single.match_codes(*one), coded)
    whole = timed(matcher.match, events)
    for name, times in (("kernel", kernel), ("match", whole)):
        figures[f"{name}_ms"] = round(float(times.mean()), 3)
        figures[f"{name}_p50_ms"] = round(float(np.median(times)), 3)
        figures[f"{name}_p99_ms"] = round(float(np.percentile(times, 99)), 3)
    two = len(coded) // 2
    halves = [coded[:two], coded[two : 2 * two]]

    def run(half: list[Any]) -> None:
        for one in half:
            single.match_codes(*one)

    started = time.perf_counter()
    for half in halves:
        run(half)
    one_thread = time.perf_counter() - started
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, halves))
        started = time.perf_counter()
        list(pool.map(run, halves))
    figures["two_threads"] = round(one_thread / (time.perf_counter() - started), 2)


def batches(matcher: Matcher, events: list[Event], figures: dict[str, Any]) -> None:
    part = matcher._snapshot.parts[0]
    part.batch._each = 1.0  # sweep, whatever it costs
    slices = [events[i : i + EVENTS] for i in range(0, len(events) - EVENTS + 1, EVENTS)]
    coded = [codes_of_rows(piece, part.matcher)[0] for piece in slices]

    def sweep(codes: Any) -> None:
        for _ in part.batch.pairs(codes, ALL, lambda _: None):  # type: ignore[arg-type,return-value]
            pass

    sweep(coded[0])
    times = timed(sweep, coded)
    figures["batch_kernel_ms"] = round(float(times.mean()) / EVENTS, 4)
    table = table_of({name: [e.get(name) for e in events] for name in sorted(set().union(*events))})
    started = time.perf_counter()
    rows = sum(piece.num_rows for piece in matcher.match_batches(table))
    figures["match_batch_ms"] = round((time.perf_counter() - started) * 1e3 / len(events), 4)
    figures["pairs"] = rows


def scanned(
    texts: list[str], matcher: Matcher, events: list[Event], figures: dict[str, Any]
) -> None:
    """The compiled Scan in the same run, and its answers against the kernel's."""
    atoms = Atoms()
    gathered = gather(texts, atoms)
    arrays, number, _ = atoms.seal()
    shared = shared_nodes(gathered.program, gathered.start, number)
    laid = lay_out(shared, arrays)
    slots = {slot.attribute: (i, slot) for i, slot in enumerate(atoms.slots)}
    out = np.empty(len(texts), np.int32)
    times = []
    for event in events:
        codes = np.zeros(len(atoms.slots), np.int32)
        for name, value in event.items():
            if name in slots:
                place, slot = slots[name]
                codes[place] = slot.code(next(iter(slot.first)), value)
        scan(*laid, codes, out)
        started = time.perf_counter()
        found = scan(*laid, codes, out)
        times.append(time.perf_counter() - started)
        if sorted(matcher.match(event)) != gathered.accepted[np.sort(out[:found])].tolist():
            raise AssertionError("Scan and Matcher disagree")
    figures["scan_ms"] = round(float(np.mean(times)) * 1e3, 2)
    for name in ("kernel_ms", "match_ms", "batch_kernel_ms", "match_batch_ms"):
        figures[f"scan_over_{name[:-3]}"] = round(figures["scan_ms"] / figures[name], 1)


def report(figures: dict[str, Any]) -> None:
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:{width}}  {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
