"""The rules that are true of one event: by the indexes of the parts, then one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule
from matchwood.match.search.event_matches import EventMatches
from matchwood.operators.deciding import Decider
from matchwood.operators.open_clauses import ClauseSource, Undecided

# Whose clauses an event leaves open, what decides them, and which they are.
OpenClausesOfRules = list[tuple[Part | PendingRule, ClauseSource, Any]]


def match_event(
    parts: Sequence[Part],
    pending: Sequence[PendingRule],
    event: Mapping[str, object] | Event,
    wanted: frozenset[str] | None,
    decider: Decider,
) -> EventMatches:
    """The rules that are true of an event, of those with one of the wanted tags (None: of all)."""
    matches = EventMatches(parts, pending)
    seen = event
    open_: OpenClausesOfRules = []
    for part in parts:
        keep = part.keep(wanted)
        ordinals, read = part.matcher.match(seen, keep)
        seen = read or seen
        matches.add(part, ordinals)
        if part.calls_operators:
            seen = seen if isinstance(seen, Event) else Event(seen, decider.aliases)
            clauses = part.operator_rules.open_clauses(seen, ordinals, keep)
            if len(clauses):
                open_.append((part, part.operator_rules.source, clauses))
    if pending or not parts:
        seen = seen if isinstance(seen, Event) else Event(seen, decider.aliases)
        started = perf_counter()
        for rule in pending:
            if wanted is None or wanted & rule.details.tags:
                _evaluate_pending(rule, seen, matches, open_, decider)
        decider.waited += perf_counter() - started
    if open_ and isinstance(seen, Event):
        _ask_operators(seen, matches, open_, decider)
    return matches


def match_json(
    parts: Sequence[Part],
    pending: Sequence[PendingRule],
    text: bytes,
    wanted: frozenset[str] | None,
) -> EventMatches | None:
    """`match_event` for JSON text that is scanned as it is; None if it must be read first."""
    if pending or not parts:
        return None
    matches = EventMatches(parts, pending)
    for part in parts:
        matcher = part.json
        ordinals = None if matcher is None else matcher.match(text, part.keep(wanted))
        if ordinals is None:
            return None
        matches.add(part, np.array(ordinals, np.int32))
    return matches


def _evaluate_pending(
    rule: PendingRule,
    seen: Event,
    matches: EventMatches,
    open_: OpenClausesOfRules,
    decider: Decider,
) -> None:
    if rule.calls is None:
        if evaluate(rule.tree, seen, schema=decider.schema, lists=decider.lists) is True:
            matches.add_pending(rule.details)
        return
    clauses = rule.calls.open_clauses(seen, decider.schema, decider.lists)
    if clauses is None:
        matches.add_pending(rule.details)
    elif len(clauses):
        open_.append((rule, rule.calls.source, clauses))


def _ask_operators(
    seen: Event, matches: EventMatches, open_: OpenClausesOfRules, decider: Decider
) -> None:
    """Ask operators about the rules that are still open."""
    matches.event = event = Undecided(seen, [(source, clauses) for _, source, clauses in open_])
    decider.decide(event)
    for (owner, _, _), true in zip(open_, event.true, strict=True):
        if isinstance(owner, Part):
            matches.add(owner, true)
        elif len(true):
            matches.add_pending(owner.details)
