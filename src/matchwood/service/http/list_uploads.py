"""The values of an upload that sets a list: JSON, JSON lines, or one string per line of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from matchwood.language.errors import RuleError
from matchwood.language.values import Literal, literal
from matchwood.service.delivery.event_bodies import JSON, LINES, loads
from matchwood.service.http.json_lists import items_of
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.stored_lists import MOST_TOLD, value_of

# The media type of text.
TEXT = "text/plain"


def check_kind(kind: str) -> None:
    """A problem if a body of this media type cannot be a list."""
    if kind not in (*LINES, JSON, TEXT):
        detail = f"expected {LINES[0]}, {JSON} or {TEXT}, found {kind!r}"
        raise RequestProblem("unsupported-media-type", detail)


def uploaded_values(kind: str, body: bytes) -> Iterator[Literal]:
    """The values of a body; a problem after the last of them lists all that are invalid."""
    errors: list[dict[str, Any]] = []
    bad = 0
    for place, value in _values(kind, body):
        try:
            yield literal(value_of(value()))
        except (RuleError, ValueError) as error:
            bad += 1
            if bad <= MOST_TOLD:
                reason = error.reason if isinstance(error, RuleError) else str(error)
                errors.append({**place, "reason": reason})
    if bad:
        detail = f"{bad:,} values are invalid; nothing was changed"
        raise RequestProblem("invalid-list", detail, errors=errors)


def _values(kind: str, body: bytes) -> Iterator[tuple[dict[str, int], Callable[[], Any]]]:
    """For each value its place, and what reads it."""
    if kind == JSON:
        try:
            for index, item in enumerate(items_of(body)):
                yield {"index": index}, lambda item=item: item  # type: ignore[misc]
        except ValueError as error:
            raise RequestProblem("bad-request", f"the upload cannot be read: {error}") from None
        return
    for number, line in enumerate(BytesIO(body), 1):
        if text := line.strip():
            read = str if kind == TEXT else loads
            yield {"line": number}, lambda text=text, read=read: read(text.decode())  # type: ignore[misc]
