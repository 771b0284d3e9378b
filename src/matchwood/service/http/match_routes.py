"""Matching for backends that have their own delivery, and checking and explaining rules.

A replica has these routes, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.types import Receive

from matchwood.language import parse
from matchwood.language.errors import EventError, RuleError
from matchwood.language.events import Event
from matchwood.language.tree import Node, attributes_in
from matchwood.match.parts.rule_checks import check_calls
from matchwood.matcher import Bindings
from matchwood.service.delivery.acceptance import BULKY_BYTES
from matchwood.service.delivery.event_bodies import JSON, checked_json, dumps
from matchwood.service.http.direct_routes import Answer, DirectAnswer
from matchwood.service.http.match_answers import MatchAnswer, full_match, plain_match
from matchwood.service.http.match_bodies import MatchRequest, match_request
from matchwood.service.http.models import (
    CheckIn,
    CheckOut,
    ExplainIn,
    MatchIn,
    MatchOut,
)
from matchwood.service.http.request_bodies import whole_body
from matchwood.service.http.request_context import (
    Anybody,
    Publisher,
    ReadyToMatch,
    media_type,
    problems,
    secret_in,
)
from matchwood.service.matching_service import MatchingService
from matchwood.service.problems import RequestProblem, event_problem, rule_error, rule_problem
from matchwood.service.rules.live_rules import LiveRules, Matches, RulesState
from matchwood.service.rules.quick_matching import QUICK_BYTES
from matchwood.service.rules.written_rules import details_or_none
from matchwood.service.settings import Key

# Bytes of a body from which on it is never answered at once: those of an event, and some more.
MOST_QUICK_BYTES = QUICK_BYTES + 256

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
    if (kind := media_type(request.headers)) != JSON:
        raise RequestProblem("unsupported-media-type", f"expected {JSON}, found {kind!r}")
    return Response(await _answer(service, caller, await request.body()), media_type=JSON)


async def _answer(service: MatchingService, caller: Key, body: bytes) -> bytes:
    """The JSON of `MatchOut`, from a thread unless it is at hand at once."""
    if len(body) >= MOST_QUICK_BYTES:
        threads = service.threads if len(body) < BULKY_BYTES else service.bulk_threads
        work = partial(_match, service, caller.name, body)
    else:
        asked = _admitted(service, caller.name, body)
        answer = _match_quickly(service, asked)
        if answer is not None:
            return answer
        threads, work = service.threads, partial(_match_admitted, service, asked)
    return await asyncio.get_running_loop().run_in_executor(threads, work)


async def _answer_match(
    service: MatchingService, headers: Mapping[str, str], receive: Receive
) -> Answer:
    service.check_ready()
    caller = service.keys.require(secret_in(headers), "publisher")
    if (kind := media_type(headers)) != JSON:
        raise RequestProblem("unsupported-media-type", f"expected {JSON}, found {kind!r}")
    return Answer(200, await _answer(service, caller, await whole_body(receive)))


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


def _admitted(service: MatchingService, key: str, body: bytes) -> MatchRequest:
    """What a body asks for, counted against the rate of the key."""
    request = match_request(body, service.settings.limits)
    service.match_rate.take(key, len(request.events))
    return request


def _check_events(service: MatchingService, request: MatchRequest) -> None:
    """Raise a problem if an event does not fit the schema."""
    for index, event in enumerate(request.events):
        try:
            service.check_event(event)
        except EventError as error:
            raise event_problem(error, None if request.single else index) from None


def _match_quickly(service: MatchingService, request: MatchRequest) -> bytes | None:
    """The JSON of `MatchOut` if that takes next to no time; else None."""
    options = request.options
    if not request.single or not request.is_plain or options.tags is not None:
        return None
    [event], [text] = request.events, request.texts
    _check_events(service, request)
    found = service.live_rules.match_quickly(event, text, options.limit, plain_match)
    if found is None:
        return None
    version, texts = found
    answer = MatchAnswer(service.settings.limits)
    answer.add_known(texts)
    return answer.whole(version)


def _match(service: MatchingService, key: str, body: bytes) -> bytes:
    """The JSON of `MatchOut`."""
    return _match_admitted(service, _admitted(service, key, body))


def _match_admitted(service: MatchingService, request: MatchRequest) -> bytes:
    options, events = request.options, request.events
    tags = None if options.tags is None else frozenset(options.tags)
    live = service.live_rules

    def matched(state: RulesState) -> bytes:
        _check_events(service, request)
        answer = MatchAnswer(service.settings.limits)
        asked = state, events, request.texts, tags, options.limit
        if not request.is_plain:
            _explain(live, state, request, live.match(*asked), answer)
        elif state.matcher.calls_operators:
            for of_event in live.match(*asked):
                answer.add(_told(state, of_event))
        else:
            for texts in live.matched_texts(*asked, plain_match):
                answer.add_known(texts)
        return answer.whole(state.version)

    return live.answer(matched)


def _told(state: RulesState, of_event: dict[str, Bindings | None]) -> Iterator[bytes]:
    """The matches of an event, some of them with bindings."""
    for rule_id, bindings in of_event.items():
        if (details := details_or_none(state.matcher, rule_id)) is not None:
            known = bindings is not None
            yield full_match(details, bindings, None) if known else plain_match(details)


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
