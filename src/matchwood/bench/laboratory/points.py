"""Points of experiments: one contestant on one workload. What many figures show is one point."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from matchwood.bench.experiments.experiment import Contestant, Experiment
from matchwood.workloads.catalogue import WORKLOADS


@dataclass(frozen=True)
class Budget:
    """What one point may take, and how its events are timed."""

    seconds: float
    gib: float
    events: int  # of a batch, and at most of single matches
    matching_seconds: float  # after which no further event is timed; all are timed twice


BUDGETS = {
    "small": Budget(seconds=20, gib=2, events=1000, matching_seconds=0.1),
    "paper": Budget(seconds=900, gib=12, events=1000, matching_seconds=5),
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
    def place(self) -> str:
        """The workload alone, which all contestants of a value share."""
        return json.dumps([self.workload, self.settings], sort_keys=True)

    def said(self) -> str:
        """For a person who waits."""
        usual = defaults(self.workload)
        given = {k: v for k, v in self.settings.items() if k == "rules" or v != usual.get(k, 0)}
        settings = ", ".join(f"{name} {value}" for name, value in given.items())
        switches = "".join(f", {name} {value}" for name, value in self.switches.items())
        return f"{self.algorithm}{switches} on {self.workload} ({settings})"


def point(contestant: Contestant, workload: str, settings: dict[str, Any]) -> Point:
    """The point of a contestant, with all settings of the workload, also those left as usual."""
    given = {**defaults(workload), **settings}
    if not given.get("order", 1):  # the rules in their own order are what all others have
        del given["order"]
    return Point(workload, given, contestant.algorithm, dict(contestant.switches))


@cache
def defaults(workload: str) -> dict[str, Any]:
    """What the settings of a workload are, if nothing else is said."""
    usual: dict[str, Any] = json.loads(json.dumps(asdict(WORKLOADS[workload]())))
    return usual


@dataclass(frozen=True)
class Step:
    """A point in its turn, and those that it is bound to fail after: of the values before it."""

    point: Point
    before: tuple[str, ...]


def plan(chosen: Iterable[Experiment], scale: str) -> list[Step]:
    """Each point of some experiments once, those of one workload after each other."""
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
    place_of = {key: step.point.place for key, step in steps.items()}
    waits: dict[str, set[str]] = {place: set() for place in place_of.values()}
    for step in steps.values():
        waits[step.point.place] |= {place_of[key] for key in step.before}
    order = {place: number for number, place in enumerate(TopologicalSorter(waits).static_order())}
    return sorted(steps.values(), key=lambda s: (order[s.point.place], _turn(s.point)))


def _turn(made: Point) -> int:
    """The engine comes first: the others are held against its answers."""
    return 0 if made.algorithm == "engine" else 1
