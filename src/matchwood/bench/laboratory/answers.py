"""The questions that experiments are run for, answered from all points together.

A ratio of two contestants is the geometric mean over the points that both have, so that it does
not depend on which of them is above and which below the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

from matchwood.bench.experiments.atree import ATREE
from matchwood.bench.experiments.atree import EXPERIMENTS as COMPARISONS
from matchwood.bench.experiments.atree_design import (
    BINARY,
    ESTIMATED,
    PLAIN,
    REORGANISED,
    SUPPRESSED,
    UNIQUE,
    UNSHARED,
)
from matchwood.bench.experiments.experiment import BATCH, ENGINE, OURS, Contestant, Experiment
from matchwood.bench.laboratory.points import point
from matchwood.bench.laboratory.results import Results
from matchwood.bench.laboratory.worker import LATE, MEASURED, OVER

TIME, BYTES, BUILD = "match_ms", "bytes", "build_s"
# What is compared: (with it, without it, what it is called).
ELEMENTS = (
    ("zero suppression", SUPPRESSED, PLAIN),
    ("propagation on demand", ATREE, SUPPRESSED),
    ("both of them", ATREE, PLAIN),
    ("sharing", ATREE, UNSHARED),
    ("n-ary instead of binary trees", ATREE, BINARY),
    ("reorganisation", REORGANISED, UNIQUE),
    ("self-adjustment", ATREE, REORGANISED),
    ("access by estimate, which is ours", ESTIMATED, ATREE),
)


@dataclass(frozen=True)
class Compared:
    """One contestant against another: `ratio` is how many times as much the other needs."""

    one: str
    other: str
    measure: str
    ratio: float
    least: float
    most: float
    points: int
    won: int  # points at which the one needs less

    def said(self) -> str:
        spread = f", from {_times(self.least)} to {_times(self.most)}" if self.points > 1 else ""
        return f"{_times(self.ratio)} ({self.won} of {self.points} points{spread})"


@dataclass(frozen=True)
class Answers:
    """All answers, for a page and for machines."""

    atree: list[Compared]  # A-Tree against the other published ones
    elements: dict[str, dict[str, dict[str, Compared]]]  # by element, workload and measure
    engine: list[Compared]  # the engine against each
    out: dict[str, int]  # points at which a contestant was over its budget

    def to_json(self) -> dict[str, Any]:
        return {
            "a-tree against the others": [vars(each) for each in self.atree],
            "elements of the design": {
                element: {
                    name: {measure: vars(each) for measure, each in found.items()}
                    for name, found in by_workload.items()
                }
                for element, by_workload in self.elements.items()
            },
            "engine against each": [vars(each) for each in self.engine],
            "over budget": self.out,
        }


def answers(chosen: Mapping[str, Experiment], scale: str, results: Results) -> Answers:
    """What the results say, as far as they go."""
    places = _places(chosen.values(), scale)
    comparing = _places([chosen[e.name] for e in COMPARISONS if e.name in chosen], scale)
    published = _published(chosen.values())
    others = [contestant for contestant in published if contestant != ATREE]
    atree = [
        found
        for measure in (TIME, BYTES, BUILD)
        for other in others
        if (found := compared(ATREE, other, measure, comparing, results))
    ]
    engine = [
        found
        for ours in OURS
        for measure in ((TIME, BYTES, BUILD) if ours is ENGINE else (TIME,))
        for other in published
        if (found := compared(ours, other, measure, places, results))
    ]
    return Answers(atree, _elements(chosen.values(), scale, results), engine, _out(results))


def compared(
    one: Contestant,
    other: Contestant,
    measure: str,
    places: Iterable[tuple[str, dict[str, Any]]],
    results: Results,
) -> Compared | None:
    """Two contestants over all workloads at which both were measured."""
    ratios = []
    for workload, settings in places:
        records = [results.get(point(each, workload, settings)) for each in (one, other)]
        figures = [
            record.get(measure) if record and record["status"] == MEASURED else None
            for record in records
        ]
        if figures[0] and figures[1]:
            ratios.append(figures[1] / figures[0])
    if not ratios:
        return None
    mean = exp(sum(map(log, ratios)) / len(ratios))
    won = sum(ratio > 1 for ratio in ratios)
    return Compared(
        one.label, other.label, measure, mean, min(ratios), max(ratios), len(ratios), won
    )


def _elements(
    chosen: Iterable[Experiment], scale: str, results: Results
) -> dict[str, dict[str, dict[str, Compared]]]:
    """What each element of A-Tree saves, by workload."""
    places = _places(chosen, scale)
    found: dict[str, dict[str, dict[str, Compared]]] = {}
    for name, using, without in ELEMENTS:
        for title, some in _by_kind(places).items():
            for measure in (TIME, BYTES, BUILD):
                result = compared(using, without, measure, some, results)
                if result is not None:
                    found.setdefault(name, {}).setdefault(title, {})[measure] = result
    return found


def _by_kind(
    places: Iterable[tuple[str, dict[str, Any]]],
) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    kinds: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for workload, settings in places:
        kind = "conjunctions" if "operators" in settings else workload
        kinds.setdefault(kind, []).append((workload, settings))
    return kinds


def _places(chosen: Iterable[Experiment], scale: str) -> list[tuple[str, dict[str, Any]]]:
    """All workloads with their settings, each once."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for experiment in chosen:
        for _, workload, settings in experiment.runs(scale):
            found[point(ENGINE, workload, settings).place] = (workload, settings)
    return list(found.values())


def _published(chosen: Iterable[Experiment]) -> list[Contestant]:
    """Contestants of the papers as they were published, A-Tree first."""
    found: dict[str, Contestant] = {ATREE.algorithm: ATREE}
    for experiment in chosen:
        for contestant in experiment.contestants:
            if not contestant.switches and contestant not in (ENGINE, BATCH):
                found.setdefault(contestant.algorithm, contestant)
    return list(found.values())


def _out(results: Results) -> dict[str, int]:
    counted: dict[str, int] = {}
    for record in results.records.values():
        if record["status"] in (OVER, LATE):
            name = record["point"]["algorithm"]
            counted[name] = counted.get(name, 0) + 1
    return counted


def _times(ratio: float) -> str:
    """A ratio as a person says it."""
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"
