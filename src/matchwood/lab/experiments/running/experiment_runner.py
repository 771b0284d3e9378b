"""Runs the points that have no result yet, one after the other or several at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from matchwood.lab.experiments.experiment import Experiment
from matchwood.lab.experiments.running.operator_calls import ORDERINGS
from matchwood.lab.experiments.running.point_worker import LATE, MEASURED, OVER, WRONG, Worker
from matchwood.lab.experiments.running.points import Budget, Point, Step, plan
from matchwood.lab.experiments.running.result_file import Results
from matchwood.lab.papers.algorithms import ALGORITHMS

# The outcome of a point that was not measured.
MISSING = "missing"
# Called with the number of a point, the number of all points, the point, and its figures.
ReportPoint = Callable[[int, int, Point, dict[str, Any] | None], None]


def run(
    chosen: Iterable[Experiment],
    scale: str,
    results: Results,
    budget: Budget,
    report: ReportPoint,
    jobs: int = 1,
) -> Counter[str]:
    """Run the points that are missing in the results; returns how many had each outcome.

    `report` is called before each point, without figures, and after it, with its figures. With
    more than one job, as many points are measured at once, each by a process of its own.
    """
    steps = plan(chosen, scale)
    counted: Counter[str] = Counter()
    missing: dict[int, Step] = {}
    for number, step in enumerate(steps):
        if step.point in results:
            counted["there already"] += 1
        elif not known(step.point):
            counted[MISSING] += 1
        else:
            missing[number] = step
    waiting = _after_what_they_need(missing)
    ready: list[int] = []  # a heap: the first of the plan is next
    running: dict[Future[dict[str, Any]], int] = {}
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        workers = [stack.enter_context(Worker()) for _ in range(jobs)]
        while waiting.is_active():
            for number in waiting.get_ready():
                heappush(ready, number)
            while ready and workers:
                number = heappop(ready)
                report(number + 1, len(steps), missing[number].point, None)
                task = _measured(missing[number], _bound(missing[number], results), budget, workers)
                running[pool.submit(task)] = number
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                number = running.pop(done)
                made = missing[number].point
                figures = held(made, done.result(), results)
                if jobs > 1:
                    figures = {**figures, "at_once": jobs}
                counted[figures["status"]] += 1
                report(number + 1, len(steps), made, results.add(made, figures, budget))
                waiting.done(number)
    return counted


def _after_what_they_need(missing: dict[int, Step]) -> TopologicalSorter[int]:
    """Points by number, after those with smaller values and after the engine's answers."""
    numbers = {step.point.key: number for number, step in missing.items()}
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for number, step in missing.items():
        needed = {*step.before, _engine_on(step.point).key} - {step.point.key}
        sorter.add(number, *(numbers[key] for key in needed if key in numbers))
    sorter.prepare()
    return sorter


def _measured(
    step: Step, bound: dict[str, Any] | None, budget: Budget, workers: list[Worker]
) -> Callable[[], dict[str, Any]]:
    """What measures a point with one of the idle workers, and gives that back."""
    worker = workers.pop()

    def measure() -> dict[str, Any]:
        try:
            return bound or worker.measure(step.point, budget)
        finally:
            workers.append(worker)

    return measure


def known(made: Point) -> bool:
    """Whether the algorithm exists; points of one that does not exist yet are skipped."""
    others = made.algorithm.startswith("engine") or made.algorithm in ORDERINGS
    return others or made.algorithm in ALGORITHMS


def _bound(step: Step, results: Results) -> dict[str, Any] | None:
    """The outcome of a point that was over its budget with a smaller value, or None."""
    for key in step.before:
        record = results.records.get(key, {})
        if record.get("status") in (OVER, LATE):
            where = Point(**record["point"]).said()
            return {"status": record["status"], "reason": f"as {where}, with less"}
    return None


def held(made: Point, figures: dict[str, Any], results: Results) -> dict[str, Any]:
    """Compare all answers with the engine's; some were compared with `evaluate` already."""
    engine = results.get(_engine_on(made))
    if figures["status"] != MEASURED:
        return figures
    if engine is None or engine["status"] != MEASURED or engine["answers"] == figures["answers"]:
        return figures
    reason = f"{made.said()} answers differently from the engine"
    return {"status": WRONG, "reason": reason}


def _engine_on(made: Point) -> Point:
    """The engine's point on the same workload."""
    return Point(made.workload, made.settings, "engine", {})
