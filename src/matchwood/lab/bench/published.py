"""The published algorithms beside single matches of the engine, on the papers' workloads.

    python -m matchwood.lab.bench.published [--rules 10000] [--events 200] [--rounds 9]
        [--workloads dexin-width-0.7,fontoura-depth-4] [--algorithms dexin,scan]

All contestants are built in one process. In every round each of them matches all events, one after
the other, from a dict to a list of ids. `engine_ms` is the median over rounds of what the engine
takes for an event. The other rows are what an algorithm takes for each unit of time that the engine
takes: the median over rounds, the least and the greatest. `ahead` counts the algorithms
that take less than 0.95 of the engine's time in every round. Times are processor time of one
thread. Before any round, the engine matches events until it has chosen its strategy.

In `calls` all predicates are calls of an operator that takes 0.1 ms of processor time, for the
orderings of Liu et al. Those are told how likely each predicate is, and the engine learns it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.lab.bench.kernel import let_learn, warm_up
from matchwood.lab.bench.published_calls import ORDERINGS, contestants_with_calls
from matchwood.lab.bench.ranges import SETTINGS
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.papers.algorithms import ALGORITHMS
from matchwood.lab.workloads.catalogue import workload
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.matcher import Matcher

Event = dict[str, Any]

# What part of the engine's time an algorithm must take at most to be ahead.
AHEAD = 0.95

# Events whose answers are compared.
CHECKED = 20

# Rules that kernels are compiled with.
WARMING = 300

# What is compared on conjunctions of intervals; TAMA also names rules that are not true.
BOXES = ("dexin", "rein", "tama", "opindex", "be-tree", "h-tree")
RANGES = (*BOXES, "bitmaps")
SUBSCRIPTIONS = (
    "quarantining", "equality-preferred", "fair-predicate", "hanson", "aguilera", "neon", "scan",
)  # fmt: skip
TREES = ("scan", "dewey", "interval", "bop", "a-tree")
SHALLOW_TREES = (*TREES, "dnf", "scan-conjunctions")
SHARING_TREES = (*TREES, "bdd", "translation")

# The workload whose predicates are calls, and those of conjunctions of ranges.
CALLS = "overlapping"
HALF_RANGES = "half-ranges"


class PublishedWorkload(NamedTuple):
    """A workload of the catalogue with its settings, and the algorithms that are compared on it."""

    workload: str
    settings: Mapping[str, Any]
    algorithms: Sequence[str]


def _dexin(**settings: Any) -> PublishedWorkload:
    return PublishedWorkload("dexin", settings, BOXES)


WORKLOADS: dict[str, PublishedWorkload] = {
    "dexin": PublishedWorkload("dexin", {}, RANGES),
    "dexin-2-attributes": _dexin(attributes=2),
    "dexin-2-mixed": _dexin(attributes=2, distribution="mixed"),
    "dexin-2-zipf": _dexin(attributes=2, distribution="zipf"),
    "dexin-22-attributes": _dexin(attributes=22),
    "dexin-zipf": _dexin(distribution="zipf"),
    "dexin-width-0.1": _dexin(width=0.1),
    "dexin-width-0.5": _dexin(width=0.5),
    "dexin-width-0.7": _dexin(width=0.7),
    "dexin-width-0.9": _dexin(width=0.9),
    "dexin-width-0.9-zipf": _dexin(width=0.9, distribution="zipf"),
    "dexin-100-values": _dexin(cardinality=100),
    "dexin-points-0.9": _dexin(points=0.9),
    "dexin-matching-0.2": _dexin(matching=0.2),
    "sparse": PublishedWorkload(HALF_RANGES, SETTINGS["sparse"], RANGES),
    "dense": PublishedWorkload(HALF_RANGES, SETTINGS["dense"], RANGES),
    "le-subscribe-0": PublishedWorkload("le-subscribe", {"equality": 0.0}, SUBSCRIPTIONS),
    "le-subscribe-0.5": PublishedWorkload("le-subscribe", {"equality": 0.5}, SUBSCRIPTIONS),
    "le-subscribe-1": PublishedWorkload("le-subscribe", {"equality": 1.0}, SUBSCRIPTIONS),
    "le-subscribe-strings": PublishedWorkload(
        "le-subscribe", {"equality": 0.5, "string_values": 2, "number_values": 100}, SUBSCRIPTIONS
    ),
    "fontoura-depth-1": PublishedWorkload("fontoura", {"depth": 1}, SHALLOW_TREES),
    "fontoura-depth-2": PublishedWorkload("fontoura", {"depth": 2}, SHALLOW_TREES),
    "fontoura-depth-3": PublishedWorkload("fontoura", {"depth": 3}, TREES),
    "fontoura-depth-4": PublishedWorkload("fontoura", {"depth": 4}, TREES),
    "fontoura-selectivity-0.5": PublishedWorkload(
        "fontoura", {"depth": 2, "selectivity": 0.5}, SHALLOW_TREES
    ),
    "fontoura-selectivity-0.1": PublishedWorkload(
        "fontoura", {"depth": 3, "selectivity": 0.1}, TREES
    ),
    "abe-gen": PublishedWorkload("abe-gen", {}, SHARING_TREES),
    "ads": PublishedWorkload("ads", {}, SHARING_TREES),
    "calls": PublishedWorkload(CALLS, {}, tuple(ORDERINGS)),
    "calls-zipf": PublishedWorkload(CALLS, {"model": "zipf"}, tuple(ORDERINGS)),
}


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=10_000, small=2_000)
    parser.size("events", full=200, small=20).size("rounds", full=9, small=3)
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--algorithms", help="default: all that are compared on a workload")
    options = parser.read()
    warm_up()
    results = {}
    for name in options.workloads.split(","):
        compared = WORKLOADS[name]
        if options.algorithms:
            named = options.algorithms.split(",")
            compared = compared._replace(algorithms=[a for a in compared.algorithms if a in named])
        results[name] = measure(
            compared, options.rules, options.events, options.rounds, options.seed
        )
    sizes = {name: getattr(options, name) for name in ("rules", "events", "rounds")}
    report("published", sizes, results)


def measure(
    compared: PublishedWorkload, rules: int, events: int, rounds: int, seed: int
) -> Figures:
    """The engine and all algorithms on one workload."""
    if compared.workload == CALLS:
        calling, matched, called = contestants_with_calls(
            rules, seed, compared.settings, compared.algorithms
        )
        return timed_figures(calling, called, rounds) | {"matches": matched}
    few_texts, few_events = made(compared, WARMING, 5, seed)
    texts, all_events = made(compared, rules, events, seed)
    matcher = Matcher(texts)
    let_learn(matcher, all_events)
    matches = [set(matcher.match(event)) for event in all_events]
    contestants: dict[str, Callable[[Any], Any]] = {"engine": matcher.match}
    for name in compared.algorithms:
        few = ALGORITHMS[name](few_texts)  # so that no kernel is compiled in a round
        for event in few_events:
            few.match(event)
        algorithm = ALGORITHMS[name](texts)
        for event, right in zip(all_events[:CHECKED], matches, strict=False):
            found = set(algorithm.match(event))
            if found != right and not (algorithm.approximate and found > right):
                raise AssertionError(f"{name} does not find what the engine finds")
        contestants[name] = algorithm.match
    figures = timed_figures(contestants, all_events, rounds)
    return figures | {"matches": float(np.mean([len(right) for right in matches]))}


def timed_figures(
    contestants: Mapping[str, Callable[[Any], Any]], events: Sequence[Any], rounds: int
) -> Figures:
    """What the engine, the first of the contestants, takes, and how many times that the others."""
    gc.collect()
    seconds = np.array(
        [[timed(match, events) for match in contestants.values()] for _ in range(rounds)]
    )
    figures: Figures = {"engine_ms": float(np.median(seconds[:, 0])) / len(events) * 1e3}
    shares = seconds[:, 1:] / seconds[:, :1]
    for name, share in zip(list(contestants)[1:], shares.T, strict=True):
        figures |= {
            name: float(np.median(share)),
            f"{name}_least": float(share.min()),
            f"{name}_greatest": float(share.max()),
        }
    return figures | {"ahead": int((shares.max(axis=0) < AHEAD).sum())}


def made(
    compared: PublishedWorkload, rules: int, events: int, seed: int
) -> tuple[dict[int, str], list[Event]]:
    """The rules, by number, and the events."""
    settings = {**compared.settings, "rules": rules, "seed": seed}
    ranges = compared.workload == HALF_RANGES
    source = HalfRanges(**settings) if ranges else workload(compared.workload, **settings)
    return dict(enumerate(source.texts())), source.events(events)


def timed(match: Callable[[Any], Any], events: Sequence[Any]) -> float:
    """Seconds of processor time to match all events."""
    begun = time.thread_time()
    for event in events:
        match(event)
    return time.thread_time() - begun


if __name__ == "__main__":
    main()
