"""What an experiment is: something varied, some contestants, what is measured, what was reported.

An experiment says nothing of how it is run. Its points, one for each value and contestant, are
measured by `matchwood.bench.laboratory`, each once: figures that show the same runs share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from matchwood.bench.experiments.claims import Claim

SCALES = ("small", "paper")
Value = int | float | str
Settings = Mapping[str, Any]


class Measure(NamedTuple):
    """A figure of a point: its name in results, what a plot calls it, and its unit."""

    name: str
    title: str
    unit: str
    scale: float = 1.0  # results times this are in the unit
    whole: str = ""  # what stands for it where a contestant has no such step


MATCHING = Measure("match_ms", "matching time", "ms an event")
MEMORY = Measure("bytes", "memory", "MB", 1e-6)
MEMORY_A_RULE = Measure("bytes_a_rule", "memory a rule", "KB", 1e-3)
BUILDING = Measure("construct_s", "construction time", "s")
INSERTING = Measure("insert_ms", "time to add a rule", "ms")
CANDIDATES = Measure("candidates", "rules tried one by one", "an event")
VISITED = Measure("nodes", "nodes or entries visited", "an event")
FINDING = Measure("index_ms", "index evaluation", "ms an event", whole="match_ms")
SORTING = Measure("sort_ms", "sorting", "ms an event", whole="match_ms")
EVALUATING = Measure("evaluate_ms", "expression evaluation", "ms an event", whole="match_ms")
DEVIATION = Measure("match_deviation_ms", "standard deviation of matching time", "ms")
PLAN_COST = Measure("plan_cost", "cost of the plan", "steps a rule")
FALSE_POSITIVES = Measure("false_positives", "rules that are named but not true", "an event")
SELECTIVITY = Measure("selectivity", "rules that an event matches", "%", 100.0)


@dataclass(frozen=True)
class Contestant:
    """An algorithm by its name in `matchwood.papers`, with switches; or the engine.

    `ENGINE` is `Matcher.match`, one event after the other, and `BATCH` is `Matcher.match_batch`.
    """

    label: str
    algorithm: str
    switches: Mapping[str, Any] = field(default_factory=dict)


ENGINE = Contestant("matchwood", "engine")
BATCH = Contestant("matchwood, batch", "engine-batch")
OURS = (ENGINE, BATCH)


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper."""

    name: str
    paper: str  # authors and year
    shown: str  # "Figure 12(a)"
    title: str
    measures: tuple[Measure, ...]
    workload: str  # a name of `workloads.catalogue`, or "" where workloads are varied
    # By scale, what is the same at all values. If workloads are varied, by scale and value, which
    # is the name of the workload unless "workload" is among the settings.
    settings: Mapping[str, Settings]
    # A setting of the workload, "order" of arrival, or "workload". A setting "added" is of how
    # many rules are added one by one in the end.
    varied: str
    values: Mapping[str, tuple[Value, ...]]  # by scale
    contestants: tuple[Contestant, ...]
    axis: str = ""  # what a plot calls that which is varied
    claims: tuple[Claim, ...] = ()
    # Of the paper, by measure, contestant and value, in the unit of the measure.
    reported: Mapping[str, Mapping[str, Mapping[Value, float]]] = field(default_factory=dict)
    grows: bool = False  # larger values need more: what is over budget stays so
    note: str = ""  # where ours is not the paper's

    def runs(self, scale: str) -> Iterator[tuple[Value, str, dict[str, Any]]]:
        """Each value with the workload and all its settings."""
        given = self.settings[scale]
        for value in self.values[scale]:
            if self.varied == "workload":
                settings = dict(given[str(value)])
                yield value, settings.pop("workload", str(value)), settings
            else:
                yield value, self.workload, {**given, self.varied: value}
