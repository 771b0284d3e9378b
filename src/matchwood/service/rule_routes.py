"""Rules over HTTP, and matching for backends that keep their own delivery."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from matchwood.language.errors import EventError, RuleError
from matchwood.language.explanation import explain
from matchwood.language.text import parse
from matchwood.language.tree import attributes_in
from matchwood.language.values import is_text
from matchwood.match.parts import Details, check_calls
from matchwood.service.bodies import JSON, LINES, check_count, checked, kind_of, loads
from matchwood.service.forms import (
    CheckIn,
    CheckOut,
    ExplainIn,
    Found,
    Matched,
    MatchIn,
    MatchOut,
    Near,
    RuleIn,
    RuleOut,
    RulePage,
    RuleSet,
    RulesReplaced,
    RuleVersion,
    RuleVersions,
    Version,
)
from matchwood.service.problems import Problem, event_problem, rule_error, rule_problem
from matchwood.service.requests import (
    Admin,
    Anybody,
    Publisher,
    Ready,
    expected_version,
    problems,
)
from matchwood.service.rule_set import SHOWN
from matchwood.service.service import Service
from matchwood.service.times import iso

router = APIRouter(tags=["rules"], responses=problems())
Id = Annotated[str, Path(min_length=1, max_length=512, pattern="^[^\\x00]+$")]
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
    """Rules in the order of their ids, a page at a time; `search` looks in ids and rules."""
    rows = await service.read(service.rules.page, after, limit + 1, search)
    shown = [_rule(row) for row in rows[:limit]]
    more = shown[-1].id if len(rows) > limit else None
    count = len(service.rules.matcher)
    return RulePage(version=service.rules.version, count=count, rules=shown, next=more)


@router.put("/rules", openapi_extra=UPLOAD, responses=problems(412, 415))
async def replace_rules(
    request: Request, service: Ready, caller: Admin, dry_run: bool = False
) -> RulesReplaced:
    """Replace the whole set in one step: JSON lines, or a JSON list, of `id`, `rule` and perhaps
    `tags` and `priority`. If one of them is bad, nothing changes and all bad ones are named.
    With `If-Match` only if the rules are at that version; with `dry_run` only the difference is
    told.
    """
    expected = expected_version(request)
    body = await request.body()
    given = await service.read(_uploaded, service, kind_of(request), body)
    previous = service.rules.version
    version, diff = await service.rules.replace(given, expected, dry_run)
    return RulesReplaced(version=version, previous=previous, **diff.to_json())


@router.get("/rules/versions")
async def list_versions(
    service: Ready, caller: Admin, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> RuleVersions:
    """The latest versions of the rules, and how many rules each changed."""
    rows = await service.read(service.rules.versions, limit)
    return RuleVersions(
        versions=[RuleVersion(**{**row._mapping, "at": iso(row.at)}) for row in rows]
    )


@router.get("/rules/{rule_id:path}", responses=problems(404))
async def read_rule(service: Ready, caller: Admin, rule_id: Id) -> RuleOut:
    return _rule(await service.read(service.rules.get, rule_id))


@router.put(
    "/rules/{rule_id:path}",
    responses={201: {"model": RuleSet, "description": "new"}, **problems(404, 412)},
)
async def put_rule(
    request: Request, response: Response, service: Ready, caller: Admin, rule_id: Id, given: RuleIn
) -> RuleSet:
    """Set a rule; the next match sees it."""
    one = service.rules.checked(rule_id, given.rule, given.tags, given.priority)
    version, is_new = await service.rules.put(one, expected_version(request))
    response.status_code = 201 if is_new else 200
    return RuleSet(version=version, is_new=is_new, rule=_rule_of(one))


@router.delete("/rules/{rule_id:path}", responses=problems(404, 412))
async def delete_rule(request: Request, service: Ready, caller: Admin, rule_id: Id) -> Version:
    return Version(version=await service.rules.delete(rule_id, expected_version(request)))


@router.post("/match", tags=["matching"])
async def match(service: Ready, caller: Publisher, given: MatchIn) -> MatchOut:
    """Which rules are true of an event, or of each of many; nothing is stored."""
    if (given.event is None) == (given.events is None):
        raise Problem("invalid-request", "give either `event` or `events`")
    events = [given.event] if given.event is not None else given.events or []
    check_count(len(events), service.settings.limits)
    service.match_rate.take(caller.name, len(events))
    return await service.read(_match, service, given, events)  # type: ignore[no-any-return]


@router.post("/check", tags=["matching"])
async def check(service: Ready, caller: Anybody, given: CheckIn) -> CheckOut:
    """Whether a rule can be read, and where it cannot."""
    try:
        tree = parse(given.rule)
        matcher = service.rules.matcher
        text = given.rule if isinstance(given.rule, str) else None
        check_calls(tree, matcher.operators, matcher.schema, text)
        service.schema.check_rule(given.rule)
    except RuleError as error:
        return CheckOut(valid=False, text=None, error=rule_error(error))
    return CheckOut(valid=True, text=str(tree), attributes=sorted(attributes_in(tree)))


@router.post("/explain", tags=["matching"])
async def explain_rule(service: Ready, caller: Anybody, given: ExplainIn) -> dict[str, Any]:
    """A rule and an event: true, false or undefined at each node, with the values seen."""
    matcher = service.rules.matcher
    checked(given.event, 0, service.settings.limits)

    def explained() -> dict[str, Any]:
        try:
            tree = parse(given.rule)
            check_calls(tree, matcher.operators, matcher.schema)
        except RuleError as error:
            raise rule_problem(error) from None
        try:
            made = explain(tree, given.event, operators=matcher.operators, schema=matcher.schema)
        except EventError as error:
            raise event_problem(error) from None
        return {**made.to_json(), "text": str(made)}

    return await service.read(explained)  # type: ignore[no-any-return]


def _rule(row: Any) -> RuleOut:
    return RuleOut(id=row.id, rule=row.rule, tags=json.loads(row.tags), priority=row.priority)


def _rule_of(one: Details) -> RuleOut:
    return RuleOut(id=one.id, rule=one.rule, tags=sorted(one.tags), priority=one.priority)


def _match(service: Service, given: MatchIn, events: list[dict[str, Any]]) -> MatchOut:
    version = service.rules.version
    matcher = service.rules.matcher
    for index, event in enumerate(events):
        checked(event, index, service.settings.limits)
        try:
            service.schema.check_event(event)
        except EventError as error:
            raise event_problem(error, None if given.event is not None else index) from None
    tags = None if given.tags is None else frozenset(given.tags)
    results = []
    found = service.rules.match(events, tags, given.limit)
    for event, details in zip(events, found, strict=True):
        matches = []
        for one, bindings in details:
            why = matcher.explain(parse(one.rule), event).to_json() if given.explain else None
            shown = Found(
                id=one.id,
                tags=sorted(one.tags),
                priority=one.priority,
                bindings=bindings,
                explanation=why,
            )
            matches.append(shown)
        near = None
        if given.why_not:
            lacking = matcher.why_not(event, given.why_not)
            near = [Near(id=one.id, lacked=one.lacked) for one in lacking]
        results.append(Matched(matches=matches, near=near))
    return MatchOut(version=version, results=results)


def _uploaded(service: Service, kind: str, body: bytes) -> list[Details]:
    """The rules of an upload, in a form that can be built."""
    rows = _rows(kind, body)
    given: list[Details] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        try:
            one = _uploaded_rule(service, row)
            if one.id in seen:
                raise Problem("invalid-rule", f"the id {one.id!r} comes twice")
            seen.add(one.id)
            given.append(one)
        except Problem as problem:
            errors.append({"line": number, "reason": problem.detail})
    if errors:
        detail = f"{len(errors):,} of {len(rows):,} rules cannot be read; none was changed"
        raise Problem("invalid-rule", detail, errors=errors[:SHOWN])
    return given


def _rows(kind: str, body: bytes) -> list[Any]:
    try:
        if kind in LINES:
            return [loads(line) for line in body.split(b"\n") if line.strip()]
        if kind == JSON:
            rows = loads(body)
            if isinstance(rows, list):
                return rows
            raise ValueError("expected a list of rules")
    except ValueError as error:
        raise Problem("bad-request", f"the upload cannot be read: {error}") from None
    raise Problem("unsupported-media-type", f"expected {LINES[0]} or {JSON}, found {kind!r}")


def _uploaded_rule(service: Service, row: Any) -> Details:
    if not isinstance(row, dict) or not {"id", "rule"} <= set(row):
        raise Problem("invalid-rule", "expected an object with `id` and `rule`")
    if unknown := set(row) - {"id", "rule", "tags", "priority"}:
        raise Problem("invalid-rule", f"there is no field {sorted(unknown)[0]!r} of a rule")
    rule_id, tags, priority = row["id"], row.get("tags") or [], row.get("priority") or 0.0
    if not _is_name(rule_id, 512):
        raise Problem("invalid-rule", f"an id is a string of 1 to 512 characters: {rule_id!r:.100}")
    if not isinstance(tags, list) or not all(_is_name(tag, 200) for tag in tags):
        raise Problem("invalid-rule", f"tags are a list of strings, found {tags!r:.100}")
    is_number = isinstance(priority, int | float) and not isinstance(priority, bool)
    if not is_number or not abs(priority) < 1e300:
        raise Problem("invalid-rule", f"a priority is a number, found {priority!r:.100}")
    return service.rules.checked(rule_id, row["rule"], tags, priority)


def _is_name(value: object, longest: int) -> bool:
    """Whether it is a text that both databases can keep."""
    is_kept = isinstance(value, str) and 0 < len(value) <= longest
    return is_kept and is_text(str(value)) and "\0" not in str(value)
