"""Points are run one after the other, those that are not there yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from matchwood.bench.experiments.experiment import Experiment
from matchwood.bench.laboratory.overlapping import ORDERINGS
from matchwood.bench.laboratory.points import Budget, Point, Step, plan
from matchwood.bench.laboratory.results import Results
from matchwood.bench.laboratory.worker import LATE, MEASURED, OVER, WRONG, Worker
from matchwood.papers.registry import ALGORITHMS

MISSING = "missing"
Told = Callable[[int, int, Point, dict[str, Any] | None], None]


def run(
    chosen: Iterable[Experiment], scale: str, results: Results, budget: Budget, told: Told
) -> Counter[str]:
    """Run what is missing in the results; how many points came out how.

    `told` is called before a point, without figures, and after it, with them.
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
            told(number, len(steps), step.point, None)
            figures = _bound(step, results) or worker.measure(step.point, budget)
            figures = held(step.point, figures, results)
            counted[figures["status"]] += 1
            told(number, len(steps), step.point, results.add(step.point, figures))
    return counted


def known(made: Point) -> bool:
    """Whether the algorithm is there; one that is not, yet, is left out."""
    others = made.algorithm.startswith("engine") or made.algorithm in ORDERINGS
    return others or made.algorithm in ALGORITHMS


def _bound(step: Step, results: Results) -> dict[str, Any] | None:
    """What was over its budget with less is so with more."""
    for key in step.before:
        record = results.records.get(key, {})
        if record.get("status") in (OVER, LATE):
            where = Point(**record["point"]).said()
            return {"status": record["status"], "reason": f"as {where}, with less"}
    return None


def held(made: Point, figures: dict[str, Any], results: Results) -> dict[str, Any]:
    """The answers must be the engine's, all of them; some were held to `evaluate` already."""
    engine = results.get(Point(made.workload, made.settings, "engine", {}))
    if figures["status"] != MEASURED:
        return figures
    if engine is None or engine["status"] != MEASURED or engine["answers"] == figures["answers"]:
        return figures
    reason = f"{made.said()} does not find what the engine finds"
    return {"status": WRONG, "reason": reason, "versions": figures.get("versions")}
