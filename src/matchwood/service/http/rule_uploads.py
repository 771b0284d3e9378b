"""The rules of an upload that replaces all: JSON lines or a JSON list, checked row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from matchwood.language.values import is_text
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.service.delivery.event_bodies import JSON, LINES, loads
from matchwood.service.http.json_lists import items_of
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.rule_set import MOST_LISTED

# Makes a rule of its id, text or JSON form, tags, priority and data, or raises a problem.
CheckedRule = Callable[[str, object, list[str], float, object], RuleDetails]
# Invalid rules after which the rest of an upload is not looked at.
MOST_INVALID = 100_000
# The most characters of an id.
ID_LENGTH = 512
# The most characters of a tag.
TAG_LENGTH = 200


def uploaded_rules(checked: CheckedRule, kind: str, body: bytes) -> list[RuleDetails]:
    """The rules of a body of a media type; one problem lists all that are invalid."""
    rules: dict[str, RuleDetails] = {}
    errors: list[dict[str, Any]] = []
    number = invalid = 0
    for number, row in enumerate(_rows(kind, body), 1):
        try:
            rule = _rule(checked, row)
            if rule.id in rules:
                raise RequestProblem("invalid-rule", f"the id {rule.id!r} occurs twice")
            rules[rule.id] = rule
        except RequestProblem as problem:
            invalid += 1
            if invalid <= MOST_LISTED:
                errors.append({"line": number, "reason": problem.detail})
            if invalid == MOST_INVALID:
                break
    if errors:
        of = f"the first {number:,}" if invalid == MOST_INVALID else f"{number:,}"
        detail = f"{invalid:,} of {of} rules are invalid; nothing was changed"
        raise RequestProblem("invalid-rule", detail, errors=errors)
    return list(rules.values())


def _rows(kind: str, body: bytes) -> Iterator[Any]:
    if kind not in (*LINES, JSON):
        detail = f"expected {LINES[0]} or {JSON}, found {kind!r}"
        raise RequestProblem("unsupported-media-type", detail)
    try:
        if kind == JSON:
            yield from items_of(body)
            return
        for line in BytesIO(body):
            if text := line.strip():
                yield loads(text)
    except ValueError as error:
        raise RequestProblem("bad-request", f"the upload cannot be read: {error}") from None


def _rule(checked: CheckedRule, row: Any) -> RuleDetails:
    if not isinstance(row, dict) or not {"id", "rule"} <= set(row):
        raise _invalid("expected an object with `id` and `rule`")
    if unknown := set(row) - {"id", "rule", "tags", "priority", "data"}:
        raise _invalid(f"a rule has no field {sorted(unknown)[0]!r}")
    rule_id, tags, priority = row["id"], row.get("tags") or [], row.get("priority") or 0.0
    if not _is_storable(rule_id, ID_LENGTH):
        raise _invalid(f"an id must be a string of 1 to 512 characters, found {rule_id!r:.100}")
    if not isinstance(tags, list) or not all(_is_storable(tag, TAG_LENGTH) for tag in tags):
        raise _invalid(f"tags must be a list of strings, found {tags!r:.100}")
    is_number = isinstance(priority, int | float) and not isinstance(priority, bool)
    if not is_number or not abs(priority) < 1e300:
        raise _invalid(f"a priority must be a number, found {priority!r:.100}")
    return checked(rule_id, row["rule"], tags, priority, row.get("data"))


def _invalid(reason: str) -> RequestProblem:
    return RequestProblem("invalid-rule", reason)


def _is_storable(value: object, longest: int) -> bool:
    """Whether a value is text that both databases can store."""
    is_string = isinstance(value, str) and 0 < len(value) <= longest
    return is_string and is_text(str(value)) and "\0" not in str(value)
