"""Refusals of the service, as the exceptions that the library raises where it has them."""

from __future__ import annotations

from typing import Any

import httpx

from matchwood.language.errors import EventError, RuleError

URN = "urn:matchwood:problem:"


class ServiceError(Exception):
    """The service refused a request; `kind` is the name of the problem, `more` what it told."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        more: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(status, kind, detail, more, retry_after)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.more = more or {}
        self.retry_after = retry_after  # seconds

    def __str__(self) -> str:
        return f"{self.detail} ({self.status} {self.kind})"


def error_of(response: httpx.Response, rule: object = None) -> Exception:
    """The error of an answer that is a refusal: of a rule, a RuleError with its place."""
    form = _form_of(response)
    kind = str(form.get("type", "")).removeprefix(URN)
    detail = str(form.get("detail") or form.get("title") or response.reason_phrase)
    place = form.get("error")
    if kind == "invalid-rule" and isinstance(place, dict):
        return _rule_error(place, rule)
    if kind == "invalid-event":
        attribute = form.get("attribute")
        text = detail.removeprefix(f"attribute {attribute!r}: ")
        return EventError(text, attribute if isinstance(attribute, str) else None)
    told = {name: value for name, value in form.items() if name not in _STANDARD}
    after = response.headers.get("retry-after", "")
    wait = float(after) if after.isdecimal() else None
    return ServiceError(response.status_code, kind or "http", detail, told, wait)


_STANDARD = ("type", "title", "status", "detail")


def _form_of(response: httpx.Response) -> dict[str, Any]:
    try:
        form = response.json()
    except ValueError:
        return {}
    return form if isinstance(form, dict) else {}


def _rule_error(place: dict[str, Any], rule: object) -> RuleError:
    """The error as `parse` would have raised it, where the rule is a text."""
    line, column = place.get("line"), place.get("column")
    position = None
    if isinstance(rule, str) and isinstance(line, int) and isinstance(column, int):
        before = rule.split("\n")[: line - 1]
        position = min(len(rule), sum(len(one) + 1 for one in before) + column - 1)
    return RuleError(
        str(place.get("reason")),
        text=rule if position is not None else None,  # type: ignore[arg-type]
        position=position,
        found=place.get("found"),
        expected=place.get("expected"),
        path=place.get("path"),
    )
