"""The published algorithms beside single matches of the engine, on the papers' workloads.

    python -m matchwood.lab.bench.published [--rules 10000] [--events 200] [--rounds 9]
        [--workloads dexin-width-0.7,fontoura-depth-4]

All contestants are built in one process. In every round each of them matches all events, one after
the other, from a dict to a list of ids. `engine_ms` is the median over rounds of what the engine
takes for an event. The other rows are what an algorithm takes for each unit of time that the engine
takes: the median over rounds, the least and the greatest. `ahead` counts the algorithms
that take less than 0.95 of the engine's time in every round. Times are processor time of one
thread. Before any round, the engine matches events until it has chosen its strategy.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.lab.bench.kernel import let_learn, warm_up
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.papers.algorithms import ALGORITHMS
from matchwood.lab.workloads.catalogue import workload
from matchwood.matcher import Matcher

Event = dict[str, Any]

# What part of the engine's time an algorithm must take at most to be ahead.
AHEAD = 0.95

# Events whose answers are compared.
CHECKED = 20

# Rules that kernels are compiled with.
WARMING = 300

BOXES = ("dexin", "rein", "opindex", "be-tree", "h-tree")
SUBSCRIPTIONS = ("quarantining", "equality-preferred", "fair-predicate", "hanson")
TREES = ("scan", "dewey", "interval", "bop", "a-tree")


class PublishedWorkload(NamedTuple):
    """A workload of the catalogue with its settings, and the algorithms that are compared on it."""

    workload: str
    settings: Mapping[str, Any]
    algorithms: Sequence[str]


WORKLOADS: dict[str, PublishedWorkload] = {
    "dexin": PublishedWorkload("dexin", {}, BOXES),
    "dexin-2-attributes": PublishedWorkload("dexin", {"attributes": 2}, BOXES),
    "dexin-2-mixed": PublishedWorkload("dexin", {"attributes": 2, "distribution": "mixed"}, BOXES),
    "dexin-zipf": PublishedWorkload("dexin", {"distribution": "zipf"}, BOXES),
    "dexin-width-0.5": PublishedWorkload("dexin", {"width": 0.5}, BOXES),
    "dexin-width-0.7": PublishedWorkload("dexin", {"width": 0.7}, BOXES),
    "dexin-width-0.9": PublishedWorkload("dexin", {"width": 0.9}, BOXES),
    "le-subscribe-0": PublishedWorkload("le-subscribe", {"equality": 0.0}, SUBSCRIPTIONS),
    "le-subscribe-1": PublishedWorkload("le-subscribe", {"equality": 1.0}, SUBSCRIPTIONS),
    "fontoura-depth-2": PublishedWorkload("fontoura", {"depth": 2}, TREES),
    "fontoura-depth-3": PublishedWorkload("fontoura", {"depth": 3}, TREES),
    "fontoura-depth-4": PublishedWorkload("fontoura", {"depth": 4}, TREES),
    "abe-gen": PublishedWorkload("abe-gen", {}, TREES),
}


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=10_000, small=2_000)
    parser.size("events", full=200, small=20).size("rounds", full=9, small=3)
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    options = parser.read()
    warm_up()
    results = {
        name: measure(WORKLOADS[name], options.rules, options.events, options.rounds, options.seed)
        for name in options.workloads.split(",")
    }
    sizes = {name: getattr(options, name) for name in ("rules", "events", "rounds")}
    report("published", sizes, results)


def measure(
    compared: PublishedWorkload, rules: int, events: int, rounds: int, seed: int
) -> Figures:
    """The engine and all algorithms on one workload."""
    few_texts, few_events = made(compared, WARMING, 5, seed)
    texts, all_events = made(compared, rules, events, seed)
    matcher = Matcher(texts)
    let_learn(matcher, all_events)
    matches = [set(matcher.match(event)) for event in all_events]
    contestants: dict[str, Callable[[Event], Any]] = {"engine": matcher.match}
    for name in compared.algorithms:
        few = ALGORITHMS[name](few_texts)  # so that no kernel is compiled in a round
        for event in few_events:
            few.match(event)
        algorithm = ALGORITHMS[name](texts)
        for event, right in zip(all_events[:CHECKED], matches, strict=False):
            if set(algorithm.match(event)) != right:
                raise AssertionError(f"{name} does not find what the engine finds")
        contestants[name] = algorithm.match
    gc.collect()
    seconds = np.array(
        [[timed(match, all_events) for match in contestants.values()] for _ in range(rounds)]
    )
    figures: Figures = {
        "matches": float(np.mean([len(right) for right in matches])),
        "engine_ms": float(np.median(seconds[:, 0])) / events * 1e3,
    }
    shares = seconds[:, 1:] / seconds[:, :1]
    for name, share in zip(compared.algorithms, shares.T, strict=True):
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
    source = workload(compared.workload, rules=rules, seed=seed, **compared.settings)
    return dict(enumerate(source.texts())), source.events(events)


def timed(match: Callable[[Event], Any], events: Sequence[Event]) -> float:
    """Seconds of processor time to match all events."""
    begun = time.thread_time()
    for event in events:
        match(event)
    return time.thread_time() - begun


if __name__ == "__main__":
    main()
