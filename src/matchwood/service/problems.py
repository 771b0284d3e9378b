"""Why the service refuses a request: the kinds of problems, after RFC 9457 (problem details).

Any layer may raise a `RequestProblem`; only `http` turns it into an answer.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from matchwood.language.errors import EventError, RuleError

# The prefix of every problem's `type`.
URN = "urn:matchwood:problem:"

# The HTTP status and the title of each kind of problem.
KINDS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be understood"),
    "unauthenticated": (401, "A key or ticket is required"),
    "forbidden": (403, "The key or ticket does not permit this"),
    "not-found": (404, "Not found"),
    "method-not-allowed": (405, "The path does not have this method"),
    "request-timeout": (408, "The request did not arrive in time"),
    "idempotency-conflict": (409, "The Idempotency-Key was used for something else"),
    "list-in-use": (409, "Rules name the list"),
    "not-next": (409, "The event is not the next one"),
    "schema-conflict": (409, "Rules do not fit the schema"),
    "version-conflict": (412, "The version has changed in the meantime"),
    "body-too-large": (413, "The body is too large"),
    "batch-too-large": (413, "The batch is too large"),
    "event-too-large": (413, "An event is too large"),
    "rule-too-large": (413, "A rule is too large"),
    "list-too-large": (413, "There are too many values in lists"),
    "answer-too-large": (413, "The answer would be too large"),
    "unsupported-media-type": (415, "The media type of the body is not supported"),
    "invalid-request": (422, "The request does not have the expected form"),
    "invalid-rule": (422, "A rule is invalid"),
    "invalid-event": (422, "An event is invalid"),
    "invalid-list": (422, "A list is invalid"),
    "invalid-schema": (422, "The schema is invalid"),
    "headers-too-large": (431, "The headers are too large"),
    "too-many-events": (429, "The key publishes too many events per second"),
    "too-many-matches": (429, "The key requests too many matches per second"),
    "too-many-connections": (429, "The address has too many connections"),
    "too-many-streams": (429, "Too many streams are open"),
    "too-many-subscriptions": (429, "There are too many subscriptions"),
    "busy": (503, "Too many requests are in progress"),
    "outbox-full": (503, "Too many events are waiting to be delivered"),
    "matching-timeout": (503, "The event could not be matched in time"),
    "not-ready": (503, "The service is not ready"),
    "shutting-down": (503, "The service is shutting down"),
    "database-unavailable": (503, "The database cannot be reached"),
    "storage-full": (507, "The disk of the database is full"),
}


class RequestProblem(Exception):
    """A request is refused. `more` holds further fields of the answer."""

    def __init__(
        self, kind: str, detail: str, *, retry_after: float | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.more = more

    @property
    def status(self) -> int:
        return KINDS[self.kind][0]

    def to_json(self) -> dict[str, Any]:
        status, title = KINDS[self.kind]
        return {
            "type": URN + self.kind,
            "title": title,
            "status": status,
            "detail": self.detail,
            **self.more,
        }

    def headers(self) -> dict[str, str]:
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, round(self.retry_after)))
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


def rule_problem(error: RuleError, **more: Any) -> RequestProblem:
    """The problem of a rule that cannot be parsed or compiled, with the position of the error."""
    return RequestProblem("invalid-rule", str(error), error=rule_error(error), **more)


def rule_error(error: RuleError) -> dict[str, Any]:
    """The fields of a rule's error, for programs to read."""
    return {
        "reason": error.reason,
        "line": error.line,
        "column": error.column,
        "found": error.found,
        "expected": error.expected,
        "path": error.path,
        "caret": error.caret(),
    }


def answer_too_large(most: int) -> RequestProblem:
    """The problem of an answer that would have more than `most` bytes."""
    detail = f"the answer would have over {most:,} bytes: use `limit`"
    return RequestProblem("answer-too-large", detail, limit=most)


def event_problem(error: EventError, index: int | None = None) -> RequestProblem:
    """The problem of an invalid event; `index` is its position in a batch."""
    more: dict[str, Any] = {"attribute": error.attribute}
    if index is not None:
        more["index"] = index
    prefix = "" if index is None else f"event {index} of the batch: "
    return RequestProblem("invalid-event", f"{prefix}{error}", **more)
