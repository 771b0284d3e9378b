"""Runs the points that have no result yet, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
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
    chosen: Iterable[Experiment], scale: str, results: Results, budget: Budget, report: ReportPoint
) -> Counter[str]:
    """Run the points that are missing in the results; returns how many had each outcome.

    `report` is called before each point, without figures, and after it, with its figures.
    """
    steps = plan(chosen, scale)
    counted: Counter[str] = Counter()
    with Worker() as worker:
        for number, step in enumerate(steps, 1):
            if step.point in results:
                counted["there already"] += 1
                continue
            if not known(step.point):
                counted[MISSING] += 1
                continue
            report(number, len(steps), step.point, None)
            figures = _bound(step, results) or worker.measure(step.point, budget)
            figures = held(step.point, figures, results)
            counted[figures["status"]] += 1
            report(number, len(steps), step.point, results.add(step.point, figures, budget))
    return counted


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
    engine = results.get(Point(made.workload, made.settings, "engine", {}))
    if figures["status"] != MEASURED:
        return figures
    if engine is None or engine["status"] != MEASURED or engine["answers"] == figures["answers"]:
        return figures
    reason = f"{made.said()} answers differently from the engine"
    return {"status": WRONG, "reason": reason}
