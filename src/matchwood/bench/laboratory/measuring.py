"""One point is measured: a workload is made, a contestant built, asked and held to the others.

Times are of the processor, not of the clock: what else runs on the machine takes the caches at
most. Nothing here waits, and nothing that is timed runs in several threads.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from matchwood.bench.kernel import let_learn, warm_up
from matchwood.bench.laboratory import overlapping
from matchwood.bench.laboratory.points import Budget, Point
from matchwood.engine import Matcher
from matchwood.index import build, segment
from matchwood.language import evaluate, parse
from matchwood.papers import conjunctive, predicates
from matchwood.papers.registry import ALGORITHMS
from matchwood.workloads.catalogue import workload

Figures = dict[str, Any]
Event = dict[str, Any]

CHECKED = 5  # events of a point whose answers are compared
EVALUATED = 100  # rules that `evaluate` is asked about for each of them
WARMING = 20  # events before any is timed
FEWEST = 5  # events that are timed however long they take
ROUNDS = 3  # of batches
# Rules to compile kernels with
TINY = {"abe-gen": 300, "fontoura": 300, "ads": 100, "le-subscribe": 60}
PRETENDED = ("order", "added")  # settings of a point that are none of its workload


class Wrong(AssertionError):
    """An answer that is not that of the definition."""


class Bench:
    """The workload that was used last, and which contestants have their kernels compiled."""

    def __init__(self, begun: Callable[[], None] = lambda: None) -> None:
        """`begun` is called when what is measured begins, after all preparations."""
        self._begun = begun
        self._place = ""
        self._rules: dict[int, str] = {}
        self._events: list[Event] = []
        self._truths: list[dict[int, bool]] = []
        self._warm: set[tuple[str, str, str]] = set()

    def measure(self, point: Point, budget: Budget) -> Figures:
        """All figures of a point."""
        if point.workload == "overlapping":  # predicates are calls, and counted
            return overlapping.measure(point, budget, self._begun)
        contestant = CONTESTANTS.get(point.algorithm, _Paper)
        warm = (point.workload, point.algorithm, repr(sorted(point.switches.items())))
        if warm not in self._warm:
            _warm_up(contestant, point)
            self._warm.add(warm)
        if point.place != self._place:
            self._rules, self._events = {}, []
            self._rules, self._events = made(point.workload, point.settings, budget.events)
            self._truths = truths(self._rules, self._events[:CHECKED])
            self._place = point.place
        gc.collect()
        self._begun()
        with Parsing() as parsing:
            begun = time.process_time()
            built = contestant(point, self._rules)
            taken = time.process_time() - begun
        answers = [built.answer(event) for event in self._events[:CHECKED]]
        check(self._truths, answers)
        times = built.times(self._events, budget)
        size = int(built.bytes)  # with what the engine has built because of its events
        return {
            "build_s": taken,
            "construct_s": taken - parsing.seconds,
            "bytes": size,
            "bytes_a_rule": size / len(self._rules),
            "answers": digest(answers),
            **times,
            **inserted(built, point),
        }


class Parsing:
    """How long texts took to become programs over predicates, which all contestants begin with.

    That is one function of the engine, which is timed wherever it is called.
    """

    CALLED_IN = (segment, predicates, conjunctive)

    def __enter__(self) -> Parsing:
        self.seconds = 0.0
        self._gather = build.gather
        for module in self.CALLED_IN:
            setattr(module, "gather", self._timed)  # noqa: B010
        return self

    def __exit__(self, *error: object) -> None:
        for module in self.CALLED_IN:
            setattr(module, "gather", self._gather)  # noqa: B010

    def _timed(self, *given: Any) -> Any:
        begun = time.process_time()
        gathered = self._gather(*given)
        self.seconds += time.process_time() - begun
        return gathered


class _Paper:
    """An algorithm of the papers."""

    def __init__(self, point: Point, rules: Mapping[int, str]) -> None:
        self.rules = len(rules)
        self.algorithm = ALGORITHMS[point.algorithm](rules, **point.switches)

    def match(self, event: Event) -> list[Any]:
        return self.algorithm.match(event)

    def add(self, rule_id: int, rule: str) -> None:
        self.algorithm.add(rule_id, rule)

    def answer(self, event: Event) -> list[Any]:
        """What is compared: without what an approximate algorithm finds too much."""
        found = self.match(event)
        if not self.algorithm.approximate:
            return found
        false = set(self.algorithm.false_positives(event))  # type: ignore[attr-defined]
        return [rule_id for rule_id in found if rule_id not in false]

    @property
    def bytes(self) -> int:
        return self.algorithm.bytes

    def times(self, events: list[Event], budget: Budget) -> Figures:
        """Milliseconds of single matches, what they found, and what they did for it."""
        work: list[tuple[float, ...]] = []
        steps: list[tuple[float, ...]] = []
        costs: list[float] = []

        def after() -> None:
            work.append(tuple(self.algorithm.work))
            if hasattr(self.algorithm, "cost"):
                costs.append(self.algorithm.cost)
            if hasattr(self.algorithm, "timings"):
                steps.append(tuple(self.algorithm.timings))

        figures = timed(self.match, events, budget, self.rules, after)
        names = ("predicates", "nodes", "candidates")
        figures |= dict(zip(names, np.mean(work, axis=0).tolist(), strict=True))
        if steps:
            # Of the clock, so that a mean would count interruptions.
            lookup, find, sort, evaluated = (np.median(steps, axis=0) * 1e3).tolist()
            figures |= {"index_ms": lookup + find, "sort_ms": sort, "evaluate_ms": evaluated}
        if costs:
            figures["plan_cost"] = float(np.mean(costs))
        if self.algorithm.approximate:
            kinds = [self.algorithm.false_positives(e) for e in events[:CHECKED]]  # type: ignore[attr-defined]
            figures["false_positives"] = float(np.mean([len(false) for false in kinds]))
        return figures


class _Engine:
    """Our own, one event at a time."""

    def __init__(self, point: Point, rules: Mapping[int, str]) -> None:
        self.matcher = Matcher(rules)

    def match(self, event: Event) -> list[Any]:
        return list(self.matcher.match(event))

    def add(self, rule_id: int, rule: str) -> None:
        self.matcher[rule_id] = rule

    def answer(self, event: Event) -> list[Any]:
        return self.match(event)

    @property
    def bytes(self) -> int:
        return self.matcher.stats().bytes

    def times(self, events: list[Event], budget: Budget) -> Figures:
        let_learn(self.matcher, events)
        return timed(self.matcher.match, events, budget, len(self.matcher))


class _Batch(_Engine):
    """Our own, all events at once."""

    def match(self, event: Event) -> list[Any]:
        return [int(i) for i in self.matcher.match_batch([event])["rule_id"].to_pylist()]

    def times(self, events: list[Event], budget: Budget) -> Figures:
        rows = 0

        def all_at_once() -> None:
            nonlocal rows
            rows = sum(piece.num_rows for piece in self.matcher.match_batches(events))

        all_at_once()
        begun = time.process_time()
        for _ in range(ROUNDS):
            all_at_once()
        taken = time.process_time() - begun
        return {
            "match_ms": taken / ROUNDS / len(events) * 1e3,
            "events": len(events),
            "matches": rows / len(events),
            "selectivity": rows / len(events) / len(self.matcher),
        }


CONTESTANTS: dict[str, Any] = {"engine": _Engine, "engine-batch": _Batch}


def made(name: str, settings: Mapping[str, Any], events: int) -> tuple[dict[int, str], list[Event]]:
    """The rules and events of a workload; with `order` above 0 the rules arrive in another one."""
    given = {name: value for name, value in settings.items() if name not in PRETENDED}
    order = settings.get("order", 0)
    workload_made = workload(name, **given)
    rules = list(enumerate(workload_made.texts()))
    if order:
        Random(order).shuffle(rules)
    return dict(rules), workload_made.events(events)


def timed(
    match: Callable[[Event], list[Any]],
    events: list[Event],
    budget: Budget,
    rules: int,
    after: Callable[[], None] | None = None,
) -> Figures:
    """Time matches, one event after the other, until all are timed or time is over.

    Each is timed twice, and the shorter counts: a kernel that is loaded, or a collection of
    garbage, is no part of a match.
    """
    begun = time.thread_time()
    for event in islice(events, WARMING):
        match(event)
        if time.thread_time() - begun > budget.matching_seconds / 4:
            break
    taken, found = [], []
    end = time.thread_time() + budget.matching_seconds
    for event in events:
        start = time.thread_time()
        matches = match(event)
        now = time.thread_time()
        taken.append(now - start)
        found.append(len(matches))
        if after is not None:
            after()
        if now > end and len(taken) >= FEWEST:
            break
    for number, event in enumerate(islice(events, len(taken))):
        start = time.thread_time()
        match(event)
        taken[number] = min(taken[number], time.thread_time() - start)
    return {
        "match_ms": float(np.mean(taken) * 1e3),
        "match_p50_ms": float(np.median(taken) * 1e3),
        "match_deviation_ms": float(np.std(taken) * 1e3),
        "events": len(taken),
        "matches": float(np.mean(found)),
        "selectivity": float(np.mean(found)) / max(1, rules),
    }


def inserted(built: Any, point: Point) -> Figures:
    """Milliseconds to add a rule, where the point is about that: of the workload's next rules."""
    count = point.settings.get("added", 0)
    if not count:
        return {}
    rules = point.settings["rules"]
    given = {name: value for name, value in point.settings.items() if name not in PRETENDED}
    texts = workload(point.workload, **{**given, "rules": rules + count}).texts(rules)
    begun = time.process_time()
    for number, text in enumerate(texts, rules):
        built.add(number, text)
    return {"insert_ms": (time.process_time() - begun) / count * 1e3}


def truths(rules: Mapping[int, str], events: list[Event]) -> list[dict[int, bool]]:
    """Whether some rules are true of each event, as the definition of their meaning says."""
    some = Random(1).sample(list(rules.items()), min(EVALUATED, len(rules)))
    trees = [(rule_id, parse(text)) for rule_id, text in some]
    return [{rule_id: evaluate(tree, event) is True for rule_id, tree in trees} for event in events]


def check(expected: list[dict[int, bool]], answers: list[list[Any]]) -> None:
    """Those rules must be among the answers just where they are true."""
    for number, (known, answer) in enumerate(zip(expected, answers, strict=True)):
        found = set(answer)
        if len(found) < len(answer):
            raise Wrong(f"event {number} has a rule twice")
        for rule_id, true in known.items():
            if true != (rule_id in found):
                raise Wrong(f"rule {rule_id} is {true} of event {number}, and that was not found")


def digest(answers: list[list[Any]]) -> str:
    """The same for the same sets of ids."""
    return sha256(repr([sorted(answer) for answer in answers]).encode()).hexdigest()[:16]


def _warm_up(contestant: Any, point: Point) -> None:
    """Compile, or load from the cache, what a contestant runs, before anything is timed."""
    rules, events = made(point.workload, {"rules": TINY.get(point.workload, 300)}, 30)
    built = contestant(point, rules)
    built.times(events, Budget(1, 1, 30, 0.05))
    inserted(built, replace(point, settings={**point.settings, "rules": len(rules)}))
    if isinstance(built, _Engine):
        warm_up()  # small and large segments have kernels of their own
    gc.collect()
    gc.freeze()  # the compiler's objects are many, and each collection would look at them
