"""Matching for backends that have their own delivery, and checking and explaining rules.

A replica has these routes, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request

from matchwood.language import parse
from matchwood.language.errors import EventError, RuleError
from matchwood.language.events import Event
from matchwood.language.tree import Node, attributes_in
from matchwood.match.parts.rule_checks import check_calls
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.matcher import Bindings, Matcher
from matchwood.service.delivery.acceptance import BULKY_BYTES
from matchwood.service.delivery.event_bodies import check_count, checked_json
from matchwood.service.http.models import (
    CheckIn,
    CheckOut,
    EventMatchesOut,
    ExplainIn,
    MatchIn,
    MatchOut,
    NearMissOut,
    RuleMatch,
)
from matchwood.service.http.request_context import Anybody, Publisher, ReadyToMatch, problems
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem, event_problem, rule_error, rule_problem
from matchwood.service.rules.live_rules import RulesState

router = APIRouter(tags=["matching"], responses=problems())


@router.post("/match")
async def match(
    received: Request, service: ReadyToMatch, caller: Publisher, request: MatchIn
) -> MatchOut:
    """The rules that are true of an event, or of each of several events. Nothing is stored."""
    if (request.event is None) == (request.events is None):
        raise RequestProblem(
            "invalid-request", "either `event` or `events` is required, and not both"
        )
    events = [request.event] if request.event is not None else request.events or []
    check_count(len(events), service.settings.limits)
    service.match_rate.take(caller.name, len(events))
    loop = asyncio.get_running_loop()
    size = int(received.headers.get("content-length", BULKY_BYTES))
    threads = service.threads if size < BULKY_BYTES else service.bulk_threads
    return await loop.run_in_executor(threads, _match, service, request, events)


@router.post("/check")
async def check(service: ReadyToMatch, caller: Anybody, request: CheckIn) -> CheckOut:
    """Whether a rule is valid, and if not, where its error is."""

    def checked() -> CheckOut:
        try:
            tree = _parsed(service, request.rule)
            matcher = service.live_rules.state.matcher
            text = request.rule if isinstance(request.rule, str) else None
            check_calls(tree, matcher.operators, matcher.schema, matcher.store.lists, text)
            service.check_rule(request.rule)
        except RuleError as error:
            return CheckOut(valid=False, text=None, error=rule_error(error))
        return CheckOut(valid=True, text=str(tree), attributes=sorted(attributes_in(tree)))

    return await asyncio.to_thread(checked)


@router.post("/explain")
async def explain_rule(
    service: ReadyToMatch, caller: Anybody, request: ExplainIn
) -> dict[str, Any]:
    """Explain a rule for an event: each node is true, false or undefined, with the values seen."""
    matcher = service.live_rules.state.matcher

    def explained() -> dict[str, Any]:
        checked_json(request.event, 0, service.settings.limits)
        try:
            tree = _parsed(service, request.rule)
            check_calls(tree, matcher.operators, matcher.schema, matcher.store.lists)
        except RuleError as error:
            raise rule_problem(error) from None
        try:
            with service.live_rules.timed.explaining() as timed:
                explanation = matcher.explain(tree, timed(request.event))
        except EventError as error:
            raise event_problem(error) from None
        return {**explanation.to_json(), "text": str(explanation)}

    return await asyncio.to_thread(explained)


def _parsed(service: MatchingService, rule: Any) -> Node:
    """The tree of a rule that is small enough to be stored."""
    limit = service.settings.limits.rule_bytes
    if isinstance(rule, str) and len(rule) > limit:
        detail = f"a rule may have at most {limit:,} bytes"
        raise RequestProblem("rule-too-large", detail, limit=limit)
    return parse(rule)


def _match(service: MatchingService, request: MatchIn, events: list[dict[str, Any]]) -> MatchOut:
    bodies = []
    for index, event in enumerate(events):
        bodies.append(checked_json(event, index, service.settings.limits))
    tags = None if request.tags is None else frozenset(request.tags)

    def matched(state: RulesState) -> MatchOut:
        for index, event in enumerate(events):
            try:
                service.check_event(event)
            except EventError as error:
                raise event_problem(error, None if request.event is not None else index) from None
        found = service.live_rules.match(state, events, bodies, tags, request.limit)
        pairs = zip(events, found, strict=True)
        with service.live_rules.timed.explaining() as timed:
            results = [
                _result(state.matcher, request, event, rules, timed) for event, rules in pairs
            ]
        return MatchOut(version=state.version, results=results)

    return service.live_rules.answer(matched)


def _result(
    matcher: Matcher,
    request: MatchIn,
    event: dict[str, Any],
    rules: list[tuple[RuleDetails, Bindings | None]],
    timed: Callable[[dict[str, Any]], Event],
) -> EventMatchesOut:
    """What is said of one event; what has to be explained is explained within a time limit."""
    matches = []
    seen = timed(event) if request.explain or request.why_not else None
    for rule, bindings in rules:
        why = None
        if request.explain and seen is not None:
            why = matcher.explain(parse(rule.rule), seen).to_json()
        about: dict[str, Any] = {"id": rule.id, "tags": sorted(rule.tags), "data": rule.data}
        about |= {"priority": rule.priority, "bindings": bindings, "explanation": why}
        matches.append(RuleMatch(**about))
    near = None
    if request.why_not and seen is not None:
        misses = matcher.why_not(seen, request.why_not)
        near = [NearMissOut(id=miss.id, lacked=miss.lacked) for miss in misses]
    return EventMatchesOut(matches=matches, near=near)
