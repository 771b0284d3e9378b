"""The published algorithms for conjunctions of ranges, beside the engine.

    python -m matchwood.lab.bench.boxes [--rules 1000000] [--events 512] [--algorithms dexin,rein]
        [--workloads dexin,sparse,dense]

The workloads: `dexin` has ten attributes, all of them in every rule and event, and a tenth of its
constraints are single values. `sparse` and `dense` are those of `matchwood.lab.bench.ranges`.
`le-subscribe-0.5` is that of Fabret et al., where the number in the name is the share of equalities
among predicates on numbers. Times are processor time of one thread, so that other work on the
machine affects them little.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from matchwood.lab.bench.kernel import let_learn, table_of_events, warm_up
from matchwood.lab.bench.ranges import SETTINGS
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.papers.algorithms import ALGORITHMS
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.lab.workloads.le_subscribe import LeSubscribe
from matchwood.matcher import Matcher

# The algorithms that are measured unless others are named, by their names in `lab.papers`.
NAMES = "dexin,rein,tama,opindex,be-tree,h-tree,bitmaps"

# What the names of Le Subscribe's workloads begin with; the share of equalities follows.
LE_SUBSCRIBE = "le-subscribe-"

# Events that are matched one by one.
SINGLES = 60

# How often the whole batch is matched; the shortest time counts.
BATCHES = 3

# How many rules the kernels are compiled with.
WARMING = 300


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=10_000)
    parser.size("events", full=512, small=256)
    parser.add_argument("--algorithms", default=NAMES, help=f"default: {NAMES}")
    parser.add_argument("--workloads", default="dexin,sparse,dense")
    options = parser.read()
    warm_up()
    results: dict[str, Figures] = {}
    for workload in options.workloads.split(","):
        rules, events = made(workload, options.rules, options.events, options.seed)
        results[f"{workload}, matchwood"], right = engine(rules, events)
        for name in options.algorithms.split(","):
            few_rules, few_events = made(workload, WARMING, 5, options.seed)
            for event in few_events:
                ALGORITHMS[name](few_rules).match(event)
            results[f"{workload}, {name}"] = published(name, rules, events, right)
    report("boxes", {"rules": options.rules, "events": options.events}, results)


def made(
    workload: str, rules: int, events: int, seed: int
) -> tuple[dict[int, str], list[dict[str, int]]]:
    if workload == "dexin":
        source: Any = DexinConjunctions(rules=rules, seed=seed)
    elif workload.startswith(LE_SUBSCRIBE):
        share = float(workload.removeprefix(LE_SUBSCRIBE))
        source = LeSubscribe(rules=rules, equality=share, seed=seed)
    else:
        source = HalfRanges(rules=rules, seed=seed, **SETTINGS[workload])
    return dict(enumerate(source.texts())), source.events(events)


def engine(
    rules: Mapping[int, str], events: list[dict[str, int]]
) -> tuple[Figures, list[set[int]]]:
    """Figures of the engine, and its answers to the events that are matched one by one."""
    gc.collect()
    begun = time.process_time()
    matcher = Matcher(rules)
    built = time.process_time() - begun
    table = table_of_events(events)
    for _ in range(2):  # the matcher learns what single matches and sweeps take
        matcher.match_batch(table)
    let_learn(matcher, events)
    singles = singly(matcher.match, events)
    batches = [_milliseconds(time.process_time, matcher.match_batch, table) for _ in range(BATCHES)]
    right = [set(matcher.match(event)) for event in events[:SINGLES]]
    figures = {
        **singles,
        "match_batch_ms": min(batches) / len(events),
        "build_s": built,
        "bytes_per_rule": matcher.stats().bytes_per_rule,
        "matches": float(np.mean([len(answer) for answer in right])),
    }
    return figures, right


def published(
    name: str, rules: Mapping[int, str], events: list[dict[str, int]], right: list[set[int]]
) -> Figures:
    """Figures of an algorithm, whose answers must equal those of the engine."""
    gc.collect()
    begun = time.process_time()
    algorithm = ALGORITHMS[name](rules)
    built = time.process_time() - begun
    assert isinstance(algorithm, BoxAlgorithm)
    answers = [set(algorithm.match(event)) for event in events[: len(right)]]
    false = sum(len(answer - engines) for answer, engines in zip(answers, right, strict=True))
    if any(engines - answer for answer, engines in zip(answers, right, strict=True)) or (
        false and not algorithm.approximate
    ):
        raise AssertionError(f"{name} does not find what the engine finds")
    return {
        **singly(algorithm.match, events),
        "build_s": built,
        "bytes_per_rule": algorithm.bytes / len(rules),
        "matches": float(np.mean([len(answer) for answer in answers])),
        "false_positives": false / len(answers),
    }


def singly(match: Callable[[dict[str, int]], object], events: list[dict[str, int]]) -> Figures:
    """Milliseconds of single matches; each is timed twice, and the shorter time counts."""
    times = [
        min(_milliseconds(time.thread_time, match, event) for _ in range(2))
        for event in events[:SINGLES]
    ]
    return {
        "match_ms": float(np.mean(times)),
        "match_p99_ms": float(np.percentile(times, 99)),
        "deviation_ms": float(np.std(times)),
    }


def _milliseconds(
    clock: Callable[[], float], function: Callable[..., object], *arguments: Any
) -> float:
    begun = clock()
    function(*arguments)
    return (clock() - begun) * 1e3


if __name__ == "__main__":
    main()
