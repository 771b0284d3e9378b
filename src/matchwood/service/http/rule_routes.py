"""Rules, and matching for backends that have their own delivery."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from matchwood.language import parse
from matchwood.language.errors import EventError, RuleError
from matchwood.language.explanation import explain
from matchwood.language.tree import attributes_in
from matchwood.match.parts.rule_checks import check_calls
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.service.delivery.acceptance import BULKY_BYTES
from matchwood.service.delivery.event_bodies import JSON, LINES, check_count, checked_json
from matchwood.service.http.models import (
    CheckIn,
    CheckOut,
    EventMatchesOut,
    ExplainIn,
    MatchIn,
    MatchOut,
    NearMissOut,
    RuleIn,
    RuleMatch,
    RuleOut,
    RulePage,
    RulesReplaced,
    RuleStored,
    RuleVersion,
    RuleVersions,
    Version,
)
from matchwood.service.http.request_context import (
    Admin,
    Anybody,
    Publisher,
    Ready,
    expected_version,
    media_type,
    problems,
)
from matchwood.service.http.rule_uploads import uploaded_rules
from matchwood.service.problems import RequestProblem, event_problem, rule_error, rule_problem
from matchwood.service.service import Service
from matchwood.service.times import iso

router = APIRouter(tags=["rules"], responses=problems())
RuleIdInPath = Annotated[str, Path(min_length=1, max_length=512, pattern="^[^\\x00]+$")]
RuleIdInQuery = Annotated[str, Query(min_length=1, max_length=512, pattern="^[^\\x00]+$")]
STORED = {201: {"model": RuleStored, "description": "The rule is new"}, **problems(404, 412)}
UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            LINES[0]: {"schema": {"type": "string"}},
            JSON: {"schema": {"type": "array", "items": {"type": "object"}}},
        },
    }
}


@router.get("/rules")
async def list_rules(
    service: Ready,
    caller: Admin,
    after: Annotated[str, Query(max_length=512, pattern="^[^\\x00]*$")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    search: Annotated[str, Query(max_length=512, pattern="^[^\\x00]*$")] = "",
) -> RulePage:
    """Rules in the order of their ids, one page at a time. `search` looks in ids and rules."""
    rows = await service.storage.readers.run(service.rules.page, after, limit + 1, search)
    shown = [_rule(row) for row in rows[:limit]]
    more = shown[-1].id if len(rows) > limit else None
    count = len(service.rules.matcher)
    return RulePage(version=service.rules.version, count=count, rules=shown, next=more)


@router.put("/rules", openapi_extra=UPLOAD, responses=problems(412, 415))
async def replace_rules(
    request: Request, service: Ready, caller: Admin, dry_run: bool = False
) -> RulesReplaced:
    """Replace all rules in one step. The body is JSON lines, or a JSON list, of objects with `id`,
    `rule`, and optionally `tags` and `priority`. If one is invalid, nothing changes, and the
    problem lists all invalid ones. With `If-Match`, rules are replaced only if they have that
    version; with `dry_run`, only the difference is reported.
    """
    expected = expected_version(request)
    body = await request.body()
    rules = await service.storage.readers.run(
        uploaded_rules, service.rules.checked, media_type(request), body
    )
    previous = service.rules.version
    version, diff = await service.rules.replace(rules, expected, dry_run)
    return RulesReplaced(version=version, previous=previous, **diff.to_json())


@router.get("/rules/versions")
async def list_versions(
    service: Ready, caller: Admin, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> RuleVersions:
    """The latest versions of the rules, and how many rules each of them changed."""
    rows = await service.storage.readers.run(service.rules.versions, limit)
    return RuleVersions(
        versions=[RuleVersion(**{**row._mapping, "at": iso(row.at)}) for row in rows]
    )


@router.get("/rules/{rule_id:path}", responses=problems(404))
async def read_rule(service: Ready, caller: Admin, rule_id: RuleIdInPath) -> RuleOut:
    return _rule(await service.storage.readers.run(service.rules.get, rule_id))


@router.get("/rule", responses=problems(404))
async def read_rule_by_id(service: Ready, caller: Admin, id: RuleIdInQuery) -> RuleOut:
    """A rule of any id, even one that no path can have: `versions`, `..`, or with a line break."""
    return await read_rule(service, caller, id)


@router.put("/rules/{rule_id:path}", responses=STORED)
async def put_rule(
    request: Request,
    response: Response,
    service: Ready,
    caller: Admin,
    rule_id: RuleIdInPath,
    body: RuleIn,
) -> RuleStored:
    """Set a rule. Matches after the answer use it."""
    rule = await service.storage.readers.run(
        service.rules.checked, rule_id, body.rule, body.tags, body.priority
    )
    version, is_new = await service.rules.put(rule, expected_version(request))
    response.status_code = 201 if is_new else 200
    return RuleStored(version=version, is_new=is_new, rule=_rule_of(rule))


@router.put("/rule", responses=STORED)
async def put_rule_by_id(
    request: Request,
    response: Response,
    service: Ready,
    caller: Admin,
    id: RuleIdInQuery,
    body: RuleIn,
) -> RuleStored:
    """Set a rule of any id."""
    return await put_rule(request, response, service, caller, id, body)


@router.delete("/rules/{rule_id:path}", responses=problems(404, 412))
async def delete_rule(
    request: Request, service: Ready, caller: Admin, rule_id: RuleIdInPath
) -> Version:
    return Version(version=await service.rules.delete(rule_id, expected_version(request)))


@router.delete("/rule", responses=problems(404, 412))
async def delete_rule_by_id(
    request: Request, service: Ready, caller: Admin, id: RuleIdInQuery
) -> Version:
    """Delete a rule of any id."""
    return await delete_rule(request, service, caller, id)


@router.post("/match", tags=["matching"])
async def match(received: Request, service: Ready, caller: Publisher, request: MatchIn) -> MatchOut:
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


@router.post("/check", tags=["matching"])
async def check(service: Ready, caller: Anybody, request: CheckIn) -> CheckOut:
    """Whether a rule is valid, and if not, where its error is."""

    def checked() -> CheckOut:
        try:
            tree = parse(request.rule)
            matcher = service.rules.matcher
            text = request.rule if isinstance(request.rule, str) else None
            check_calls(tree, matcher.operators, matcher.schema, text)
            service.schema.check_rule(request.rule)
        except RuleError as error:
            return CheckOut(valid=False, text=None, error=rule_error(error))
        return CheckOut(valid=True, text=str(tree), attributes=sorted(attributes_in(tree)))

    return await service.storage.readers.run(checked)


@router.post("/explain", tags=["matching"])
async def explain_rule(service: Ready, caller: Anybody, request: ExplainIn) -> dict[str, Any]:
    """Explain a rule for an event: each node is true, false or undefined, with the values seen."""
    matcher = service.rules.matcher

    def explained() -> dict[str, Any]:
        checked_json(request.event, 0, service.settings.limits)
        try:
            tree = parse(request.rule)
            check_calls(tree, matcher.operators, matcher.schema)
        except RuleError as error:
            raise rule_problem(error) from None
        try:
            explanation = explain(
                tree, request.event, operators=matcher.operators, schema=matcher.schema
            )
        except EventError as error:
            raise event_problem(error) from None
        return {**explanation.to_json(), "text": str(explanation)}

    return await service.storage.readers.run(explained)


def _rule(row: Any) -> RuleOut:
    return RuleOut(
        id=row.id,
        rule=row.rule,
        tags=json.loads(row.tags),
        priority=row.priority,
        suspended=row.suspended,
    )


def _rule_of(rule: RuleDetails) -> RuleOut:
    return RuleOut(
        id=rule.id,
        rule=rule.rule,
        tags=sorted(rule.tags),
        priority=rule.priority,
        suspended=None,
    )


def _match(service: Service, request: MatchIn, events: list[dict[str, Any]]) -> MatchOut:
    version = service.rules.version
    bodies = []
    for index, event in enumerate(events):
        bodies.append(checked_json(event, index, service.settings.limits))
        try:
            service.schema.check_event(event)
        except EventError as error:
            raise event_problem(error, None if request.event is not None else index) from None
    tags = None if request.tags is None else frozenset(request.tags)
    matcher = service.rules.matcher
    results = []
    matched = service.rules.match(events, bodies, tags, request.limit)
    for event, rules in zip(events, matched, strict=True):
        matches = []
        for rule, bindings in rules:
            why = matcher.explain(parse(rule.rule), event).to_json() if request.explain else None
            matches.append(
                RuleMatch(
                    id=rule.id,
                    tags=sorted(rule.tags),
                    priority=rule.priority,
                    bindings=bindings,
                    explanation=why,
                )
            )
        near = None
        if request.why_not:
            misses = matcher.why_not(event, request.why_not)
            near = [NearMissOut(id=miss.id, lacked=miss.lacked) for miss in misses]
        results.append(EventMatchesOut(matches=matches, near=near))
    return MatchOut(version=version, results=results)
