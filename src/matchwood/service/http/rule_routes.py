"""Rules, and matching for backends that have their own delivery."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.service.delivery.event_bodies import JSON, LINES
from matchwood.service.http.models import (
    RuleIn,
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
    Ready,
    expected_version,
    media_type,
    problems,
)
from matchwood.service.http.rule_uploads import uploaded_rules
from matchwood.service.rules.rule_set import diff_json
from matchwood.service.times import iso
from matchwood.tables.rule_data import data_of

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
    """Rules in the order of their ids, one page at a time. `search` looks in ids and rules. A page
    of long rules has fewer than `limit`.
    """
    rows, more = await service.storage.readers.run(service.rules.page, after, limit, search)
    shown = [_rule(row) for row in rows]
    following = shown[-1].id if more else None
    count = len(service.rules.matcher)
    return RulePage(version=service.rules.version, count=count, rules=shown, next=following)


@router.put("/rules", openapi_extra=UPLOAD, responses=problems(412, 415))
async def replace_rules(
    request: Request, service: Ready, caller: Admin, dry_run: bool = False
) -> RulesReplaced:
    """Replace all rules in one step. The body is JSON lines, or a JSON list, of objects with `id`,
    `rule`, and optionally `tags`, `priority` and `data`. If one is invalid, nothing changes, and
    the problem lists all invalid ones. With `If-Match`, rules are replaced only if they have that
    version; with `dry_run`, only the difference is reported.
    """
    expected = expected_version(request)
    body = await request.body()
    rules = await service.storage.readers.run(
        uploaded_rules, service.rules.checked, media_type(request.headers), body
    )
    previous = service.rules.version
    version, diff = await service.rules.replace(rules, expected, dry_run)
    return RulesReplaced(version=version, previous=previous, **diff_json(diff))


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
        service.rules.checked, rule_id, body.rule, body.tags, body.priority, body.data
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


def _rule(row: Any) -> RuleOut:
    return RuleOut(
        id=row.id,
        rule=row.rule,
        tags=json.loads(row.tags),
        priority=row.priority,
        data=data_of(row.data),
        suspended=row.suspended,
    )


def _rule_of(rule: RuleDetails) -> RuleOut:
    return RuleOut(
        id=rule.id,
        rule=rule.rule,
        tags=sorted(rule.tags),
        priority=rule.priority,
        data=rule.data,
        suspended=None,
    )
