"""The matches of a slice of events: by the indexes of the parts, then one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.language.evaluation import evaluate
from matchwood.match.batch.gpu.card import CPU
from matchwood.match.batch.pairs import EventNumbers, Pairs
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule, TakingOver
from matchwood.match.search.event_slices import EventSlice
from matchwood.operators.deciding import Decider
from matchwood.operators.open_clauses import ClauseSource, Undecided

# The index of the first rule of a part, whose rules follow each other, or that of each rule.
RuleIndexes = int | Int32Array

# By event: what decides its open clauses, which they are, and the indices of these rules.
OpenClausesOfEvents = dict[int, list[tuple[ClauseSource, Int32Array, RuleIndexes]]]


def match_slice(
    parts: Sequence[Part],
    pending: Sequence[PendingRule],
    first_rules: Sequence[int],
    first_pending: int,
    events: EventSlice,
    wanted: frozenset[str] | None,
    decider: Decider,
    device: str = CPU,
    limit: int | None = None,
    taking_over: TakingOver | None = None,
) -> Iterator[Pairs]:
    """(numbers of events, indices of rules) of all matches of a slice, in pieces.

    With a limit, matches may be left out if as many others of their event have a higher priority.
    The rules of each part are numbered from its entry of `first_rules` on, in the order of their
    ordinals; pending rules are numbered from `first_pending` on, also once they are built.
    """
    open_: OpenClausesOfEvents = {}
    indexed: list[tuple[Part, RuleIndexes]] = list(zip(parts, first_rules, strict=True))
    built = None if taking_over is None else taking_over()
    if built is not None:
        indexed.append((built.part, built.order + np.int32(first_pending)))
        pending = ()
    for part, first in indexed:
        codes = events.part_codes(part)
        keep = part.keep(wanted)
        true: dict[int, list[Int32Array]] = {}
        if limit is None or part.calls_operators:
            found = part.batch.pairs(codes, keep, device)
        else:
            priority = part.details.priority
            found = part.batch.best_pairs(codes, keep, priority, limit, device)
        for numbers, ordinals in found:
            if part.calls_operators and part.operator_rules.some_need_no_call:
                _note_operator_rules(numbers, ordinals, part, true)
            yield numbers, _indices(ordinals, first)
        if part.calls_operators:
            rules = part.operator_rules
            codes = events.part_codes(rules)
            for event, clauses in rules.open_by_event(codes, true, keep):
                open_.setdefault(event, []).append((rules.source, clauses, first))
    wanted_pending = [
        (number, rule)
        for number, rule in enumerate(pending, first_pending)
        if wanted is None or wanted & rule.details.tags
    ]
    if wanted_pending:
        yield _evaluate_pending(wanted_pending, events, decider, open_)
    if open_:
        yield _ask_operators(open_, events, decider)


def _note_operator_rules(
    numbers: EventNumbers, ordinals: Int32Array, part: Part, true: dict[int, list[Int32Array]]
) -> None:
    """Note by event which rules with calls are true without a call."""
    chosen = part.operator_rules.is_one[ordinals]
    for event, ordinal in zip(numbers[chosen].tolist(), ordinals[chosen], strict=True):
        true.setdefault(event, []).append(np.array([ordinal], np.int32))


def _evaluate_pending(
    pending: Sequence[tuple[int, PendingRule]],
    events: EventSlice,
    decider: Decider,
    open_: OpenClausesOfEvents,
) -> Pairs:
    """The matches of pending rules; clauses that only calls can decide are added to `open_`."""
    started = perf_counter()
    matched_events: list[int] = []
    matched_rules: list[int] = []
    for event in range(events.events):
        seen = events.row(event)
        for number, rule in pending:
            if rule.calls is None:
                truth = evaluate(rule.tree, seen, schema=decider.schema, lists=decider.lists)
                true = truth is True
            else:
                clauses = rule.calls.open_clauses(seen, decider.schema, decider.lists)
                true = clauses is None
                if clauses is not None and len(clauses):
                    open_.setdefault(event, []).append((rule.calls.source, clauses, number))
            if true:
                matched_events.append(event)
                matched_rules.append(number)
    decider.waited += perf_counter() - started
    return np.array(matched_events, np.int32), np.array(matched_rules, np.int32)


def _ask_operators(open_: OpenClausesOfEvents, events: EventSlice, decider: Decider) -> Pairs:
    """The matches that operators decide."""
    undecided = [
        Undecided(events.row(event), [(source, clauses) for source, clauses, _ in per_part])
        for event, per_part in open_.items()
    ]
    decider.decide_many(undecided)
    matched_events, matched_rules = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for (event, per_part), decided in zip(open_.items(), undecided, strict=True):
        for (_, _, first), true in zip(per_part, decided.true, strict=True):
            matched_events.append(np.full(len(true), event, np.int32))
            matched_rules.append(_indices(true, first))
    return np.concatenate(matched_events), np.concatenate(matched_rules)


def _indices(ordinals: Int32Array, indexes: RuleIndexes) -> Int32Array:
    """The indices of some rules of a part."""
    if not isinstance(indexes, int):
        return indexes[ordinals]
    return ordinals + np.int32(indexes) if indexes else ordinals
