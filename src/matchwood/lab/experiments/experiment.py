"""What an experiment is: something varied, some contestants, what is measured, what was reported.

An experiment does not say how it is run. Its points, one per value and contestant, are measured by
`experiments.running`, each once: figures that show the same runs share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from matchwood.lab.experiments.statements import Statement

# The scales of an experiment: one to try it with, and the paper's.
SCALES = ("small", "paper")
Value = int | float | str
Settings = Mapping[str, Any]


class Measure(NamedTuple):
    """Something measured at a point: its key in results, its title in plots, and its unit."""

    name: str
    title: str
    unit: str
    scale: float = 1.0  # multiplies a result to give the unit
    whole: str = ""  # the measure used instead where a contestant has no such step


# What points are measured by. A measure's title and unit are among its fields.
MATCHING = Measure("match_ms", "matching time", "ms per event")
MEMORY = Measure("bytes", "memory", "MB", 1e-6)
MEMORY_PER_RULE = Measure("bytes_per_rule", "memory per rule", "KB", 1e-3)
BUILDING = Measure("construct_s", "construction time", "s")
TRANSLATED = Measure("translated_bytes", "memory of translated expressions (TR2)", "MB", 1e-6)
TRANSLATING = Measure("translate_s", "time to translate expressions (TR2)", "s")
OWN_BUILDING = Measure("own_s", "construction time without what all share", "s")
INSERTING = Measure("insert_ms", "time to add a rule", "ms")
REMOVING = Measure("remove_ms", "time to remove a rule", "ms")
CANDIDATES = Measure("candidates", "rules tried one by one", "per event")
VISITED = Measure("nodes", "nodes or entries visited", "per event")
FINDING = Measure("index_ms", "index evaluation", "ms per event", whole="match_ms")
SORTING = Measure("sort_ms", "sorting", "ms per event", whole="match_ms")
EVALUATING = Measure("evaluate_ms", "expression evaluation", "ms per event", whole="match_ms")
DEVIATION = Measure("match_deviation_ms", "standard deviation of matching time", "ms")
PLAN_COST = Measure("plan_cost", "cost of the plan", "steps per rule")
FALSE_POSITIVES = Measure("false_positives", "rules that are named but not true", "per event")
SELECTIVITY = Measure("selectivity", "rules that an event matches", "%", 100.0)


class FromWorkload(NamedTuple):
    """The value of a switch that is a setting of one workload; others go without the switch."""

    workload: str
    setting: str


@dataclass(frozen=True)
class Contestant:
    """An algorithm by its name in `matchwood.lab.papers`, with switches; or the engine.

    `ENGINE` is `Matcher.match`, one event after the other, and `BATCH` is `Matcher.match_batch`.
    """

    label: str
    algorithm: str
    switches: Mapping[str, Any] = field(default_factory=dict)
    as_published: bool = False  # whether switches make it what the paper has, not a variant of it


# The engine, matching one event after the other.
ENGINE = Contestant("matchwood", "engine")

# The engine, matching a batch of events.
BATCH = Contestant("matchwood, batch", "engine-batch")

# The contestants that are not from a paper.
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
    # By scale, the settings that all values share. If workloads are varied, by scale and value; the
    # value is the name of the workload, unless "workload" is among the settings.
    settings: Mapping[str, Settings]
    # A setting of the workload, the "order" of arrival, or "workload". The setting "added" is the
    # number of rules that are added one by one at the end.
    varied: str
    values: Mapping[str, tuple[Value, ...]]  # by scale
    contestants: tuple[Contestant, ...]
    axis: str = ""  # the title of the horizontal axis: what is varied
    statements: tuple[Statement, ...] = ()
    theirs: str = ""  # the paper's size and workload, which stand beside ours
    # The paper's figures by measure, contestant and value, in the unit of the measure.
    reported: Mapping[str, Mapping[str, Mapping[Value, float]]] = field(default_factory=dict)
    grows: bool = False  # larger values need more, so that what is over budget stays over budget
    note: str = ""  # where our experiment differs from the paper's

    def runs(self, scale: str) -> Iterator[tuple[Value, str, dict[str, Any]]]:
        """Each value with the workload and all its settings."""
        fixed = self.settings[scale]
        for value in self.values[scale]:
            if self.varied == "workload":
                settings = dict(fixed[str(value)])
                yield value, settings.pop("workload", str(value)), settings
            else:
                yield value, self.workload, {**fixed, self.varied: value}
