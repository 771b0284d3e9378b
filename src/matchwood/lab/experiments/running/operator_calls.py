"""Points of the workload whose predicates are calls: how many are evaluated, and the time.

The algorithms of `papers.ordering` are told the selectivities of predicates, and so is the engine's
order among them. The engine itself is not told: it learns them from events that are not counted.
Times are wall-clock times, because an operator that takes long waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from matchwood.lab.experiments.running.answer_check import CHECKED, digest
from matchwood.lab.experiments.running.contestants import Figures
from matchwood.lab.experiments.running.points import Budget, Point
from matchwood.lab.papers.ordering.problem import Ordering, OrderingProblem
from matchwood.lab.workloads.overlapping import Overlapping
from matchwood.matcher import Matcher

# The orderings by name, each with its module of `papers.ordering` and its class.
ORDERINGS = {
    "ordering-naive": "naive.Naive",
    "ordering-sequential": "sequential.Sequential",
    "ordering-sub-order": "sub_order.SubOrder",
    "ordering-engine": "engine_order.Engines",
}
# Events that the engine learns from, and the most seconds of processor time and of calls that wait
# for it; none of them is counted.
LEARNING, LEARNING_SECONDS = 200, 0.5
# The most events that are counted: what is evaluated varies little from one to the next.
COUNTED = 60
# Seconds that calls may wait in all: where they take long, all contestants have fewer events.
WAITING = 6
# The number of the first of these events; it is above that of every event that is counted.
FIRST_LEARNED = 1_000_000


def measure(point: Point, budget: Budget, begun: Callable[[], None]) -> Figures:
    """All figures of a point of this workload."""
    workload = Overlapping(**point.settings)
    _ = workload.subscriptions, workload.selectivity
    contestant = OrderingContestant if point.algorithm in ORDERINGS else OperatorContestant
    tiny = Overlapping(rules=50, predicates=20, model=workload.model)
    contestant(point.algorithm, tiny).evaluate([0, 1])  # loads the kernels
    begun()
    started = time.process_time()
    built = contestant(point.algorithm, workload)
    build_seconds = time.process_time() - started
    events = counted_events(workload, budget)
    built.learn()
    answers = [built.evaluate([event])[1][0] for event in range(CHECKED)]
    return {
        "build_s": build_seconds,
        "construct_s": build_seconds,
        "answers": digest(answers),
        **_counted(built, workload, events),
    }


def counted_events(workload: Overlapping, budget: Budget) -> int:
    """How many events are counted, the same for all contestants of a workload."""
    longest = workload.seconds * workload.predicates  # an event that needs every predicate
    most = min(budget.events, COUNTED)
    return max(CHECKED, min(most, int(WAITING / longest))) if longest else most


def _counted(
    built: OrderingContestant | OperatorContestant, workload: Overlapping, most: int
) -> Figures:
    """Predicates evaluated and milliseconds per event."""
    together = 1 if isinstance(built, OrderingContestant) else built.together
    evaluated = matches = events = 0
    started = time.perf_counter()
    while events < most:
        numbers = list(range(events, min(events + together, most)))
        count, answers = built.evaluate(numbers)
        evaluated += count
        matches += sum(map(len, answers))
        events += len(answers)
    wall = time.perf_counter() - started
    return {
        "evaluated": evaluated / events,
        "wall_ms": wall / events * 1e3,
        "events": events,
        "matches": matches / events,
        "selectivity": matches / events / workload.rules,
    }


class OrderingContestant:
    """An ordering of the papers, or the engine's order among them."""

    def __init__(self, algorithm: str, workload: Overlapping) -> None:
        module, _, name = ORDERINGS[algorithm].partition(".")
        kind: type[Ordering] = getattr(
            import_module(f"matchwood.lab.papers.ordering.{module}"), name
        )
        costs = np.full(workload.predicates, workload.seconds or 1.0)
        self._problem = OrderingProblem(*workload.subscriptions, workload.selectivity, costs)
        self._ordering = kind(self._problem)
        self._workload = workload

    def learn(self) -> None:
        """Do nothing: an ordering is told all there is to know."""

    def evaluate(self, events: Sequence[int]) -> tuple[int, list[list[int]]]:
        """How many predicates were evaluated, and which subscriptions each event matches."""
        count, answers = 0, []
        for event in events:
            done = self._ordering.evaluate(self._workload.truth(event))
            if self._workload.seconds:
                for _ in done.predicates:
                    time.sleep(self._workload.seconds)
            count += len(done.predicates)
            answers.append(np.flatnonzero(done.matched).tolist())
        return count, answers


class OperatorContestant:
    """Matchwood's own engine, one event at a time or a batch of 64."""

    def __init__(self, algorithm: str, workload: Overlapping) -> None:
        rules = dict(enumerate(workload.texts()))
        self._matcher = Matcher(rules, operators=workload.operators())
        self._seconds = workload.seconds
        self.together = 64 if algorithm == "engine-batch" else 1

    def learn(self) -> None:
        """Match events that are not counted, for as long as learning may take."""
        end = self._spent() + LEARNING_SECONDS
        for event in range(FIRST_LEARNED, FIRST_LEARNED + LEARNING, self.together):
            self.evaluate(list(range(event, event + self.together)))
            if self._spent() > end:
                break

    def _spent(self) -> float:
        """Seconds that do not depend on what else the machine does."""
        return time.process_time() + self._seconds * self._calls()

    def evaluate(self, events: Sequence[int]) -> tuple[int, list[list[int]]]:
        """How many predicates were evaluated, and which subscriptions each event matches."""
        before = self._calls()
        rows = [{"event": event} for event in events]
        if self.together == 1:
            answers = [sorted(self._matcher.match(event)) for event in rows]
        else:
            answers = [[] for _ in rows]
            pairs = self._matcher.match_batch(rows).to_pydict()
            for event, rule in zip(pairs["event"], pairs["rule_id"], strict=True):
                answers[event].append(rule)
        return self._calls() - before, answers

    def _calls(self) -> int:
        return sum(operator.calls for operator in self._matcher.operator_report().operators)
