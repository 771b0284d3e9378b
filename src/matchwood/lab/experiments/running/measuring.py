"""Measures a point: makes the workload, builds and times the contestant, checks its answers."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from matchwood.index.build import segment
from matchwood.lab.bench.kernel import warm_up
from matchwood.lab.experiments.running import operator_calls
from matchwood.lab.experiments.running.answer_check import CHECKED, Event, check, digest, truths
from matchwood.lab.experiments.running.contestants import (
    CONTESTANTS,
    RUNS,
    EngineContestant,
    Figures,
    PaperContestant,
    repeated,
)
from matchwood.lab.experiments.running.points import Budget, Point
from matchwood.lab.papers.shared import axes, forms, predicate_lookup
from matchwood.lab.workloads.catalogue import workload

# How many rules kernels are compiled with, by workload; 300 of any other.
TINY = {"abe-gen": 300, "fontoura": 300, "ads": 100, "le-subscribe": 60}
# Seconds after which a construction is not repeated.
BUILDING_SECONDS = 2
# Settings of a point that its workload does not have.
NOT_OF_WORKLOADS = ("order", "added")


class Bench:
    """Measures points. It keeps the last workload, and knows which kernels are loaded."""

    def __init__(self, begun: Callable[[], None] = lambda: None) -> None:
        """`begun` is called when measuring begins, after all preparations."""
        self._begun = begun
        self._workload_key = ""
        self._rules: dict[int, str] = {}
        self._events: list[Event] = []
        self._truths: list[dict[int, bool]] = []
        self._warm: set[tuple[object, ...]] = set()

    def measure(self, point: Point, budget: Budget) -> Figures:
        """All figures of a point."""
        if point.workload == "overlapping":  # its predicates are calls, which are counted
            return operator_calls.measure(point, budget, self._begun)
        contestant = CONTESTANTS.get(point.algorithm, PaperContestant)
        adding = point.settings.get("added", 0) > 0  # which has kernels of its own
        warm = (point.workload, point.algorithm, repr(sorted(point.switches.items())), adding)
        if warm not in self._warm:
            _warm_up(contestant, point, budget)
            self._warm.add(warm)
        if point.workload_key != self._workload_key:
            self._rules, self._events = {}, []
            self._rules, self._events = made(point.workload, point.settings, budget.events)
            self._truths = truths(self._rules, self._events[:CHECKED])
            self._workload_key = point.workload_key
        gc.collect()
        self._begun()
        built, construction = constructed(contestant, point, self._rules, budget)
        answers = [built.answer(event) for event in self._events[:CHECKED]]
        check(self._truths, answers)
        times = built.times(self._events)
        size = int(built.bytes)  # includes what the engine has built because of its events
        return {
            **construction,
            "bytes": size,
            "buffer_bytes": int(built.buffers),
            "bytes_per_rule": size / len(self._rules),
            "answers": digest(answers),
            **times,
            **inserted(built, point),
        }


class Steps:
    """Measures the steps of construction that are not a contestant's own.

    *Parsing* turns texts into programs over predicates, which is one function of the engine,
    `gather`. *Shared* is what the algorithms of the papers have in common: the lookup of predicates
    or axes, and rules as trees of `and` and `or`. Both are replaced, wherever they are called, by
    functions that add up their time; a step within another counts once.
    """

    CALLED_IN = (segment, predicate_lookup, axes)
    METHODS = ((predicate_lookup.PredicateLookup, "gather"), (axes.Axes, "gather"))

    def __enter__(self) -> Steps:
        self.seconds = {"parsing": 0.0, "shared": 0.0}
        self._replaced: list[tuple[Any, str, Any]] = []
        for module in self.CALLED_IN:
            self._replace(module, "gather", "parsing")
        for kind, name in self.METHODS:
            self._replace(kind, name, "shared")
        for name, module in list(sys.modules.items()):
            written = getattr(module, "forms", None)
            if name.startswith("matchwood.lab.papers") and written is forms.forms:
                self._replace(module, "forms", "shared")
        return self

    def __exit__(self, *error: object) -> None:
        for owner, name, function in self._replaced:
            setattr(owner, name, function)

    def _replace(self, owner: Any, name: str, step: str) -> None:
        function = getattr(owner, name)

        def timed(*arguments: Any) -> Any:
            begun, within = time.process_time(), sum(self.seconds.values())
            result = function(*arguments)
            within = sum(self.seconds.values()) - within
            self.seconds[step] += time.process_time() - begun - within
            return result

        self._replaced.append((owner, name, function))
        setattr(owner, name, timed)


def constructed(
    contestant: Any, point: Point, rules: Mapping[int, str], budget: Budget
) -> tuple[Any, Figures]:
    """A contestant, and seconds to build it: the median of several runs, unless they take long."""
    runs: list[Figures] = []
    built = None
    while len(runs) < RUNS and sum(run["build_s"] for run in runs) < BUILDING_SECONDS:
        del built  # so that there is memory for one at a time
        gc.collect()
        with Steps() as steps:
            begun = time.process_time()
            built = contestant(point, rules, budget)
            build_seconds = time.process_time() - begun
        runs.append({
            "build_s": build_seconds,
            "construct_s": build_seconds - steps.seconds["parsing"],
            "shared_s": steps.seconds["shared"],
            "own_s": build_seconds - sum(steps.seconds.values()),
        })  # fmt: skip
    ranked = sorted(runs, key=lambda run: run["construct_s"])
    spread = [ranked[0]["construct_s"], ranked[-1]["construct_s"]]
    known = {"construct_s_spread": spread} if len(runs) > 1 else {}
    return built, {**ranked[(len(runs) - 1) // 2], **known}


def made(name: str, settings: Mapping[str, Any], events: int) -> tuple[dict[int, str], list[Event]]:
    """The rules and events of a workload; if `order` is above 0 the rules are shuffled with it."""
    order = settings.get("order", 0)
    generator = workload(name, **_workload_settings(settings))
    rules = list(enumerate(generator.texts()))
    if order:
        Random(order).shuffle(rules)
    return dict(rules), generator.events(events)


def inserted(built: Any, point: Point) -> Figures:
    """Milliseconds to add one of the workload's next rules, and to remove it, if asked for.

    The same rules are added and removed several times.
    """
    count = point.settings.get("added", 0)
    if not count:
        return {}
    rules = point.settings["rules"]
    settings = {**_workload_settings(point.settings), "rules": rules + count}
    texts = workload(point.workload, **settings).texts(rules)
    adding, removing = [], []
    for _ in range(RUNS):
        begun = time.process_time()
        for number, text in enumerate(texts, rules):
            built.add(number, text)
        added = time.process_time()
        for number in range(rules, rules + len(texts)):
            built.remove(number)
        adding.append((added - begun) / count)
        removing.append((time.process_time() - added) / count)
    return {**repeated("insert_ms", adding), **repeated("remove_ms", removing)}


def _workload_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in NOT_OF_WORKLOADS}


def _warm_up(contestant: Any, point: Point, budget: Budget) -> None:
    """Compile the kernels of a contestant, or load them from the cache, before timing."""
    rules, events = made(point.workload, {"rules": TINY.get(point.workload, 300)}, 30)
    built = contestant(point, rules, budget)
    built.times(events)
    inserted(built, replace(point, settings={**point.settings, "rules": len(rules)}))
    if isinstance(built, EngineContestant):
        warm_up()  # small and large segments have kernels of their own
    gc.collect()
    gc.freeze()  # the compiler's objects are many, and each collection would look at them
