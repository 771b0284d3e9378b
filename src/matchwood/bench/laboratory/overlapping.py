"""Points of the workload whose predicates are calls: how many of them are evaluated, and the time.

The algorithms of `papers.ordering` are told the chances of predicates; so is the engine's order
among them. The engine itself is not, and learns them from events before those that are counted.
Times are of the clock: an operator that takes long waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from matchwood.bench.laboratory.points import Budget, Point
from matchwood.engine import Matcher
from matchwood.papers.ordering import Ordering, Problem
from matchwood.workloads.overlapping import Overlapping

ORDERINGS = {
    "ordering-naive": "naive.Naive",
    "ordering-sequential": "sequential.Sequential",
    "ordering-sub-order": "sub_order.SubOrder",
    "ordering-engine": "engines.Engines",
}
LEARNING = 200  # events that the engine learns from, and all warm up with
FIRST_LEARNED = 1_000_000  # their numbers: none that is counted
CHECKED = 5

Figures = dict[str, Any]


def measure(point: Point, budget: Budget, begun: Callable[[], None]) -> Figures:
    """All figures of a point of this workload."""
    workload = Overlapping(**point.settings)
    _ = workload.subscriptions, workload.selectivity
    contestant = _Paper if point.algorithm in ORDERINGS else _Engine
    tiny = Overlapping(rules=50, predicates=20, model=workload.model)
    contestant(point.algorithm, tiny).evaluate([0, 1])  # kernels are loaded
    begun()
    started = time.process_time()
    made = contestant(point.algorithm, workload)
    taken = time.process_time() - started
    made.learn(budget)
    answers = [made.evaluate([event])[1][0] for event in range(CHECKED)]
    return {
        "build_s": taken,
        "construct_s": taken,
        "answers": _digest(answers),
        **_counted(made, workload, budget),
    }


def _counted(made: _Paper | _Engine, workload: Overlapping, budget: Budget) -> Figures:
    """Predicates evaluated and milliseconds an event, until time is over."""
    some = 1 if isinstance(made, _Paper) else made.together
    evaluated = matches = events = 0
    started = time.perf_counter()
    while events < budget.events:
        count, found = made.evaluate(list(range(events, min(events + some, budget.events))))
        evaluated += count
        matches += sum(map(len, found))
        events += len(found)
        if time.perf_counter() - started > budget.matching_seconds and events >= CHECKED:
            break
    wall = time.perf_counter() - started
    return {
        "evaluated": evaluated / events,
        "wall_ms": wall / events * 1e3,
        "events": events,
        "matches": matches / events,
        "selectivity": matches / events / workload.rules,
    }


class _Paper:
    """An ordering of the papers, or the engine's among them."""

    def __init__(self, algorithm: str, workload: Overlapping) -> None:
        module, _, name = ORDERINGS[algorithm].partition(".")
        kind: type[Ordering] = getattr(import_module(f"matchwood.papers.ordering.{module}"), name)
        costs = np.full(workload.predicates, workload.seconds or 1.0)
        self._problem = Problem(*workload.subscriptions, workload.selectivity, costs)
        self._ordering = kind(self._problem)
        self._workload = workload

    def learn(self, budget: Budget) -> None:
        """It is told all there is to know."""

    def evaluate(self, events: Sequence[int]) -> tuple[int, list[list[int]]]:
        """How many predicates were evaluated, and which subscriptions each event matches."""
        count, found = 0, []
        for event in events:
            done = self._ordering.evaluate(self._workload.truth(event))
            if self._workload.seconds:
                for _ in done.predicates:
                    time.sleep(self._workload.seconds)
            count += len(done.predicates)
            found.append(np.flatnonzero(done.matched).tolist())
        return count, found


class _Engine:
    """Our own, one event at a time or some together."""

    def __init__(self, algorithm: str, workload: Overlapping) -> None:
        rules = dict(enumerate(workload.texts()))
        self._matcher = Matcher(rules, operators=workload.operators())
        self.together = 64 if algorithm == "engine-batch" else 1

    def learn(self, budget: Budget) -> None:
        end = time.perf_counter() + budget.matching_seconds
        for event in range(FIRST_LEARNED, FIRST_LEARNED + LEARNING, self.together):
            self.evaluate(list(range(event, event + self.together)))
            if time.perf_counter() > end:
                break

    def evaluate(self, events: Sequence[int]) -> tuple[int, list[list[int]]]:
        before = self._calls()
        given = [{"event": event} for event in events]
        if self.together == 1:
            found = [sorted(self._matcher.match(event)) for event in given]
        else:
            found = [[] for _ in given]
            pairs = self._matcher.match_batch(given).to_pydict()
            for event, rule in zip(pairs["event"], pairs["rule_id"], strict=True):
                found[event].append(rule)
        return self._calls() - before, found

    def _calls(self) -> int:
        return sum(one.calls for one in self._matcher.operator_report().operators)


def _digest(answers: list[list[int]]) -> str:
    from matchwood.bench.laboratory.measuring import digest

    return digest(answers)
