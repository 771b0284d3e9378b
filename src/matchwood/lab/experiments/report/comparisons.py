"""The questions that experiments are run for, answered from all points together.

The ratio of two contestants is the geometric mean over the points that both have, so that swapping
the two gives the reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

from matchwood.lab.experiments.atree_design_figures import (
    BINARY,
    ESTIMATED,
    PLAIN,
    REORGANISED,
    SUPPRESSED,
    UNIQUE,
    UNSHARED,
)
from matchwood.lab.experiments.atree_figures import EXPERIMENTS as COMPARISONS
from matchwood.lab.experiments.atree_settings import ATREE
from matchwood.lab.experiments.experiment import BATCH, ENGINE, OURS, Contestant, Experiment
from matchwood.lab.experiments.running.point_worker import LATE, MEASURED, OVER
from matchwood.lab.experiments.running.points import point
from matchwood.lab.experiments.running.result_file import Results

# The keys of the results that are compared: milliseconds per event, bytes, and seconds.
TIME, BYTES, BUILD = "match_ms", "bytes", "construct_s"
Setting = tuple[str, dict[str, Any]]  # a workload and its settings

# How many times as much the engine has to need for an algorithm to be ahead of it.
AHEAD = 1.05

# The elements of the design: (name, contestant with it, contestant without it).
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
    """Two contestants compared: `other` needs `ratio` times as much as `one`."""

    one: str
    other: str
    measure: str
    ratio: float
    least: float
    most: float
    points: int
    won: int  # points at which `one` needs less

    def said(self) -> str:
        spread = f", from {_times(self.least)} to {_times(self.most)}" if self.points > 1 else ""
        return f"{_times(self.ratio)} ({self.won} of {self.points} points{spread})"


@dataclass(frozen=True)
class Ahead:
    """A point at which a published algorithm needs less than the engine by more than 5 %."""

    where: str
    algorithm: str
    measure: str
    ratio: float  # how many times as much the engine needs


@dataclass(frozen=True)
class Answers:
    """All answers, for a page and for machines."""

    best: dict[str, tuple[int, int]]  # by measure: points at which A-Tree is best, of how many
    atree: list[Compared]  # A-Tree against the other published ones
    elements: dict[str, dict[str, dict[str, Compared]]]  # by element, workload and measure
    engine: list[Compared]  # the engine against each
    ahead: list[Ahead]  # where others are ahead of the engine, the furthest first
    out: dict[str, int]  # points at which a contestant ran out of time or memory, and of which

    def to_json(self) -> dict[str, Any]:
        return {
            "a-tree is best at": {name: list(counts) for name, counts in self.best.items()},
            "a-tree against the others": [vars(each) for each in self.atree],
            "elements of the design": {
                element: {
                    name: {measure: vars(each) for measure, each in by_measure.items()}
                    for name, by_measure in by_workload.items()
                }
                for element, by_workload in self.elements.items()
            },
            "engine against each": [vars(each) for each in self.engine],
            "ahead of the engine": [vars(each) for each in self.ahead],
            "out of time or memory": self.out,
        }


def answers(chosen: Mapping[str, Experiment], scale: str, results: Results) -> Answers:
    """The answers that the results so far give."""
    workloads = _workloads(chosen.values(), scale)
    comparing = _workloads([chosen[e.name] for e in COMPARISONS if e.name in chosen], scale)
    published = _published(chosen.values())
    others = [contestant for contestant in published if contestant != ATREE]
    atree = [
        comparison
        for measure in (TIME, BYTES, BUILD)
        for other in others
        if (comparison := compared(ATREE, other, measure, comparing, results))
    ]
    engine = [
        comparison
        for ours in OURS
        for measure in ((TIME, BYTES, BUILD) if ours is ENGINE else (TIME,))
        for other in published
        if (comparison := compared(ours, other, measure, workloads, results))
    ]
    return Answers(
        best={name: _best(published, name, comparing, results) for name in (TIME, BYTES, BUILD)},
        atree=atree,
        elements=_elements(chosen.values(), scale, results),
        engine=engine,
        ahead=_ahead(published, workloads, results),
        out=_out(results),
    )


def compared(
    contestant: Contestant,
    other: Contestant,
    measure: str,
    workloads: Iterable[Setting],
    results: Results,
) -> Compared | None:
    """Compare two contestants over all workloads on which both were measured."""
    ratios = []
    for workload_setting in workloads:
        own, theirs = (
            _figure(each, measure, workload_setting, results) for each in (contestant, other)
        )
        if own and theirs:
            ratios.append(theirs / own)
    if not ratios:
        return None
    mean = exp(sum(map(log, ratios)) / len(ratios))
    won = sum(ratio > 1 for ratio in ratios)
    return Compared(
        contestant.label, other.label, measure, mean, min(ratios), max(ratios), len(ratios), won
    )


def _figure(
    contestant: Contestant, measure: str, workload_setting: Setting, results: Results
) -> float | None:
    return _measured(contestant, workload_setting, results).get(measure)


def _measured(
    contestant: Contestant, workload_setting: Setting, results: Results
) -> dict[str, Any]:
    """All figures of a contestant; none if it was not measured."""
    record = results.get(point(contestant, *workload_setting))
    return record if record and record["status"] == MEASURED else {}


def _best(
    published: list[Contestant], measure: str, workloads: list[Setting], results: Results
) -> tuple[int, int]:
    """At how many points A-Tree needs least of the published ones, and of how many."""
    won = points = 0
    for workload_setting in workloads:
        figures = {
            each.label: _figure(each, measure, workload_setting, results) for each in published
        }
        known = {label: figure for label, figure in figures.items() if figure}
        if ATREE.label in known and len(known) > 1:
            points += 1
            won += min(known, key=known.__getitem__) == ATREE.label
    return won, points


def _ahead(published: list[Contestant], workloads: list[Setting], results: Results) -> list[Ahead]:
    """Where a published algorithm is ahead of single matches, in time or memory."""
    cases = []
    for measure in (TIME, BYTES):
        for workload_setting in workloads:
            ours = _measured(ENGINE, workload_setting, results)
            for each in published:
                theirs = _measured(each, workload_setting, results)
                if _clearly_more(ours, theirs, measure):
                    where = point(each, *workload_setting).said().partition(" on ")[2]
                    ratio = ours[measure] / theirs[measure]
                    cases.append(Ahead(where, each.label, measure, ratio))
    return sorted(cases, key=lambda case: -case.ratio)


def _clearly_more(ours: dict[str, Any], theirs: dict[str, Any], measure: str) -> bool:
    """Whether the engine needs more, by more than the margin and the spread of repeated runs."""
    own, other = ours.get(measure), theirs.get(measure)
    if not own or not other or own <= AHEAD * other:
        return False
    least, most = ours.get(f"{measure}_spread"), theirs.get(f"{measure}_spread")
    return least is None or most is None or bool(least[0] > most[1])


def _elements(
    chosen: Iterable[Experiment], scale: str, results: Results
) -> dict[str, dict[str, dict[str, Compared]]]:
    """What each element of A-Tree saves, by workload."""
    workloads = _workloads(chosen, scale)
    by_element: dict[str, dict[str, dict[str, Compared]]] = {}
    for name, using, without in ELEMENTS:
        for title, settings in _by_kind(workloads).items():
            for measure in (TIME, BYTES, BUILD):
                result = compared(using, without, measure, settings, results)
                if result is not None:
                    by_element.setdefault(name, {}).setdefault(title, {})[measure] = result
    return by_element


def _by_kind(workloads: Iterable[Setting]) -> dict[str, list[Setting]]:
    kinds: dict[str, list[Setting]] = {}
    for workload, settings in workloads:
        kind = "abe-gen, conjunctions" if "operators" in settings else workload
        kinds.setdefault(kind, []).append((workload, settings))
    return kinds


def _workloads(chosen: Iterable[Experiment], scale: str) -> list[Setting]:
    """All workloads with their settings, each once."""
    by_key: dict[str, Setting] = {}
    for experiment in chosen:
        for _, workload, settings in experiment.runs(scale):
            by_key[point(ENGINE, workload, settings).workload_key] = (workload, settings)
    return list(by_key.values())


def _published(chosen: Iterable[Experiment]) -> list[Contestant]:
    """Contestants of the papers as they were published, A-Tree first."""
    by_algorithm: dict[str, Contestant] = {ATREE.algorithm: ATREE}
    for experiment in chosen:
        for contestant in experiment.contestants:
            published = contestant.as_published or not contestant.switches
            if published and contestant not in (ENGINE, BATCH):
                by_algorithm.setdefault(contestant.algorithm, contestant)
    return list(by_algorithm.values())


def _out(results: Results) -> dict[str, int]:
    counted: dict[str, int] = {}
    for record in results.records.values():
        if record["status"] in (OVER, LATE):
            name = f"{record['point']['algorithm']} {record['status']}"
            counted[name] = counted.get(name, 0) + 1
    return counted


def _times(ratio: float) -> str:
    """A ratio with as many digits as a reader needs."""
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"
