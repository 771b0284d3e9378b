"""Matching for backends that have their own delivery, and checking and explaining rules.

A replica has these routes, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request, Response

from matchwood.language import parse
from matchwood.language.errors import EventError, RuleError
from matchwood.language.events import Event
from matchwood.language.tree import Node, attributes_in
from matchwood.match.parts.rule_checks import check_calls
from matchwood.matcher import Bindings
from matchwood.service.delivery.acceptance import BULKY_BYTES
from matchwood.service.delivery.event_bodies import JSON, checked_json, dumps
from matchwood.service.http.direct_routes import DirectAnswer
from matchwood.service.http.match_answers import MatchAnswer, full_match, plain_match
from matchwood.service.http.match_bodies import MatchRequest, match_request
from matchwood.service.http.models import (
    CheckIn,
    CheckOut,
    ExplainIn,
    MatchIn,
    MatchOut,
)
from matchwood.service.http.request_context import (
    Anybody,
    Publisher,
    ReadyToMatch,
    media_type,
    problems,
    ready_to_match,
    secret_in,
)
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem, event_problem, rule_error, rule_problem
from matchwood.service.rules.live_rules import (
    LiveRules,
    Matches,
    RulesState,
    details_or_none,
)

router = APIRouter(tags=["matching"], responses=problems())
BODY = {
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": MatchIn.model_json_schema()}},
    }
}


@router.post("/match", response_model=MatchOut, openapi_extra=BODY, responses=problems(415))
async def match(request: Request, service: ReadyToMatch, caller: Publisher) -> Response:
    """The rules that are true of an event, or of each of several events. Nothing is stored."""
    if (kind := media_type(request)) != JSON:
        raise RequestProblem("unsupported-media-type", f"expected {JSON}, found {kind!r}")
    body = await request.body()
    threads = service.threads if len(body) < BULKY_BYTES else service.bulk_threads
    loop = asyncio.get_running_loop()
    answer = await loop.run_in_executor(threads, _match, service, caller.name, body)
    return Response(answer, media_type=JSON)


async def _answer_match(request: Request) -> Response:
    service = await ready_to_match(request)
    caller = service.keys.require(secret_in(request.headers), "publisher")
    return await match(request, service, caller)


# What is answered without FastAPI.
DIRECT: dict[str, DirectAnswer] = {"/match": _answer_match}


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


def _match(service: MatchingService, key: str, body: bytes) -> bytes:
    """The JSON of `MatchOut`."""
    request = match_request(body, service.settings.limits)
    options, events = request.options, request.events
    service.match_rate.take(key, len(events))
    tags = None if options.tags is None else frozenset(options.tags)
    live = service.live_rules

    def matched(state: RulesState) -> bytes:
        for index, event in enumerate(events):
            try:
                service.check_event(event)
            except EventError as error:
                raise event_problem(error, None if request.single else index) from None
        found = live.match(state, events, request.texts, tags, options.limit)
        answer = MatchAnswer(service.settings.limits)
        if not options.explain and not options.why_not:
            for of in found:
                answer.add(told(state, of))
        else:
            _explain(live, state, request, found, answer)
        return answer.whole(state.version)

    def told(state: RulesState, of_event: dict[str, Bindings | None]) -> Iterator[bytes]:
        for rule_id, bindings in of_event.items():
            if bindings is not None:
                details = details_or_none(state.matcher, rule_id)
                text = None if details is None else full_match(details, bindings, None)
            else:
                text = live.written(state, rule_id, plain_match)
            if text is not None:
                yield text

    return live.answer(matched)


def _explain(
    live: LiveRules, state: RulesState, request: MatchRequest, found: Matches, answer: MatchAnswer
) -> None:
    """Say of each event all with explanations or near misses, within a time limit."""
    matcher, options = state.matcher, request.options

    def told(rules: dict[str, Bindings | None], seen: Event) -> Iterator[bytes]:
        for rule_id, bindings in rules.items():
            if (details := details_or_none(matcher, rule_id)) is None:
                continue
            why = None
            if options.explain:
                why = matcher.explain(parse(details.rule), seen).to_json()
            yield full_match(details, bindings, why)

    with live.timed.explaining() as timed:
        for event, rules in zip(request.events, found, strict=True):
            seen = timed(event)
            near = "null"
            if options.why_not:
                misses = matcher.why_not(seen, options.why_not)
                near = dumps([{"id": miss.id, "lacked": miss.lacked} for miss in misses])
            answer.add(told(rules, seen), near.encode())
