"""The bodies of `POST /match`: events are matched by the text that came.

To validate and build an object for every event would take longer than matching.
What compiled code cannot check (`scanned_bodies`) is read here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from matchwood.language.errors import EventError
from matchwood.service.delivery.event_bodies import (
    STRICT,
    check_count,
    check_depth,
    check_size,
)
from matchwood.service.http.json_lists import after_blanks, after_sign
from matchwood.service.http.models import MatchIn
from matchwood.service.http.scanned_bodies import scanned
from matchwood.service.problems import RequestProblem, event_problem
from matchwood.service.settings import Limits

# Reads a value at a place of a text: the value, and the place behind it.
ReadValue = Callable[[str, int], tuple[Any, int]]


class MatchRequest(NamedTuple):
    """What is to be matched."""

    options: MatchIn  # all but the events
    events: list[Mapping[str, Any]]
    texts: list[str]  # the same events as JSON
    single: bool  # it is one event, rather than a batch

    @property
    def is_plain(self) -> bool:
        """Whether only matches are asked for, without explanations and near misses."""
        return not self.options.explain and not self.options.why_not


def match_request(body: bytes, limits: Limits) -> MatchRequest:
    """Parse a body, and check its form and the form and size of each event."""
    checked = scanned(body, limits)
    fields, texts = checked or _read(body)
    events = fields.get("events")
    single = events is None
    if isinstance(events, list):
        check_count(len(events), limits)
    options = _options(fields)
    if single == (fields.get("event") is None):
        detail = "either `event` or `events` is required, and not both"
        raise RequestProblem("invalid-request", detail)
    read = [fields["event"]] if events is None else events
    own = texts["event" if single else "events"]
    if checked is None:
        for index, (event, text) in enumerate(zip(read, own, strict=True)):
            _check(event, text, index, limits)
    return MatchRequest(options, read, own, single)


def _read(body: bytes) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The fields of a body, and the texts of its events."""
    texts: dict[str, list[str]] = {}

    def value(text: str, at: int) -> tuple[Any, int]:
        return STRICT.raw_decode(text, at)

    def event(text: str, at: int) -> tuple[Any, int]:
        found, end = STRICT.raw_decode(text, at)
        texts["event"] = [text[at:end]]
        return found, end

    def events(text: str, at: int) -> tuple[Any, int]:
        if not text.startswith("[", at):
            return STRICT.raw_decode(text, at)
        return _items(text, at, texts.setdefault("events", []))

    readers: dict[str, ReadValue] = {"event": event, "events": events}
    try:
        text = body.decode()
        start = after_blanks(text, 0)
        if not text.startswith("{", start):
            STRICT.decode(text)
            raise RequestProblem("invalid-request", "the body must be an object")
        fields, end = _fields(text, start, lambda name: readers.get(name, value))
        if after_blanks(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, end)
    except RecursionError:
        raise RequestProblem("bad-request", "the body is nested too deeply") from None
    except ValueError as error:
        raise RequestProblem("bad-request", f"the body is not JSON: {error}") from None
    return fields, texts


def _fields(text: str, at: int, reader: Callable[[str], ReadValue]) -> tuple[dict[str, Any], int]:
    """The fields of the object at a place, each read by its reader."""
    fields: dict[str, Any] = {}
    at = after_blanks(text, at + 1)
    if text.startswith("}", at):
        return fields, at + 1
    while True:
        if not text.startswith('"', at):
            raise json.JSONDecodeError("Expecting a name in double quotes", text, at)
        name, at = STRICT.raw_decode(text, at)
        at = after_sign(text, at, ":")
        fields[name], at = reader(name)(text, at)
        at = after_blanks(text, at)
        if text.startswith("}", at):
            return fields, at + 1
        at = after_sign(text, at, ",")


def _items(text: str, at: int, texts: list[str]) -> tuple[list[Any], int]:
    """The items of the list at a place; `texts` gets the text of each."""
    items: list[Any] = []
    texts.clear()
    at = after_blanks(text, at + 1)
    if text.startswith("]", at):
        return items, at + 1
    while True:
        item, end = STRICT.raw_decode(text, at)
        items.append(item)
        texts.append(text[at:end])
        at = after_blanks(text, end)
        if text.startswith("]", at):
            return items, at + 1
        at = after_sign(text, at, ",")


def _options(fields: dict[str, Any]) -> MatchIn:
    """The fields of a body, checked; events that are objects are left out."""
    plain = dict(fields)
    if isinstance(fields.get("event"), Mapping):
        plain["event"] = {}
    events = fields.get("events")
    if isinstance(events, list):
        right = all(isinstance(event, Mapping) for event in events)
        plain["events"] = [] if right else events
    try:
        return MatchIn.model_validate(plain)
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_context=False)
        raise RequestValidationError(
            [{**mistake, "loc": ("body", *mistake["loc"])} for mistake in mistakes]
        ) from None


def _check(event: dict[str, Any], text: str, index: int, limits: Limits) -> None:
    """Raise a problem if an event cannot be matched, or is too large."""
    check_size(len(text.encode()), index, limits)
    check_depth(event, index)
    if "\\" in text:  # only an escape can spell half of a surrogate pair
        try:
            json.dumps(event, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise event_problem(EventError(f"it is not valid Unicode: {error}"), index) from None
