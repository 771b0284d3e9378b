"""Points of experiments: one contestant on one workload. Several figures may share a point."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from matchwood.lab.experiments.experiment import Contestant, Experiment, FromWorkload
from matchwood.lab.workloads.catalogue import WORKLOADS


@dataclass(frozen=True)
class Budget:
    """What one point may take, and how many events it is measured with."""

    seconds: float
    gib: float
    events: int  # the same for all contestants

    @property
    def bytes(self) -> int:
        return int(self.gib * 2**30)


# The budget of a point at each scale.
BUDGETS = {
    "small": Budget(seconds=20, gib=2, events=500),
    "paper": Budget(seconds=900, gib=12, events=200),
}


@dataclass(frozen=True)
class Point:
    """A workload with its settings, and a contestant."""

    workload: str
    settings: dict[str, Any]
    algorithm: str
    switches: dict[str, Any]

    @property
    def key(self) -> str:
        """The same for the same point, whatever experiment asks for it."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def workload_key(self) -> str:
        """The workload alone, which all contestants of a value share."""
        return json.dumps([self.workload, self.settings], sort_keys=True)

    def said(self) -> str:
        """A description for a person who waits."""
        usual = defaults(self.workload)
        unusual = {k: v for k, v in self.settings.items() if k == "rules" or v != usual.get(k, 0)}
        settings = ", ".join(f"{name} {value}" for name, value in unusual.items())
        switches = "".join(f", {name} {value}" for name, value in self.switches.items())
        return f"{self.algorithm}{switches} on {self.workload} ({settings})"


def point(contestant: Contestant, workload: str, settings: dict[str, Any]) -> Point:
    """The point of a contestant, with all settings of the workload, defaults included."""
    complete = {**defaults(workload), **settings}
    if not complete.get("order", 1):
        del complete["order"]  # 0 is the default, so that other figures share the point
    return Point(
        workload, complete, contestant.algorithm, _switches(contestant, workload, complete)
    )


def _switches(contestant: Contestant, workload: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The switches of a contestant on a workload."""
    switches: dict[str, Any] = {}
    for name, value in contestant.switches.items():
        if not isinstance(value, FromWorkload):
            switches[name] = value
        elif value.workload == workload:
            switches[name] = settings[value.setting]
    return switches


@cache
def defaults(workload: str) -> dict[str, Any]:
    """The default settings of a workload."""
    usual: dict[str, Any] = json.loads(json.dumps(asdict(WORKLOADS[workload]())))
    return usual


@dataclass(frozen=True)
class Step:
    """A point, and the keys of points with smaller values: if one of them failed, so will this."""

    point: Point
    before: tuple[str, ...]


def plan(chosen: Iterable[Experiment], scale: str) -> list[Step]:
    """Each point of some experiments once, with the points of one workload together."""
    steps: dict[str, Step] = {}
    for experiment in chosen:
        for contestant in experiment.contestants:
            before: tuple[str, ...] = ()
            for _, workload, settings in experiment.runs(scale):
                made = point(contestant, workload, settings)
                known = steps.get(made.key)
                earlier = (*(known.before if known else ()), *(before if experiment.grows else ()))
                steps[made.key] = Step(made, earlier)
                before = (*before, made.key)
    workload_of = {key: step.point.workload_key for key, step in steps.items()}
    waits: dict[str, set[str]] = {workload: set() for workload in workload_of.values()}
    for step in steps.values():
        waits[step.point.workload_key] |= {workload_of[key] for key in step.before}
    sequence = TopologicalSorter(waits).static_order()
    order = {workload: number for number, workload in enumerate(sequence)}
    return sorted(steps.values(), key=lambda s: (order[s.point.workload_key], _turn(s.point)))


def _turn(made: Point) -> int:
    """The engine comes first: the answers of all others are compared with its answers."""
    return 0 if made.algorithm == "engine" else 1
