"""Refusals of the service as exceptions: those of the library where it has them."""

from __future__ import annotations

from typing import Any

import httpx

from matchwood.language.errors import EventError, RuleError

URN = "urn:matchwood:problem:"


class ServiceError(Exception):
    """The service refused a request.

    `kind` is the name of the problem, and `more` has the further fields of the answer.
    """

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
    """The exception for a refusal: for a bad rule, a RuleError with the position of the error."""
    form = _form_of(response)
    kind = str(form.get("type", "")).removeprefix(URN)
    detail = str(form.get("detail") or form.get("title") or response.reason_phrase)
    details = form.get("error")
    if kind == "invalid-rule" and isinstance(details, dict):
        return _rule_error(details, rule)
    if kind == "invalid-event":
        attribute = form.get("attribute")
        text = detail.removeprefix(f"attribute {attribute!r}: ")
        return EventError(text, attribute if isinstance(attribute, str) else None)
    more = {name: value for name, value in form.items() if name not in _STANDARD}
    after = response.headers.get("retry-after", "")
    wait = float(after) if after.isdecimal() else None
    return ServiceError(response.status_code, kind or "http", detail, more, wait)


# The fields that every problem has.
_STANDARD = ("type", "title", "status", "detail")


def _form_of(response: httpx.Response) -> dict[str, Any]:
    try:
        form = response.json()
    except ValueError:
        return {}
    return form if isinstance(form, dict) else {}


def _rule_error(details: dict[str, Any], rule: object) -> RuleError:
    """The error as `parse` would have raised it, if the rule is text."""
    line, column = details.get("line"), details.get("column")
    position = None
    if isinstance(rule, str) and isinstance(line, int) and isinstance(column, int):
        before = rule.split("\n")[: line - 1]
        position = min(len(rule), sum(len(text) + 1 for text in before) + column - 1)
    return RuleError(
        str(details.get("reason")),
        text=rule if position is not None else None,  # type: ignore[arg-type]
        position=position,
        found=details.get("found"),
        expected=details.get("expected"),
        path=details.get("path"),
    )
