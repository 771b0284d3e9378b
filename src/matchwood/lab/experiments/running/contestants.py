"""The contestants of a point: an algorithm of the papers, or the engine.

All have the same methods: `match`, `add`, `answer`, `bytes` and `times`. Times are processor time,
not wall-clock time, so that other work on the machine costs a point some cache misses at most.
Nothing here waits, and nothing that is timed runs in several threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from matchwood.lab.bench.kernel import let_learn
from matchwood.lab.experiments.running.answer_check import CHECKED, Event
from matchwood.lab.experiments.running.points import Budget, Point
from matchwood.lab.papers.algorithms import ALGORITHMS
from matchwood.matcher import Matcher

Figures = dict[str, Any]

# Events that are matched before any event is timed.
WARMING = 20
# How often what is timed is repeated; the median counts, and the spread is shown.
RUNS = 3


class PaperContestant:
    """An algorithm of the papers.

    One that has a limit of its own is given the budget's, so that it has as much memory as others.
    """

    def __init__(self, point: Point, rules: Mapping[int, str], budget: Budget) -> None:
        self.rules = len(rules)
        kind = ALGORITHMS[point.algorithm]
        limit = {"budget": budget.bytes} if kind.budgeted else {}
        self.algorithm = kind(rules, **limit, **point.switches)

    def match(self, event: Event) -> list[Any]:
        return self.algorithm.match(event)

    def add(self, rule_id: int, rule: str) -> None:
        self.algorithm.add(rule_id, rule)

    def remove(self, rule_id: int) -> None:
        self.algorithm.remove(rule_id)

    def answer(self, event: Event) -> list[Any]:
        """The matches, without the false positives of an approximate algorithm."""
        matches = self.match(event)
        if not self.algorithm.approximate:
            return matches
        false = set(self.algorithm.false_positives(event))  # type: ignore[attr-defined]
        return [rule_id for rule_id in matches if rule_id not in false]

    @property
    def bytes(self) -> int:
        return self.algorithm.bytes

    @property
    def buffers(self) -> int:
        return self.algorithm.buffers

    def times(self, events: list[Event]) -> Figures:
        """Milliseconds of single matches, how much they matched, and the work they did for it."""
        work: list[tuple[float, ...]] = []
        steps: list[tuple[float, ...]] = []
        costs: list[float] = []

        def after() -> None:
            work.append(tuple(self.algorithm.work))
            if hasattr(self.algorithm, "cost"):
                costs.append(self.algorithm.cost)
            if hasattr(self.algorithm, "timings"):
                steps.append(tuple(self.algorithm.timings))

        figures = timed(self.match, events, self.rules, after)
        names = ("predicates", "nodes", "candidates")
        figures |= dict(zip(names, np.mean(work, axis=0).tolist(), strict=True))
        if steps:
            # Steps are short, so that a mean would be that of the few after an interruption.
            lookup, find, sort, evaluated = (np.median(steps, axis=0) * 1e3).tolist()
            figures |= {"index_ms": lookup + find, "sort_ms": sort, "evaluate_ms": evaluated}
        for name in ("translated_bytes", "translate_s"):
            if hasattr(self.algorithm, name):
                figures[name] = getattr(self.algorithm, name)
        if costs:
            figures["plan_cost"] = float(np.mean(costs))
        if self.algorithm.approximate:
            kinds = [self.algorithm.false_positives(e) for e in events[:CHECKED]]  # type: ignore[attr-defined]
            figures["false_positives"] = float(np.mean([len(false) for false in kinds]))
        return figures


class EngineContestant:
    """Matchwood's own engine, one event at a time."""

    def __init__(self, point: Point, rules: Mapping[int, str], budget: Budget) -> None:
        self.matcher = Matcher(rules)

    def match(self, event: Event) -> list[Any]:
        return list(self.matcher.match(event))

    def add(self, rule_id: int, rule: str) -> None:
        self.matcher[rule_id] = rule

    def remove(self, rule_id: int) -> None:
        del self.matcher[rule_id]

    def answer(self, event: Event) -> list[Any]:
        return self.match(event)

    @property
    def bytes(self) -> int:
        return self.matcher.stats().bytes

    buffers = 0

    def times(self, events: list[Event]) -> Figures:
        let_learn(self.matcher, events)
        return timed(self.matcher.match, events, len(self.matcher))


class BatchContestant(EngineContestant):
    """Matchwood's own engine, all events in one batch."""

    def match(self, event: Event) -> list[Any]:
        return [int(i) for i in self.matcher.match_batch([event])["rule_id"].to_pylist()]

    def times(self, events: list[Event]) -> Figures:
        rows = 0

        def all_at_once() -> None:
            nonlocal rows
            rows = sum(piece.num_rows for piece in self.matcher.match_batches(events))

        all_at_once()
        runs = []
        for _ in range(RUNS):
            begun = time.process_time()
            all_at_once()
            runs.append((time.process_time() - begun) / len(events))
        return {
            **repeated("match_ms", runs),
            "events": len(events),
            "matches": rows / len(events),
            "selectivity": rows / len(events) / len(self.matcher),
        }


# Contestants that are not algorithms of the papers, by name.
CONTESTANTS: dict[str, Any] = {"engine": EngineContestant, "engine-batch": BatchContestant}


def timed(
    match: Callable[[Event], list[Any]],
    events: list[Event],
    rules: int,
    after: Callable[[], None] | None = None,
) -> Figures:
    """Time matches of all events, one after the other, in several runs.

    The deviation between events is that of the shortest time of each, so that what interrupts a
    run is no part of it.
    """
    for event in islice(events, WARMING):
        match(event)
    seconds = np.empty((RUNS, len(events)))
    counts = []
    for run in range(RUNS):
        for number, event in enumerate(events):
            start = time.thread_time()
            matches = match(event)
            seconds[run, number] = time.thread_time() - start
            if run == 0:
                counts.append(len(matches))
                if after is not None:
                    after()
    shortest = seconds.min(axis=0)
    return {
        **repeated("match_ms", seconds.mean(axis=1).tolist()),
        "match_p50_ms": float(np.median(shortest) * 1e3),
        "match_deviation_ms": float(np.std(shortest) * 1e3),
        "events": len(events),
        "matches": float(np.mean(counts)),
        "selectivity": float(np.mean(counts)) / max(1, rules),
    }


def repeated(name: str, seconds: list[float]) -> Figures:
    """A figure in milliseconds: the median of several runs, and the least and the most."""
    return {
        name: float(np.median(seconds) * 1e3),
        f"{name}_spread": [min(seconds) * 1e3, max(seconds) * 1e3],
    }
