"""The published algorithms for conjunctions of ranges, beside the engine.

    python -m matchwood.bench.boxes [--rules 1000000] [--events 512] [--algorithms dexin,rein]
        [--workloads dexin,sparse,dense]

`dexin`: ten attributes, all in every rule and event, a tenth of the constraints points. `sparse`
and `dense`: as in `matchwood.bench.ranges`. `le-subscribe-0.5`: that of Fabret et al., where half
of the predicates on numbers are equalities, or another share, as its name says. Times are of the
processor, one thread, so that other work on the machine moves them little.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from matchwood.bench.kernel import let_learn, table_of_events, warm_up
from matchwood.bench.ranges import SETTINGS
from matchwood.bench.report import Figures, Options, report
from matchwood.engine import Matcher
from matchwood.papers.boxes import Boxed
from matchwood.papers.registry import ALGORITHMS
from matchwood.workloads.conjunctions import HalfRanges
from matchwood.workloads.dexin import Dexin
from matchwood.workloads.le_subscribe import LeSubscribe

NAMES = "dexin,rein,tama,opindex,be-tree,h-tree,bitmaps"
LE_SUBSCRIBE = "le-subscribe-"
SINGLES = 60
BATCHES = 3
WARMING = 300  # rules to compile kernels with


def main() -> None:
    parser = Options(__doc__).size("rules", full=1_000_000, small=10_000)
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
            few, some = made(workload, WARMING, 5, options.seed)
            for event in some:
                ALGORITHMS[name](few).match(event)
            results[f"{workload}, {name}"] = published(name, rules, events, right)
    report("boxes", {"rules": options.rules, "events": options.events}, results)


def made(
    workload: str, rules: int, events: int, seed: int
) -> tuple[dict[int, str], list[dict[str, int]]]:
    if workload == "dexin":
        given: Any = Dexin(rules=rules, seed=seed)
    elif workload.startswith(LE_SUBSCRIBE):
        share = float(workload.removeprefix(LE_SUBSCRIBE))
        given = LeSubscribe(rules=rules, equality=share, seed=seed)
    else:
        given = HalfRanges(rules=rules, seed=seed, **SETTINGS[workload])
    return dict(enumerate(given.texts())), given.events(events)


def engine(
    rules: Mapping[int, str], events: list[dict[str, int]]
) -> tuple[Figures, list[set[int]]]:
    """Figures of the engine, and what it finds of the events that are matched one by one."""
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
        "bytes_a_rule": matcher.stats().bytes_a_rule,
        "matches": float(np.mean([len(found) for found in right])),
    }
    return figures, right


def published(
    name: str, rules: Mapping[int, str], events: list[dict[str, int]], right: list[set[int]]
) -> Figures:
    """Figures of an algorithm, whose answers must be those of the engine."""
    gc.collect()
    begun = time.process_time()
    algorithm = ALGORITHMS[name](rules)
    built = time.process_time() - begun
    assert isinstance(algorithm, Boxed)
    found = [set(algorithm.match(event)) for event in events[: len(right)]]
    false = sum(len(ours - engines) for ours, engines in zip(found, right, strict=True))
    if any(engines - ours for ours, engines in zip(found, right, strict=True)) or (
        false and not algorithm.approximate
    ):
        raise AssertionError(f"{name} does not find what the engine finds")
    return {
        **singly(algorithm.match, events),
        "build_s": built,
        "bytes_a_rule": algorithm.bytes / len(rules),
        "matches": float(np.mean([len(ours) for ours in found])),
        "false_positives": false / len(found),
    }


def singly(match: Callable[[dict[str, int]], object], events: list[dict[str, int]]) -> Figures:
    """Milliseconds of single matches; each is timed twice, and the shorter counts."""
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
    clock: Callable[[], float], function: Callable[..., object], *given: Any
) -> float:
    begun = clock()
    function(*given)
    return (clock() - begun) * 1e3


if __name__ == "__main__":
    main()
