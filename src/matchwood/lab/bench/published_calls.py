"""The orderings of Liu et al. and the engine, with an operator that takes processor time.

An operator that sleeps would take longer than it says, and more so on a busy machine. So this one
spins, which makes the time of a match the processor time of everything: the calls, and finding out
which of them to make.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from matchwood.lab.papers.ordering.naive import Naive
from matchwood.lab.papers.ordering.problem import Ordering, OrderingProblem
from matchwood.lab.papers.ordering.sequential import Sequential
from matchwood.lab.papers.ordering.sub_order import SubOrder
from matchwood.lab.workloads.overlapping import Overlapping
from matchwood.matcher import Matcher
from matchwood.operators import Operator, Operators

# The orderings of the paper by their names in tables.
ORDERINGS: dict[str, type[Ordering]] = {
    "naive": Naive, "sequential": Sequential, "sub-order": SubOrder,
}  # fmt: skip

# Seconds of processor time that a call takes.
CALL = 0.0001

# The paper has four times as many subscriptions as predicates in Figures 7 and 8.
RULES_PER_PREDICATE = 4

# Events that are timed, and events that the engine learns from before.
TIMED, LEARNED = 10, 60


def contestants_with_calls(
    rules: int, seed: int, settings: Mapping[str, Any], orderings: Sequence[str]
) -> tuple[dict[str, Callable[[int], Any]], float, list[int]]:
    """(contestants, matches per event, events): each contestant takes the number of an event."""
    predicates = max(10, rules // RULES_PER_PREDICATE)
    workload = Overlapping(rules=rules, predicates=predicates, seed=seed, **settings)
    events = list(range(TIMED))
    truths = [workload.truth(event) for event in range(TIMED + LEARNED)]

    def holds(event: Mapping[str, object], number: int, predicate: int) -> bool:
        spin(1)
        return bool(truths[number][predicate])

    operators = Operators([Operator("holds", holds, cost=CALL)])
    matcher = Matcher(dict(enumerate(workload.texts())), operators=operators)
    for event in range(TIMED, TIMED + LEARNED):
        matcher.match({"event": event})
    matches = [sorted(matcher.match({"event": event})) for event in events]
    contestants: dict[str, Callable[[int], Any]] = {
        "engine": lambda event: matcher.match({"event": event})
    }
    costs = np.full(predicates, CALL)
    problem = OrderingProblem(*workload.subscriptions, workload.selectivity, costs)
    for name in orderings:
        ordering = ORDERINGS[name](problem)
        for event, right in zip(events, matches, strict=True):
            if np.flatnonzero(ordering.evaluate(truths[event]).matched).tolist() != right:
                raise AssertionError(f"{name} does not find what the engine finds")
        contestants[name] = with_calls(ordering, truths)
    return contestants, float(np.mean([len(right) for right in matches])), events


def with_calls(ordering: Ordering, truths: list[Any]) -> Callable[[int], None]:
    """A match by an ordering, with the time of the calls that it makes."""

    def match(event: int) -> None:
        spin(len(ordering.evaluate(truths[event]).predicates))

    return match


def spin(calls: int) -> None:
    """Take the processor time of some calls."""
    end = time.thread_time() + calls * CALL
    while time.thread_time() < end:
        pass
